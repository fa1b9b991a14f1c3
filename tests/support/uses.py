"""Which uses of each number format the tests try, and on which values."""
import numpy as np

ROUNDINGS = ["half_away", "half_up", "toward_zero", "floor"]

# Parameters in addition to the defaults, by family and by format.
_BY_FAMILY = {
    "affine": ["symmetric=false", "symmetric=true narrow=false"],
    "minifloat": ["saturate=false"],
    "mx": ["scale_rule=ceil", "scale_rule=even", "profile=quark", "profile=microxcaling",
           "rounding_mode=1 rounding_applies_to_all=true"],
}
_BY_FORMAT = {
    "int8": [f"scale_kind={kind}" for kind in ("float16", "bfloat16", "power_of_two", "power_of_two_ceil", "multiplier31",
                                               "multiplier15")] + ["eps=0.01", "eps=1"],
    "uint4": ["scale_kind=float16 narrow=true", "scale_kind=power_of_two", "scale_kind=multiplier15"],
    "int16": ["scale_kind=bfloat16 symmetric=false", "scale_kind=power_of_two_ceil symmetric=false"],
    "binary": ["scale=mean", "bipolar=false", "bipolar=false scale=mean"],
    "binary_residual": ["gammas=0.5,0.25", "gammas=0.5,0.5 clip=true", "levels=1 gammas=3e38", "levels=3 gammas=3e38,2e38,1e38",
                        "levels=5 gammas=1,0.7,0.25,0.2,0.01 clip=true"],
    "block_fp": ["width=12 exponent_width=5", "width=2 exponent_width=1", "width=16", "exponent_rule=clip width=4",
                 "exponent_width=4 exponent_bias=-100", "exponent_width=3 exponent_bias=140 width=9", "profile=quark width=12",
                 "exponent_rule=floor width=5", "profile=quark_compiler rounding=half_up"],
    "bfp16": ["exponent_rule=clip", "profile=quark", "profile=quark rounding=half_away", "profile=quark rounding=half_up",
              "profile=quark_compiler", "profile=quark nonfinite=saturate"],
    "bfp_prime": ["width=3", "width=12 sub_block_size=4 sub_block_shift_bits=3", "sub_block_size=3 sub_block_shift_bits=8 rounding=half_away",
                  "rounding=half_up"],
    "block_log": ["with_zero=true", "width=5 exponent_bias_width=4 with_zero=true", "width=2 exponent_bias_width=1"],
    "block_minifloat": ["width=12 exponent_width=8", "width=6 exponent_width=3 exponent_bias_width=4", "width=16",
                        "width=3 exponent_width=2 exponent_bias_width=1", "width=5 exponent_width=1"],
    "fixed": ["width=13 frac=-4 signed=false", "width=16 frac=149", "width=2 frac=0", "width=9 frac=-118"],
    "integer": ["signed=false", "width=12 frac=11"],
    "log": ["with_zero=true", "width=9 exponent_bias=149", "width=9 exponent_bias=128 with_zero=true", "width=2", "width=5"],
    "minifloat": ["width=16 exponent_width=3", "width=7 exponent_width=1 flavour=fn saturate=false", "width=6 exponent_width=5",
                  "width=5 exponent_width=1 flavour=inf saturate=false", "width=12 exponent_width=5 flavour=inf saturate=false", "width=11 flavour=fnuz saturate=false",
                  "width=10 exponent_width=6 flavour=fn", "width=16 exponent_width=8 flavour=inf", "exponent_bias=140 width=11",
                  "width=9 exponent_width=8 exponent_bias=128", "exponent_bias=-100"],
    "minifloat_ieee": ["width=6 exponent_width=2", "width=12 exponent_width=4 exponent_bias=3"],
    "minifloat_denorm": ["width=16 exponent_width=8", "width=3 exponent_width=1", "width=6 exponent_width=3 exponent_bias=-60",
                         "width=10 exponent_width=4 exponent_bias=140"],
    "mxint8": ["symmetric=true", "rounding_mode=0", "scale_rule=even scale_overflow=nan", "scale_rule=ceil nonfinite=element",
               "profile=quark rounding_mode=0", "profile=quark rounding=half_up", "profile=microxcaling rounding=half_up"],
    "ternary": ["scale=mean", "basis=max threshold=0.3", "basis=max scale=mean threshold=0", "threshold=2.5 scale=mean",
                "packing=fives", "packing=fives scale=mean"],
}
# Formats that try every rounding, one of each family that rounds.
_ROUNDED = ["int5", "fixed", "fp8_e4m3", "fp8_e8m0", "fp8_e5m2fnuz", "minifloat_denorm", "mxfp6_e3m2", "mxint8", "block_fp",
            "block_minifloat", "mx6", "nvfp4"]
# Parameters that are searched for: no function quantizes with them.
ONLY_DECODED = ["binary_residual", "binary_residual levels=5 granularity=channel axis=0", "fixed frac=auto", "ternary basis=median",
                "integer frac=auto width=11 granularity=channel axis=0", "fixed frac=auto signed=false block_size=4"]
_GROUPS = {
    "element": [""],
    "tensor": ["granularity=channel axis=0", "granularity=channel", "axis=-2 block_size=3", "block_size=16"],
    "block": ["axis=0 block_size=2", "axis=1 block_size=5", "block_size=1", "axis=-2", "granularity=tensor",
              "granularity=channel axis=1", "axis=1 rank=3"],
}


def parameters_of(name, family):
    of_family = [] if name == "minifloat_ieee" else _BY_FAMILY.get(family, [])
    preset = [] if name in ONLY_DECODED else [""]
    return [*preset, *of_family, *_BY_FORMAT.get(name, [])]


def uses_of(name, family, granularity):
    """Texts of uses: every set of parameters once, cycling through the granularities."""
    groups = _GROUPS[granularity]
    uses = [f"{name} {parameters}" for parameters in parameters_of(name, family)]
    uses += [f"{name} rounding={rounding}" for rounding in ROUNDINGS if name in _ROUNDED]
    grouped = [f"{uses[i % len(uses)]} {groups[i % len(groups)]}" for i in range(max(len(uses), len(groups)))]
    return list(dict.fromkeys(" ".join(use.split()) for use in uses + grouped))


def ranks_of(use):
    """The tensor ranks that support it."""
    if "rank=3" in use:
        return [3]
    return [2, 3, 4] if "axis=1" in use or "axis=-2" in use else [1, 2, 3, 4]


SHAPES = {1: (70,), 2: (5, 37), 3: (2, 5, 33), 4: (2, 3, 4, 9), 5: (1, 2, 3, 2, 17)}


def hard_values(rng, shape):
    """Magnitudes of all sizes, powers of two and their neighbours, midpoints between quantized values, zeros, limits of float32."""
    count = int(np.prod(shape))
    powers = np.ldexp(1.0, rng.integers(-149, 128, count)).astype(np.float32)
    signs = rng.choice([-1, 1], count).astype(np.float32)
    with np.errstate(over="ignore"):
        neighbours = np.nextafter(powers, rng.choice(np.float32([0, np.inf]), count))
    kinds = [
        np.float32(np.ldexp(rng.uniform(1, 2, count), rng.integers(-149, 127, count))),
        np.float32(np.ldexp(rng.integers(1, 64, count) / 2, rng.integers(-12, 12, count))),
        powers,
        neighbours,
        np.abs(rng.standard_normal(count)).astype(np.float32),
        rng.choice(np.float32([0, 3e38, 1e-45, 1.1754944e-38, 3.4028235e38, 1, 0.5, 6, 448, 127, 0.75, 1.4142135]), count),
    ]
    return (np.choose(rng.integers(0, len(kinds), count), kinds) * signs).reshape(shape)


def middles(rng, shape):
    """Halves of a grid whose largest value makes the scale a power of two for some formats: ties."""
    most = rng.choice([1, 3, 6, 7, 28, 127, 255, 448, 32767])
    grid = np.float32(rng.integers(-2 * most, 2 * most + 1, shape) / 2)
    grid.flat[0] = most
    return grid * np.float32(2.0 ** rng.integers(-20, 20))


def values_of(rng, shape):
    """Arrays of that shape to try."""
    gentle = np.float32(rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 6))
    sparse = np.where(rng.random(shape) < 0.8, np.float32(-0.0), gentle)
    binades = np.float32(rng.standard_normal(shape) * 2.0 ** rng.integers(-12, 12, shape))
    tiny = np.float32(np.ldexp(rng.standard_normal(shape), rng.integers(-150, -125, shape)))
    zeros = np.zeros(shape, np.float32)
    return [hard_values(rng, shape), middles(rng, shape), gentle, sparse, binades, tiny, zeros]


def with_nonfinite(rng, values):
    """The same with NaN and infinities in a few places."""
    kinds = np.float32([np.nan, np.inf, -np.inf])
    return np.where(rng.random(values.shape) < 0.05, rng.choice(kinds, values.shape), values).astype(np.float32)
