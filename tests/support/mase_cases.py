"""Inputs on which the formats with profile=mase are compared with MASE's rules: for each scheme a use of anybit, MASE's quantizer
and its arguments, and values that are hard to round."""

import numpy as np
from support.portable_functions import quantize

BLOCK = 16
QUANTIZERS = ["integer", "minifloat_ieee", "minifloat_denorm", "log", "block_fp", "block_minifloat", "block_log", "binary", "ternary"]


def neighbours(values):
    """Each value, and the float32 numbers up to three places away."""
    bits = np.float32(values).view(np.int32)[:, None] + np.arange(-3, 4, dtype=np.int32)
    near = bits.reshape(-1).view(np.float32)
    return near[np.isfinite(near)]


def hard(rng, count, use=None):
    """`count` numbers; midpoints are those of the use's own values."""
    powers = np.ldexp(np.float32(1), np.arange(-149, 128))
    gentle = rng.standard_normal(count // 4).astype(np.float32)
    sizes = np.ldexp(rng.uniform(1, 2, count // 2), rng.integers(-149, 127, count // 2)).astype(np.float32)
    near_one = np.ldexp(rng.uniform(1, 2, count // 2), rng.integers(-30, 12, count // 2)).astype(np.float32)
    parts = [gentle, sizes, near_one, np.float32([0, -0.0, 3.4028235e38, 1e-45, 1.1754944e-38, 1e-8, 1e-9, 9.99e-9, 1.0001e-8]),
             neighbours(powers), neighbours(powers * np.float32(2**0.5)), neighbours(np.float32([1e-8, 1e-9]))]
    for _ in range(2):  # ties of logarithms: many float32 numbers have the same one
        shifted = np.repeat(powers[30:], 20) * np.float32(2 ** rng.choice([0, 0.5]))
        parts.append((shifted.view(np.int32) + rng.integers(-99, 99, shifted.size, dtype=np.int32)).view(np.float32))
    if use:
        all_so_far = np.concatenate(parts)
        values = np.unique(np.abs(quantize(use, all_so_far[np.isfinite(all_so_far)]).astype(np.float64)))
        values = values[(values == 0) | (values > 1e-8)]
        middles = np.float32((values[1:] + values[:-1]) / 2)
        parts += [neighbours(values), neighbours(middles), neighbours(middles)]
    x = np.concatenate(parts)
    x = x[np.isfinite(x)]
    x = rng.choice(x, count) * rng.choice(np.float32([-1, 1]), count)
    x[:2] = 0, -0.0
    return x


def blocks(rng, count):
    """Rows whose values are near each other in size, and rows with values of all sizes; some rows of zeros."""
    rows = count // BLOCK // 4 + 1
    x = hard(rng, rows * 4 * BLOCK).reshape(rows, -1)
    for i in range(0, rows, 2):
        top = np.ldexp(1.0, int(rng.integers(-40, 40)))
        x[i] = np.float32(rng.choice([rng.uniform(-1, 1, x.shape[1]), rng.integers(-64, 65, x.shape[1]) / 64]) * top)
    x[1::17, :BLOCK] = 0
    x[2::17, :BLOCK] = np.ldexp(np.float32(1), rng.integers(-30, 30, BLOCK))  # the maximum is a power of two, or just below
    x[2::17, :BLOCK] = np.nextafter(x[2::17, :BLOCK], np.float32(0))
    return x


def images(rng, count):
    """[N, C, H, W] whose sums are exact in float32, in whatever order they are added."""
    n = count // (8 * 5 * 5) + 1
    return np.float32(rng.integers(-40, 41, (n, 8, 5, 5)) / 16)


def cases(rng, count):
    """(anybit's use, MASE's quantizer, its arguments, input)"""
    for width, frac in [(8, 4), (4, 0), (16, 8), (24, 12), (32, 16), (32, 8), (8, -3)]:
        use = f"fixed width={width} frac={frac}"
        yield use, "integer", dict(width=width, frac_width=frac), hard(rng, count, use)
    for width, e, bias in [(8, 4, None), (8, 4, 7), (6, 2, None), (4, 2, 1), (8, 5, None), (12, 4, 3), (16, 5, None), (8, 3, -2), (8, 6, 40)]:
        words = f"width={width} exponent_width={e}" + ("" if bias is None else f" exponent_bias={bias}")
        for name in ("minifloat_ieee", "minifloat_denorm"):
            if name == "minifloat_denorm" and width - e < 2:
                continue
            use = f"{name} {words} profile=mase"
            yield use, name, dict(width=width, exponent_width=e, exponent_bias=bias), hard(rng, count, use)
    for width, bias in [(8, None), (4, None), (4, 5), (6, 31), (9, 130), (8, 3), (2, None), (8, 100)]:
        words = f"log width={width}" + ("" if bias is None else f" exponent_bias={bias}") + " profile=mase"
        yield words, "log", dict(width=width, exponent_bias=bias), hard(rng, count, words)
    for width, ew, bias in [(8, 8, None), (6, 8, None), (4, 4, None), (12, 8, 127), (8, 5, 20)]:
        words = f"width={width} exponent_width={ew}" + ("" if bias is None else f" exponent_bias={bias}")
        yield (f"block_fp {words} block_size={BLOCK} profile=mase", "block_fp",
               dict(width=width, exponent_width=ew, exponent_bias=bias, block_size=[1, BLOCK], skip_first_dim=False), blocks(rng, count))
    for width, ew, bw in [(8, 4, 8), (6, 3, 4), (8, 4, 2), (12, 5, 8), (4, 2, 8)]:
        yield (f"block_minifloat width={width} exponent_width={ew} exponent_bias_width={bw} block_size={BLOCK} profile=mase",
               "block_minifloat", dict(width=width, exponent_width=ew, exponent_bias_width=bw, block_size=[1, BLOCK],
                                       skip_first_dim=False), blocks(rng, count))
    for width, bw in [(8, 8), (4, 4), (6, 8), (4, 8)]:
        yield (f"block_log width={width} exponent_bias_width={bw} block_size={BLOCK} profile=mase", "block_log",
               dict(width=width, exponent_bias_width=bw, block_size=[1, BLOCK], skip_first_dim=False), blocks(rng, count))
    yield "binary", "binary", dict(bipolar=True), hard(rng, count)
    yield "binary bipolar=false profile=mase", "binary", dict(bipolar=False), images(rng, count)
    yield "ternary profile=mase", "ternary", dict(scaling_factor=False), images(rng, count)
    yield "ternary scale=mean profile=mase", "ternary", dict(scaling_factor=True), images(rng, count)
