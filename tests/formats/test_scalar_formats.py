"""Scalar formats against the exact reference: words (scale, zero point), codes and values, bit for bit."""

import math
import os

import numpy as np
import pytest
from support import reference_scalar as reference
from support import peers
from support.library_codecs import ROUNDINGS, Codec
from support.scalar_cases import ELEMENTWISE, GROUPED

SEED = int(os.environ.get("ANYBIT_SEED", np.random.SeedSequence().entropy % 2**32))
LARGEST = 3.4028234663852886e38


@pytest.fixture
def rng(request):
    print(f"ANYBIT_SEED={SEED}")
    return np.random.default_rng((SEED, sum(request.node.name.encode())))


def noise_for(rng, x):
    noise = rng.integers(0, 2**32, x.size, dtype=np.uint64).astype(np.uint32)
    noise[: x.size // 4] = rng.choice(np.array([0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1], np.uint32), x.size // 4)
    return noise


def same(a, b):
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))


def check_codes(codec, expected, x, words, rounding, noise):
    shared = [int(w) for w in words]
    ours = codec.encode(x, words, rounding, noise)
    wanted = [expected.code(float(v), shared, rounding, int(n)) for v, n in zip(x, noise)]
    wrong = np.flatnonzero(ours != wanted)
    shown = [(float(x[i]).hex(), int(noise[i]), int(ours[i]), wanted[i]) for i in wrong[:4]]
    assert wrong.size == 0, f"{rounding}, words {shared}: {wrong.size} differ: (number, noise, ours, expected) {shown}"


def check_values(codec, expected, words):
    shared = [int(w) for w in words]
    codes = np.arange(1 << codec.bits) if codec.bits <= 8 else np.unique(np.linspace(0, (1 << codec.bits) - 1, 60).astype(int))
    ours = codec.decode(codes, words)
    wanted = [expected.value(int(c), shared) for c in codes]
    wrong = np.flatnonzero(~same(ours, np.array(wanted, np.float32)))
    assert wrong.size == 0, [(int(codes[i]), ours[i], wanted[i]) for i in wrong[:4]]
    return ours


def thinned(rng, x, most):
    return x if x.size <= most else np.concatenate([x[-9:], rng.choice(x, most - 9, replace=False)])


@pytest.mark.parametrize("case", ELEMENTWISE)
def test_codes_and_values_are_those_of_the_exact_reference(case, rng):
    name, parameters, expected = ELEMENTWISE[case]
    codec = Codec(name, **parameters)
    words = np.zeros(0, np.uint32)
    values = check_values(codec, expected, words)
    edges = peers.edges(values)
    for rounding in ROUNDINGS:
        x = thinned(rng, edges, 250)
        check_codes(codec, expected, x, words, rounding, noise_for(rng, x))


def groups(rng):
    """Groups of values of every kind that may lead to a wrong scale."""
    normal = rng.standard_normal(37)
    yield "one", [0.7]
    yield "normal", normal
    yield "positive", np.abs(normal) + 0.5
    yield "negative", -np.abs(normal) - 0.5
    yield "mostly zero", np.where(rng.random(37) < 0.9, 0, normal)
    yield "zeros", [0.0, -0.0, 0.0]
    yield "nothing", []
    yield "equal", [-0.3] * 5
    yield "one negative", [-1.0]
    yield "symmetric", [-1.0, 1.0]
    yield "outlier", [*normal, 1000.0]
    yield "integers", rng.integers(-9, 9, 30)
    yield "power of two", [2.0 ** int(rng.integers(-100, 100))]
    yield "above a power", peers.with_neighbours([2.0 ** int(rng.integers(-60, 60))])
    yield "tiny", normal * 1e-38
    yield "subnormal", rng.integers(-50, 50, 9) * 2.0**-149
    yield "smallest", [2.0**-149]
    yield "large", normal * 1e36
    yield "largest", [LARGEST, -LARGEST]
    yield "largest one", [LARGEST]
    yield "lowest one", [-LARGEST, 1.0]
    yield "with NaN and infinity", [*normal, math.nan, math.inf, -math.inf]
    yield "only NaN and infinity", [math.nan, math.inf, -math.inf]


def points_around(values):
    """The given finite values and their midpoints, each with its neighbouring floats."""
    finite = np.unique(values[np.isfinite(values)].astype(np.float64))
    with np.errstate(over="ignore"):
        middles = ((finite[1:] + finite[:-1]) / 2).astype(np.float32)
    return peers.with_neighbours(np.concatenate([finite.astype(np.float32), middles]))


@pytest.mark.parametrize("case", GROUPED)
def test_words_codes_and_values_are_those_of_the_exact_reference(case, rng):
    name, parameters, expected = GROUPED[case]
    codec = Codec(name, **parameters)
    for i, (kind, group) in enumerate(groups(rng)):
        group = np.asarray(group, np.float64).astype(np.float32)
        words = codec.choose(group)
        wanted = expected.words([float(v) for v in group])
        assert words.tolist() == wanted, f"{kind}: words of {group.tolist()}"
        values = check_values(codec, expected, words)
        odd = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, LARGEST, -LARGEST, 2.0**-149, -1.0], np.float32)
        x = np.concatenate([group, thinned(rng, points_around(values), 40), odd])
        rounding = "half_even" if name in ("ternary", "binary_residual") else ROUNDINGS[i % 6]
        check_codes(codec, expected, x, words, rounding, noise_for(rng, x))
        assert (codec.encode(np.array([0.0, -0.0]), words) == codec.encode(np.zeros(2), words)).all()


AFFINE = [case for case, (name, _, _) in GROUPED.items() if "int" in name]


@pytest.mark.parametrize("case", AFFINE)
def test_zero_stays_zero_and_scales_are_positive_and_finite(case, rng):
    codec = Codec(GROUPED[case][0], **GROUPED[case][1])
    for kind, group in groups(rng):
        words = codec.choose(np.asarray(group, np.float64).astype(np.float32))
        scale = words[:1].view(np.float32)[0]
        assert np.isfinite(scale) and scale >= 2.0**-126, kind
        assert codec.quantize([0.0], words)[0] == 0, kind


@pytest.mark.parametrize("case", AFFINE)
def test_a_range_gives_the_same_words_as_data_with_that_range(case, rng):
    codec = Codec(GROUPED[case][0], **GROUPED[case][1])
    for low, high in [(-1, 2), (0, 0), (0.25, 3), (-3, -1), (-LARGEST, LARGEST), (0, 1e-44)]:
        assert codec.choose_from_range(low, high).tolist() == codec.choose([low, high]).tolist(), (low, high)


@pytest.mark.parametrize("low, high", [(1, -1), (math.nan, 1), (0, math.inf)])
def test_an_invalid_range_is_rejected(low, high):
    with pytest.raises(ValueError, match="invalid range"):
        Codec("int8").choose_from_range(low, high)


def squared_error(x, q):
    return sum((reference.Fraction(float(a)) - reference.Fraction(float(b))) ** 2 for a, b in zip(x, q))


def greedy(x, levels):
    """The scales (gammas) of greedy residual binarization."""
    residual, gammas = [float(v) for v in x], []
    for _ in range(levels):
        gamma = sum(abs(r) for r in residual) / len(residual)
        residual = [r - gamma if r >= 0 else r + gamma for r in residual]
        gammas.append(reference.float32(reference.Fraction(max(gamma, 2.0**-126))))
    return gammas


@pytest.mark.parametrize("levels", range(1, 9))
def test_chosen_gammas_are_positive_descending_and_no_worse_than_greedy_ones(levels, rng):
    codec = Codec("binary_residual", levels=levels)
    for kind, group in groups(rng):
        x = np.asarray(group, np.float64).astype(np.float32)
        words = codec.choose(x)
        gammas = words.view(np.float32)
        assert (gammas >= 2.0**-126).all() and np.isfinite(gammas).all() and (np.diff(gammas) <= 0).all(), kind
        x = x[np.isfinite(x)]
        if x.size == 0 or kind == "largest":
            continue
        known = reference.BinaryResidual(greedy(x, levels))
        plain = [known.value(known.code(float(v), [], "half_even", 0), []) for v in x]
        assert squared_error(x, codec.quantize(x, words)) <= squared_error(x, plain) * (1 + reference.Fraction(1, 10**6)), kind


def test_least_squares_recovers_the_gammas_that_generated_the_data(rng):
    true = np.array([1.0, 0.5, 0.125], np.float32)
    signs = rng.choice([-1, 1], (400, 3))
    x = (signs * true).sum(axis=1).astype(np.float32)
    codec = Codec("binary_residual", levels=3)
    words = codec.choose(x)
    assert np.allclose(words.view(np.float32), true, rtol=1e-5)
    assert np.allclose(codec.quantize(x, words), x, rtol=1e-5)


def test_clipping_precedes_the_choice_of_gammas():
    clipped = Codec("binary_residual", levels=2, clip=True)
    x = np.array([0.25, -0.5, 5.0, -math.inf, 0.75], np.float32)
    assert clipped.choose(x).tolist() == Codec("binary_residual", levels=2).choose(np.clip(x, -1, 1)).tolist()


def test_log_rounds_the_float_just_below_the_root_of_two_down():
    x = np.array([0x3FB504F3, 0x3FB504F4], np.uint32).view(np.float32)
    assert Codec("log").quantize(x).tolist() == [1.0, 2.0]


def test_stochastic_rounding_just_below_zero_is_exact():
    noise = np.array([2**32 - 1], np.uint32)
    assert Codec("fixed", frac=0).quantize([-(2.0**-32) * (1 - 2.0**-24)], None, "stochastic", noise)[0] == 0
    assert Codec("fixed", frac=0).quantize([-(2.0**-32)], None, "stochastic", noise)[0] == -1


HALF_MODES = ["half_even", "half_away", "half_up"]


@pytest.mark.parametrize("case", [c for c in ELEMENTWISE if not c.startswith(("log", "binary"))])
def test_quantization_is_idempotent_and_monotone(case, rng):
    name, parameters, _ = ELEMENTWISE[case]
    codec = Codec(name, **(parameters | ({"saturate": True} if "saturate" in parameters else {})))
    x = np.sort(rng.integers(0, 2**32, 3000, dtype=np.uint64).astype(np.uint32).view(np.float32))
    x = x[np.isfinite(x)]
    for rounding in HALF_MODES:
        once = codec.quantize(x, rounding=rounding)
        assert (once.view(np.uint32) == codec.quantize(once, rounding=rounding).view(np.uint32)).all()
        assert (np.diff(once) >= 0).all()
