"""Block formats in exact rational arithmetic, written from docs/formats.md; nothing here calls the library.

A reference takes a block of float32 values and answers with its words (signed integers) and its codes; decode() gives
the value of a code. Values are Fractions; the sign of zero is kept beside them.
"""

import math
from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache

import numpy as np

LARGEST_FLOAT32 = Fraction(2**24 - 1) * 2**104
NAN_EXPONENT = 128


def power(e):
    return Fraction(2) ** e


def floor_log2(x):
    """Of a positive Fraction, by integers alone."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if power(e) <= x else e - 1


def ceil_log2(x):
    e = floor_log2(x)
    return e if power(e) == x else e + 1


def round_log2(x):
    """The nearest whole logarithm: up from the square root of two on."""
    e = floor_log2(x)
    return e + 1 if (x / power(e)) ** 2 >= 2 else e


def finite(x):
    return math.isfinite(x)


def magnitudes(xs):
    """Of a format without Inf and NaN: Inf counts as the largest float32, NaN as nothing."""
    return [LARGEST_FLOAT32 if math.isinf(x) else abs(Fraction(x)) for x in xs if not math.isnan(x)]


def float32(value, negative=False):
    """The float32 nearest to a Fraction, never Inf; `negative` is the sign of a zero."""
    value = max(-LARGEST_FLOAT32, min(LARGEST_FLOAT32, value))
    if value == 0:
        return np.float32(-0.0 if negative else 0.0)
    if abs(value) >= power(-126):
        step = power(floor_log2(abs(value)) - 23)
    else:
        step = power(-149)
    rounded = round_between(value / step, "half_even", 0) * step
    if rounded == 0:
        return np.float32(-0.0 if value < 0 else 0.0)
    return np.float32(float(rounded))


def choose_side(below_distance, above_distance, above_is_even, negative, rounding, noise):
    """True for the upper one of two neighbours, for a value strictly between them."""
    if rounding == "toward_zero":
        return negative
    if rounding == "floor":
        return False
    if rounding == "stochastic":
        return below_distance / (below_distance + above_distance) * 2**32 > noise
    if below_distance != above_distance:
        return above_distance < below_distance
    return {"half_even": above_is_even, "half_away": not negative, "half_up": True}[rounding]


def round_between(t, rounding, noise):
    """A Fraction to an integer."""
    below = t.numerator // t.denominator
    if t == below:
        return below
    up = choose_side(t - below, below + 1 - t, (below + 1) % 2 == 0, t < 0, rounding, noise)
    return below + 1 if up else below


@lru_cache(maxsize=None)
def float_magnitudes(exponent_bits, mantissa_bits, bias, dropped):
    """All finite magnitudes in the order of their codes; `dropped` codes at the top are Inf or NaN."""
    values = []
    for code in range(2 ** (exponent_bits + mantissa_bits) - dropped):
        e, m = divmod(code, 2**mantissa_bits)
        values.append(power(1 - bias) * Fraction(m, 2**mantissa_bits) if e == 0 else
                      power(e - bias) * (1 + Fraction(m, 2**mantissa_bits)))
    return values


def nearest_magnitude(values, magnitude, negative, rounding, noise):
    """Index of the value that a signed number of this magnitude is rounded to, saturating."""
    i = bisect_right(values, magnitude) - 1
    if values[i] == magnitude or i == len(values) - 1:
        return i
    inner, outer = magnitude - values[i], values[i + 1] - magnitude
    if negative:  # the outer neighbour is the lower one
        return i if choose_side(outer, inner, i % 2 == 0, True, rounding, noise) else i + 1
    return i + 1 if choose_side(inner, outer, (i + 1) % 2 == 0, False, rounding, noise) else i


class Reference:
    """encode() of one block, given words and rounding, and what follows from it."""

    def codes(self, xs, words, rounding, noise):
        return [self.encode(x, words, i, rounding, int(noise[i])) for i, x in enumerate(xs)]

    def values(self, codes, words):
        return np.array([self.decode(c, words, i) for i, c in enumerate(codes)], np.float32)

    def quantize(self, xs, words, rounding, noise):
        return self.values(self.codes(xs, words, rounding, noise), words)

    def rounding(self, asked):
        return asked


def sign_bit(x):
    return math.copysign(1, x) < 0


# OCP MX -----------------------------------------------------------------------------------------------------------

# exponent bits, mantissa bits, bias, emax, codes at the top that are not numbers, and what those are
ELEMENTS = {
    "mxfp8_e5m2": (5, 2, 15, 15, ["inf", "nan", "nan", "nan"]),
    "mxfp8_e4m3": (4, 3, 7, 8, ["nan"]),
    "mxfp6_e3m2": (3, 2, 3, 4, []),
    "mxfp6_e2m3": (2, 3, 1, 2, []),
    "mxfp4_e2m1": (2, 1, 1, 2, []),
    "mxint8": None,
}
PROFILES = {
    "ocp": dict(rounding_mode=-1, rounding_applies_to_all=False, symmetric=False, nonfinite="block", scale_overflow="clamp"),
    "quark": dict(rounding_mode=-1, rounding_applies_to_all=False, symmetric=False, nonfinite="element",
                  scale_overflow="unclamped"),
    "microxcaling": dict(rounding_mode=0, rounding_applies_to_all=True, symmetric=True, nonfinite="block",
                         scale_overflow="nan"),
}


class Mx(Reference):
    def __init__(self, name, profile="ocp", scale_rule="floor", **given):
        self.element = ELEMENTS[name]
        self.scale_rule = scale_rule
        self.__dict__.update(PROFILES[profile] | given)
        self.mantissa_bits = 6 if self.element is None else self.element[1]
        self.emax = 0 if self.element is None else self.element[3]
        self.limits = (-127 if self.symmetric else -128, 127)

    def rounding(self, asked):
        if self.rounding_mode == -1:
            return asked
        if self.element is not None and not self.rounding_applies_to_all:
            return "half_even"
        return ["half_away", "half_up", "half_even"][self.rounding_mode]

    def choose(self, xs):
        if self.nonfinite == "block" and not all(map(finite, xs)):
            return [NAN_EXPONENT]
        amax = max((abs(Fraction(x)) for x in xs if finite(x)), default=Fraction(0))
        if amax == 0:
            return [-127]
        if self.scale_rule == "even":
            step = power(floor_log2(amax) - self.mantissa_bits)
            amax = round_between(amax / step, "half_even", 0) * step
        e = (ceil_log2 if self.scale_rule == "ceil" else floor_log2)(amax) - self.emax
        if e > 127:
            return [NAN_EXPONENT if self.scale_overflow == "nan" else 127]
        return [e if self.scale_overflow == "unclamped" else max(e, -127)]

    def encode(self, x, words, i, rounding, noise):
        if words[0] == NAN_EXPONENT:
            return 0
        if self.element is None:
            if math.isnan(x):
                return 0
            if math.isinf(x):
                return (self.limits[1] if x > 0 else self.limits[0]) % 256
            k = round_between(Fraction(x) / power(words[0]) * 64, rounding, noise)
            return max(self.limits[0], min(self.limits[1], k)) % 256
        e, m, bias, _, special = self.element
        values = float_magnitudes(e, m, bias, len(special))
        sign = sign_bit(x) << (e + m)
        if math.isnan(x):
            if not special:
                return 0
            # quiet NaN of an IEEE layout keeps its sign; the only NaN of the other one is positive
            return (len(values) + 2) | sign if special[0] == "inf" else len(values)
        if math.isinf(x):
            return (len(values) - 1) | sign
        return nearest_magnitude(values, abs(Fraction(x)) / power(words[0]), x < 0, rounding, noise) | sign

    def decode(self, code, words, i):
        if words[0] == NAN_EXPONENT:
            return np.float32("nan")
        if self.element is None:
            return float32(Fraction(code - 256 if code > 127 else code, 64) * power(words[0]))
        e, m, bias, _, special = self.element
        values = float_magnitudes(e, m, bias, len(special))
        negative, index = code >> (e + m), code & (2 ** (e + m) - 1)
        if index >= len(values):
            return np.float32(("-" if negative else "") + special[index - len(values)])
        return float32((-1) ** negative * values[index] * power(words[0]), negative)

    def quantize(self, xs, words, rounding, noise):
        out = super().quantize(xs, words, rounding, noise)
        if self.nonfinite == "element":
            out = np.array([y if finite(x) else np.float32(x) for x, y in zip(xs, out)], np.float32)
        return out
