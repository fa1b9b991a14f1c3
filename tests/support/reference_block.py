"""Block formats in exact rational arithmetic, written from docs/formats.md; nothing here calls the library.

A reference takes a block of float32 values and returns its words (signed integers) and its codes; decode() returns
the value of a code. Values are Fractions; the sign of zero is kept separately.
"""

import math
from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache

import numpy as np

LARGEST_FLOAT32 = Fraction(2**24 - 1) * 2**104
NAN_EXPONENT = 128


@lru_cache(maxsize=None)
def power(e):
    return Fraction(2) ** e


def floor_log2(x):
    """Of a positive Fraction, in integer arithmetic."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if power(e) <= x else e - 1


def ceil_log2(x):
    e = floor_log2(x)
    return e if power(e) == x else e + 1


def round_log2(x):
    """The logarithm rounded to an integer: up from the square root of two on."""
    e = floor_log2(x)
    return e + 1 if (x / power(e)) ** 2 >= 2 else e


def finite(x):
    return math.isfinite(x)


def magnitudes(xs):
    """For a format without Inf and NaN: Inf counts as the largest float32, NaN is ignored."""
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
    # A value is even if it is an even number of steps; without mantissa bits the outer one always is, as 2 after 1.
    inner_is_even = values[i] / (values[i + 1] - values[i]) % 2 == 0
    if negative:  # the outer neighbour is the lower one
        return i if choose_side(outer, inner, inner_is_even, True, rounding, noise) else i + 1
    return i + 1 if choose_side(inner, outer, not inner_is_even, False, rounding, noise) else i


class Reference:
    """Applies the encode() and decode() of a format to one block, given words and rounding."""

    def codes(self, xs, words, rounding, noise):
        return [self.encode(x, words, i, rounding, int(noise[i])) for i, x in enumerate(xs)]

    def values(self, codes, words):
        return np.array([self.decode(c, words, i) for i, c in enumerate(codes)], np.float32)

    def quantized(self, xs, values, words, rounding, noise):
        """The result of quantize() for xs whose codes have these values."""
        return values

    def rounding(self, asked):
        return asked


def sign_bit(x):
    return math.copysign(1, x) < 0


# OCP MX -----------------------------------------------------------------------------------------------------------

# exponent bits, mantissa bits, bias, emax, and the meaning of the highest codes, which are not finite
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
    "microxcaling": dict(rounding_mode=-1, rounding_applies_to_all=True, symmetric=True, nonfinite="block",
                         scale_overflow="nan"),
}


class Mx(Reference):
    def __init__(self, name, profile="ocp", scale_rule="floor", **given):
        self.element = ELEMENTS[name]
        self.scale_rule = scale_rule
        self.__dict__.update(PROFILES[profile] | given)
        self.quark = profile == "quark" and self.nonfinite == "element"
        by_profile = profile == "microxcaling" and (self.element is None or self.rounding_applies_to_all)
        self.usual = "half_away" if by_profile else "half_even"
        self.mantissa_bits = 6 if self.element is None else self.element[1]
        self.emax = 0 if self.element is None else self.element[3]
        self.limits = (-127 if self.symmetric else -128, 127)

    def rounding(self, asked):
        if self.rounding_mode == -1:
            return self.usual if asked == "half_even" else asked
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
        return [max(e, -127 - self.emax if self.scale_overflow == "unclamped" else -127)]

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

    def quantized(self, xs, values, words, rounding, noise):
        if self.nonfinite == "block":
            return values
        if self.quark and words[0] != NAN_EXPONENT:
            values = [self.quark_value(x, y, words[0], rounding, int(n)) for x, y, n in zip(xs, values, noise)]
        return np.array([y if finite(x) else np.float32(x) for x, y in zip(xs, values)], np.float32)


    def quark_value(self, x, value, exponent, rounding, noise):
        """The signs of zeros and the overflow of AMD Quark's operator; `value` is that of the code."""
        if not finite(x):
            return value
        if self.element is None:
            return quark_integer(x, power(exponent), 64, self.limits, rounding, noise)
        return np.float32(0) if self.encode(x, [exponent], 0, rounding, noise) % 2 ** sum(self.element[:2]) == 0 else value


def quark_integer(x, scale, steps, limits, rounding, noise):
    """scale / steps times the nearest integer within the limits; infinite beyond float32."""
    underflow = abs(Fraction(x)) / scale <= power(-150)
    k = round_between(Fraction(x) / scale * steps, rounding, noise)
    negative = sign_bit(x) and not (k == 0 and rounding == "half_even" and x != 0 and not underflow)
    value = Fraction(max(limits[0], min(limits[1], k)), steps) * scale
    if abs(value) >= power(128):
        return np.float32(math.copysign(math.inf, value))
    return float32(value, negative)


# Block floating point ---------------------------------------------------------------------------------------------


class SignMagnitude(Reference):
    """A sign above a mantissa of `bits` bits; exponent() is the exponent of the i-th value."""

    def exponent(self, words, i):
        return words[0]

    def fitting_exponent(self, amax, lowest, highest):
        """The smallest exponent at which the rounded maximum fits, or the highest. No exponent below amax / 4 fits."""
        start = lowest if amax == 0 else max(lowest, floor_log2(amax) - 2)
        for e in range(start, highest):
            if round_between(amax * 2**self.bits / power(e), "half_even", 0) <= 2**self.bits - 1:
                return e
        return highest

    def encode(self, x, words, i, rounding, noise):
        if math.isnan(x):
            return 0
        sign = sign_bit(x) << self.bits
        if math.isinf(x):
            return (2**self.bits - 1) | sign
        k = round_between(Fraction(x) * 2**self.bits / power(self.exponent(words, i)), rounding, noise)
        return min(abs(k), 2**self.bits - 1) | sign

    def decode(self, code, words, i):
        negative, m = code >> self.bits, code & (2**self.bits - 1)
        return float32((-1) ** negative * Fraction(m, 2**self.bits) * power(self.exponent(words, i)), negative)


class BlockFp(SignMagnitude):
    PROFILES = {"plain": ("fit", "saturate"), "quark": ("floor", "element"), "quark_compiler": ("fit_positive", "element")}

    def __init__(self, width=8, exponent_width=8, exponent_bias=None, profile="plain", exponent_rule=None, nonfinite=None):
        rule, policy = self.PROFILES[profile]
        exponent_rule, self.nonfinite = exponent_rule or rule, nonfinite or policy
        self.bits = width - 1
        bias = 2 ** (exponent_width - 1) - 1 if exponent_bias is None else exponent_bias
        self.lowest, self.highest = -bias, 2**exponent_width - 1 - bias
        self.rule = exponent_rule

    def choose(self, xs):
        if self.nonfinite == "element":
            xs = [x for x in xs if finite(x)]
        amax = max(magnitudes(xs), default=Fraction(0))
        e = self.exponent_for(amax)
        if self.rule == "fit_positive":
            limit = (2**self.bits - Fraction(1, 2)) * power(e - self.bits)
            e += any(finite(x) and x >= limit for x in xs)
        return [e]

    def quantized(self, xs, values, words, rounding, noise):
        if self.nonfinite == "saturate":
            return values
        most = 2**self.bits - 1
        limits = (-most - (self.rule == "fit_positive"), most)
        return np.array([quark_integer(x, power(words[0] - self.bits), 1, limits, rounding, int(n)) if finite(x) else x
                         for x, n in zip(xs, noise)], np.float32)

    def exponent_for(self, amax):
        if amax == 0:
            return self.lowest
        if self.rule in ("floor", "fit_positive"):
            return max(self.lowest, -126, min(self.highest, floor_log2(amax) + 1))
        if self.rule == "clip":
            return max(self.lowest, min(self.highest, ceil_log2(amax)))
        return self.fitting_exponent(amax, self.lowest, self.highest)


class BfpPrime(SignMagnitude):
    """Words: the exponent, then the shift of each sub-block."""

    NAN = 129

    def __init__(self, width=8, sub_block_size=2, sub_block_shift_bits=1):
        self.bits, self.sub, self.most = width - 1, sub_block_size, 2**sub_block_shift_bits - 1

    def exponent_for(self, xs):
        amax = max(magnitudes(xs), default=Fraction(0))
        return -126 if amax == 0 else max(-126, floor_log2(amax) + 1)

    def choose(self, xs):
        parts = [xs[i:i + self.sub] for i in range(0, len(xs), self.sub)]
        if not all(map(finite, xs)):
            return [self.NAN] + [0] * len(parts)
        e = self.exponent_for(xs)
        return [e] + [min(self.most, e - self.exponent_for(part)) for part in parts]

    def exponent(self, words, i):
        return words[0] - words[1 + i // self.sub]

    def encode(self, x, words, i, rounding, noise):
        return super().encode(math.copysign(0, x) if abs(x) < 2.0**-126 else x, words, i, rounding, noise)

    def decode(self, code, words, i):
        return np.float32("nan") if words[0] == self.NAN else super().decode(code, words, i)


class SharedMicro(SignMagnitude):
    """Words: the exponent, then 32 shift bits per word."""

    def __init__(self, bits):
        self.bits = bits

    def choose(self, xs):
        e = self.fitting_exponent(max(magnitudes(xs), default=Fraction(0)), -127, 128)
        shifts = 0
        for pair in range((len(xs) + 1) // 2):
            amax = max(magnitudes(xs[2 * pair:2 * pair + 2]), default=Fraction(0))
            fits = round_between(amax * 2**self.bits / power(e - 1), "half_even", 0) <= 2**self.bits - 1
            shifts |= fits << pair
        count = -(-((len(xs) + 1) // 2) // 32)
        words = [(shifts >> 32 * w) & 0xFFFFFFFF for w in range(count)]
        return [e] + [w - 2**32 if w >= 2**31 else w for w in words]

    def exponent(self, words, i):
        pair = i // 2
        return words[0] - ((words[1 + pair // 32] >> (pair % 32)) & 1)


# Block minifloat and block log ------------------------------------------------------------------------------------


class BlockMinifloat(Reference):
    def __init__(self, width=8, exponent_width=4, exponent_bias_width=8):
        self.exponent_bits, self.mantissa_bits = exponent_width, width - exponent_width - 1
        self.lowest, self.highest = -(2 ** (exponent_bias_width - 1)), 2 ** (exponent_bias_width - 1) - 1

    def choose(self, xs):
        amax = max(magnitudes(xs), default=Fraction(0))
        if amax == 0:
            return [self.highest]
        bias = 2**self.exponent_bits - 1 - floor_log2(amax)
        return [max(self.lowest, min(self.highest, bias))]

    def scaled(self):
        """All magnitudes at bias 0."""
        return float_magnitudes(self.exponent_bits, self.mantissa_bits, 0, 0)

    def encode(self, x, words, i, rounding, noise):
        if math.isnan(x):
            return 0
        sign = sign_bit(x) << (self.exponent_bits + self.mantissa_bits)
        if math.isinf(x):
            return (len(self.scaled()) - 1) | sign
        return nearest_magnitude(self.scaled(), abs(Fraction(x)) * power(words[0]), x < 0, rounding, noise) | sign

    def decode(self, code, words, i):
        negative, index = divmod(code, len(self.scaled()))
        return float32((-1) ** negative * self.scaled()[index] / power(words[0]), negative)


class BlockLog(Reference):
    def __init__(self, width=8, exponent_bias_width=8, with_zero=False):
        self.codes_of_a_sign, self.with_zero = 2 ** (width - 1), with_zero
        self.lowest, self.highest = -(2 ** (exponent_bias_width - 1)), 2 ** (exponent_bias_width - 1) - 1

    def choose(self, xs):
        amax = max(magnitudes(xs), default=Fraction(0))
        if amax == 0:
            return [self.highest]
        bias = self.codes_of_a_sign - 1 - min(round_log2(amax), 127)
        return [max(self.lowest, min(self.highest, bias))]

    def encode(self, x, words, i, rounding, noise):
        if math.isnan(x) or (x == 0 and not self.with_zero):
            return 0
        sign = self.codes_of_a_sign if sign_bit(x) else 0
        if math.isinf(x):
            return sign + self.codes_of_a_sign - 1
        if self.with_zero and abs(Fraction(x)) < power(-words[0]):
            return sign
        k = round_log2(abs(Fraction(x)))
        return sign + max(1 if self.with_zero else 0, min(self.codes_of_a_sign - 1, k + words[0]))

    def decode(self, code, words, i):
        negative, c = divmod(code, self.codes_of_a_sign)
        value = Fraction(0) if self.with_zero and c == 0 else power(c - words[0])
        return float32((-1) ** negative * value, negative)


# nvfp4 ------------------------------------------------------------------------------------------------------------


def float32_fraction(value):
    """A positive Fraction rounded to float32, as a Fraction; one beyond the range of float32 is unchanged."""
    return value if value > LARGEST_FLOAT32 else Fraction(float(float32(value)))


class Nvfp4(Reference):
    """Words: the bits of the tensor's float32 scale, the e4m3 code of the block's."""

    ELEMENT = float_magnitudes(2, 1, 1, 0)
    SCALE = float_magnitudes(4, 3, 7, 1)

    def tensor_scale(self, xs):
        amax = max(magnitudes(xs), default=Fraction(0))
        scale = Fraction(1) if amax == 0 else max(float32_fraction(amax / (6 * 448)), power(-149))
        return int(np.float32(float(scale)).view(np.int32))

    def choose(self, xs, tensor_word=None):
        word = self.tensor_scale(xs) if tensor_word is None else tensor_word
        scale = Fraction(float(np.int32(word).view(np.float32)))
        amax = max(magnitudes(xs), default=Fraction(0))
        quotient = float32_fraction(float32_fraction(amax / 6) / scale)
        return [word, nearest_magnitude(self.SCALE, quotient, False, "half_even", 0)]

    @lru_cache(maxsize=1000)
    def step(self, tensor_word, block_code):
        return float32_fraction(self.SCALE[block_code] * Fraction(float(np.int32(tensor_word).view(np.float32))))

    def encode(self, x, words, i, rounding, noise):
        step = self.step(*words)
        if math.isnan(x) or step == 0:
            return 0
        sign = sign_bit(x) << 3
        if math.isinf(x):
            return 7 | sign
        return nearest_magnitude(self.ELEMENT, float32_fraction(abs(Fraction(x)) / step), x < 0, rounding, noise) | sign

    def decode(self, code, words, i):
        negative = code >> 3
        return float32((-1) ** negative * self.ELEMENT[code & 7] * self.step(*words), negative)


# Every name, with the library's defaults --------------------------------------------------------------------------

ALL = {name: (lambda name=name: Mx(name)) for name in ELEMENTS} | {
    "block_fp": BlockFp,
    "bfp16": BlockFp,
    "bfp_prime": BfpPrime,
    "mx9": lambda: SharedMicro(7),
    "mx6": lambda: SharedMicro(4),
    "mx4": lambda: SharedMicro(2),
    "block_minifloat": BlockMinifloat,
    "block_log": BlockLog,
    "nvfp4": Nvfp4,
}
