"""MASE's quantizers in numpy, from their description: float32 arithmetic, and logarithms that are the nearest float32."""

import numpy as np

ONE_BILLIONTH, ONE_HUNDRED_MILLIONTH = np.float32(1e-9), np.float32(1e-8)


def log2(x):
    with np.errstate(divide="ignore"):
        return np.log2(x.astype(np.float64)).astype(np.float32)


def power(exponent):
    return np.ldexp(np.float64(1), exponent.astype(np.int64))


def unchanged_if_tiny(x, quantized):
    """Zero has no sign there."""
    tiny = np.abs(x) <= ONE_HUNDRED_MILLIONTH
    return np.where(tiny, np.where(x == 0, np.float32(0), x), quantized.astype(np.float32))


def default_bias(exponent_width, exponent_bias):
    return 2 ** (exponent_width - 1) - 1 if exponent_bias is None else exponent_bias


def integer(x, width, frac_width):
    units = np.rint(x.astype(np.float64) * 2.0**frac_width)
    return (np.clip(units, -(2 ** (width - 1)), 2 ** (width - 1) - 1) / 2.0**frac_width).astype(np.float32)


def minifloat_ieee(x, width, exponent_width, exponent_bias=None):
    """`exponent_bias` may be an array."""
    steps, bias = 2 ** (width - exponent_width - 1), default_bias(exponent_width, exponent_bias)
    magnitude = np.abs(x)
    e = np.clip(np.floor(log2(magnitude + ONE_BILLIONTH)), -bias, 2**exponent_width - 1 - bias)
    significand = magnitude / power(e)
    normal = 1 + np.clip(np.rint((significand - 1) * steps), 0, steps - 1) / steps
    subnormal = np.clip(np.rint(significand * steps / 2), 0, steps - 1) / steps * 2
    return unchanged_if_tiny(x, np.sign(x) * power(e) * np.where(e > -bias, normal, subnormal))


def minifloat_denorm(x, width, exponent_width, exponent_bias=None):
    steps, bias = 2 ** (width - exponent_width - 1), default_bias(exponent_width, exponent_bias)
    magnitude = np.abs(x)
    e = np.clip(np.ceil(log2(magnitude + ONE_BILLIONTH)), -bias, 2**exponent_width - 1 - bias)
    mantissa = np.minimum(np.rint(magnitude / power(e) * steps), steps - 1) / steps
    return unchanged_if_tiny(x, np.sign(x) * power(e) * mantissa)


def log(x, width, exponent_bias=None, tenth=None):
    bias = default_bias(width - 1, exponent_bias)
    tenth = np.float32(0.1 * 2.0**-bias) if tenth is None else tenth
    e = np.clip(np.rint(log2(np.abs(x) + tenth)), -bias, 2 ** (width - 1) - 1 - bias)
    return (np.sign(x + tenth) * power(e)).astype(np.float32)


def in_rows(block_size, x):
    """Rows of blocks, and each block's maximum; one of zeros has the smallest maximum of the others, or 1."""
    blocks = x.reshape(-1, block_size[-1])
    largest = np.abs(blocks).max(axis=1, keepdims=True)
    return blocks, np.where(largest == 0, largest[largest > 0].min(initial=np.inf) if largest.any() else 1, largest).astype(np.float32)


def block_fp(x, width, exponent_width, exponent_bias, block_size, **_):
    steps, bias = 2 ** (width - 1), default_bias(exponent_width, exponent_bias)
    blocks, largest = in_rows(block_size, x)
    e = np.clip(np.ceil(log2(largest)), -bias, 2**exponent_width - 1 - bias)
    units = np.minimum(np.rint((np.abs(blocks) + ONE_BILLIONTH) / power(e) * steps), steps - 1)
    return unchanged_if_tiny(blocks, np.sign(blocks) * power(e) * units / steps).reshape(x.shape)


def block_minifloat(x, width, exponent_width, exponent_bias_width, block_size, **_):
    blocks, largest = in_rows(block_size, x)
    bias = np.clip(np.floor(log2(largest)), 0, 2**exponent_bias_width - 1)
    return minifloat_ieee(blocks, width, exponent_width, bias).reshape(x.shape)


def block_log(x, width, exponent_bias_width, block_size, **_):
    blocks, largest = in_rows(block_size, x)
    bias = np.clip(2 ** (width - 1) - 1 - np.ceil(log2(largest)), 0, 2**exponent_bias_width - 1)
    tenth = np.float32(0.1) * power(-bias).astype(np.float32)
    return log(blocks, width, bias, tenth).reshape(x.shape)


def of_each_image(values):
    return values.reshape(len(values), -1).astype(np.float64)


def per_image(numbers, x):
    return numbers.reshape(-1, *[1] * (x.ndim - 1))


def binary(x, bipolar=False):
    if bipolar:
        return np.where(x >= 0, np.float32(1), np.float32(-1))
    return np.where(x > 0, per_image(np.abs(of_each_image(x)).mean(axis=1), x), 0).astype(np.float32)


def ternary(x, scaling_factor=False):
    magnitudes = np.abs(of_each_image(x))
    threshold = 0.75 * magnitudes.mean(axis=1, keepdims=True)
    above = magnitudes > threshold
    mean = (magnitudes * above).sum(axis=1) / above.sum(axis=1)
    level = per_image(mean if scaling_factor else np.ones_like(mean), x)
    return (np.where(np.abs(x) > per_image(threshold, x), np.sign(x), 0) * level).astype(np.float32)
