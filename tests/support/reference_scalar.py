"""Scalar formats in exact rational arithmetic, written from docs/formats.md; nothing here calls the library.

A reference has words(xs) (the shared parameters of a group), code(x, words, mode, noise) and value(code, words). Numbers are
Python floats that are float32 numbers; sums are Fractions; quotients that docs/formats.md defines in float32 are rounded once.
"""

import bisect
import math
import struct
from fractions import Fraction

LARGEST = Fraction((1 << 24) - 1) * Fraction(2) ** 104
TINY = Fraction(1, 1 << 126)


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def power(e):
    return Fraction(2) ** e


def floor_log2(v):
    """Of a positive Fraction."""
    e = v.numerator.bit_length() - v.denominator.bit_length()
    return e if power(e) <= v else e - 1


def round_to_integral(t, mode="half_even", noise=0):
    below = math.floor(t)
    rest = t - below
    if mode == "toward_zero":
        return math.trunc(t)
    if mode == "floor":
        return below
    if mode == "stochastic":
        return below + (rest * 2**32 > noise)
    if rest != Fraction(1, 2):
        return below + (rest > Fraction(1, 2))
    up = {"half_even": below % 2 == 1, "half_away": t > 0, "half_up": True}[mode]
    return below + up


def significant(v, digits, lowest=-149):
    """A positive Fraction rounded to `digits` binary digits, none below 2^lowest."""
    unit = power(max(floor_log2(v) - digits + 1, lowest))
    return round_to_integral(v / unit) * unit


def float32(v):
    """The float32 nearest to a Fraction, as a Python float."""
    if v == 0:
        return 0.0
    rounded = significant(abs(v), 24)
    magnitude = math.inf if rounded > LARGEST else float(rounded)
    return -magnitude if v < 0 else magnitude


def below_in_float32(v):
    """The largest float32 that is not above a Fraction >= 0."""
    if v == 0:
        return Fraction(0)
    unit = power(max(floor_log2(v) - 23, -149))
    return min(math.floor(v / unit) * unit, LARGEST)


def is_negative(x):
    return math.copysign(1, x) < 0


class Grid:
    """Magnitudes on a grid: the nearest value; ties are decided by the number of steps. `beyond` is the step after the largest."""

    def __init__(self, magnitudes, codes, beyond):
        order = sorted(range(len(magnitudes)), key=lambda i: magnitudes[i])
        self.magnitudes = [magnitudes[i] for i in order]
        self.code_of = {magnitudes[i]: codes[i] for i in order}
        self.beyond = beyond

    def round(self, x, mode, noise):
        """(magnitude, None) or (None, "overflow")."""
        v = Fraction(x)
        i = bisect.bisect_right(self.magnitudes, abs(v))
        last = self.magnitudes[-1]
        step = self.magnitudes[i] - self.magnitudes[i - 1] if i < len(self.magnitudes) else self.beyond
        magnitude = abs(round_to_integral(v / step, mode, noise)) * step
        return (None, "overflow") if magnitude > last else (magnitude, None)


class Minifloat:
    def __init__(self, width, exponent_width, exponent_bias=None, flavour="finite", saturate=True):
        self.m = width - exponent_width - 1
        self.e, self.flavour, self.saturate = exponent_width, flavour, saturate
        self.bias = exponent_bias if exponent_bias is not None else 2 ** (exponent_width - 1) - 1 + (flavour == "fnuz")
        self.sign = 1 << (width - 1)
        self.meaning = [self.magnitude(c) for c in range(self.sign)]
        finite = [c for c, v in enumerate(self.meaning) if isinstance(v, Fraction)]
        top = floor_log2(self.meaning[finite[-1]])
        self.grid = Grid([self.meaning[c] for c in finite], finite, power(max(top, 1 - self.bias) - self.m))

    def magnitude(self, code):
        e, m = divmod(code, 1 << self.m)
        if self.flavour == "inf" and e == (1 << self.e) - 1:
            return "nan" if m else "inf"
        if self.flavour == "fn" and code == self.sign - 1:
            return "nan"
        return (m + (e > 0) * (1 << self.m)) * power(max(e, 1) - self.bias - self.m)

    def words(self, xs):
        return []

    def nan(self):
        if self.flavour == "fnuz":
            return self.sign
        return {"inf": self.sign - 1 - (1 << self.m) + 1 + (1 << self.m >> 1), "fn": self.sign - 1, "finite": 0}[self.flavour]

    def code(self, x, words, mode, noise):
        sign = self.sign if is_negative(x) else 0
        if math.isnan(x):
            return self.nan() | (sign if self.flavour == "inf" else 0)
        magnitude, overflow = (None, True) if math.isinf(x) else self.grid.round(x, mode, noise)
        if overflow and not self.saturate and self.flavour != "finite":
            if self.flavour == "inf":
                return sign | self.meaning.index("inf")
            return self.nan() | (sign if self.flavour == "fn" else 0)
        code = self.grid.code_of[self.grid.magnitudes[-1] if overflow else magnitude]
        return code if self.flavour == "fnuz" and code == 0 else code | sign

    def value(self, code, words):
        if self.flavour == "fnuz" and code == self.sign:
            return math.nan
        v = self.meaning[code & (self.sign - 1)]
        return math.copysign(float(v), -1 if code & self.sign else 1)


class E8m0:
    def __init__(self, saturate=True):
        self.saturate = saturate

    def words(self, xs):
        return []

    def code(self, x, words, mode, noise):
        if math.isnan(x):
            return 255
        if x <= 0:
            return 0 if self.saturate else 255
        code = 255
        if not math.isinf(x):
            k = floor_log2(Fraction(x))
            code = max(0, k + 127 + (round_to_integral(Fraction(x) / power(k), mode, noise) == 2))
        return 254 if code == 255 and self.saturate else code

    def value(self, code, words):
        return math.nan if code == 255 else float(power(code - 127))


class MinifloatDenorm:
    def __init__(self, width, exponent_width, exponent_bias=None):
        m = width - exponent_width - 1
        self.m, self.sign = m, 1 << (width - 1)
        self.bias = exponent_bias if exponent_bias is not None else 2 ** (exponent_width - 1) - 1
        canonical = {}
        for code in range(self.sign):
            canonical.setdefault(self.magnitude(code), code)  # ascending exponents: the smallest comes first
        top = floor_log2(max(canonical)) + 1
        self.grid = Grid(list(canonical), list(canonical.values()), power(top - m))

    def magnitude(self, code):
        e, m = divmod(code, 1 << self.m)
        return m * power(e - self.bias - self.m)

    def words(self, xs):
        return []

    def code(self, x, words, mode, noise):
        if math.isnan(x):
            return 0
        magnitude, overflow = (None, True) if math.isinf(x) else self.grid.round(x, mode, noise)
        code = self.grid.code_of[self.grid.magnitudes[-1] if overflow else magnitude]
        return code | (self.sign if is_negative(x) else 0)

    def value(self, code, words):
        return math.copysign(float(self.magnitude(code & (self.sign - 1))), -1 if code & self.sign else 1)


class Affine:
    def __init__(self, name, symmetric=None, narrow="auto", scale_kind="float32", eps=0.0):
        self.signed = name.startswith("int")
        self.bits = int(name.lstrip("uint"))
        self.symmetric = self.signed if symmetric is None else symmetric
        cut = self.symmetric and self.signed if narrow == "auto" else narrow
        self.low = (-(2 ** (self.bits - 1)) if self.signed else 0) + cut
        self.high = 2 ** (self.bits - 1) - 1 if self.signed else 2**self.bits - 1
        self.kind, self.eps = scale_kind, Fraction(float32(Fraction(eps)))

    def kind_of(self, s):
        """A scale (Fraction) rounded to the given kind."""
        s = max(s, TINY)
        k = floor_log2(s)
        if self.kind == "float16":
            return min(max(significant(s, 11, -24), power(-24)), Fraction(65504))
        if self.kind == "power_of_two":
            return power(min(k + (s * s > power(2 * k + 1)), 127))
        if self.kind == "power_of_two_ceil":
            return power(min(k + (s != power(k)), 127))
        digits = {"bfloat16": 8, "multiplier15": 15}.get(self.kind, 24)
        rounded = significant(s, digits)
        return rounded if rounded < power(128) else self.cut(s, digits)

    @staticmethod
    def cut(s, digits):
        unit = power(floor_log2(s) - digits + 1)
        return math.floor(s / unit) * unit

    def within(self, s, steps):
        if s * steps <= LARGEST:
            return s
        digits = {"float16": 11, "bfloat16": 8, "power_of_two": 1, "power_of_two_ceil": 1, "multiplier15": 15}.get(self.kind, 24)
        return self.cut(LARGEST / steps, digits)

    def parameters(self, low, high):
        """(scale, zero point); the scale is None if all values are zero."""
        low, high = min(Fraction(low), 0), max(Fraction(high), 0)
        middle = 0 if self.signed else 2 ** (self.bits - 1)
        if low == high == 0:
            return None, middle if self.symmetric else self.low
        if self.symmetric:
            steps = self.high - middle
            exact = max(-low, high) / steps
        else:
            exact = (high - low) / (self.high - self.low)
        # Once to double, once to float32.
        s = self.kind_of(max(Fraction(float32(Fraction(float(exact)))), self.eps))
        if self.symmetric:
            return self.within(s, steps), middle
        quotient = float32(low / s)
        zero = min(max(self.low - Fraction(quotient), self.low), self.high)
        zero_point = round_to_integral(zero)
        return self.within(s, max(self.high - zero_point, zero_point - self.low)), zero_point

    def words(self, xs):
        finite = [x for x in xs if math.isfinite(x)] or [0.0]
        s, zero_point = self.parameters(min(finite), max(finite))
        words = [bits(1.0 if s is None else float(s))]
        return words if self.symmetric else words + [zero_point & 0xFFFFFFFF]

    def meaning(self, words):
        s = Fraction(struct.unpack("<f", struct.pack("<I", words[0]))[0])
        if self.symmetric:
            return s, 0 if self.signed else 2 ** (self.bits - 1)
        return s, words[1] - (1 << 32) if words[1] >> 31 else words[1]

    def code(self, x, words, mode, noise):
        s, zero_point = self.meaning(words)
        if math.isnan(x):
            q = zero_point
        elif math.isinf(x):
            q = self.high if x > 0 else self.low
        else:
            quotient = float32(Fraction(x) / s)
            if math.isinf(quotient):
                q = self.high if quotient > 0 else self.low
            else:
                q = round_to_integral(Fraction(quotient), mode, noise) + zero_point
        return min(max(q, self.low), self.high) % 2**self.bits

    def value(self, code, words):
        s, zero_point = self.meaning(words)
        q = code - 2**self.bits if self.signed and code >> (self.bits - 1) else code
        return float32((q - zero_point) * s)


class Fixed:
    def __init__(self, width=8, frac="half", signed=True):
        self.width, self.signed, self.frac = width, signed, frac
        self.low, self.high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)

    def error(self, wholes, f):
        """The squared error with f fractional bits, for numbers in units of 2^-149."""
        unit = 1 << (149 - f)
        total = 0
        for n in wholes:
            q, rest = divmod(n, unit)
            q += 2 * rest > unit or (2 * rest == unit and q % 2 == 1)
            total += (n - min(max(q, self.low), self.high) * unit) ** 2
        return total

    def words(self, xs):
        """For frac = auto: the largest number of fractional bits with the least squared error."""
        if self.frac != "auto":
            return []
        xs = [x for x in xs if math.isfinite(x)]
        if all(x == 0 or (x < 0 and not self.signed) for x in xs):
            return [self.width // 2]
        wholes = [int(Fraction(x) * 2**149) for x in xs]
        errors = {f: self.error(wholes, f) for f in range(self.width - 127, 150)}
        least = min(errors.values())
        return [max(f for f, error in errors.items() if error == least) & 0xFFFFFFFF]

    def places(self, words):
        if self.frac == "auto":
            return words[0] - (1 << 32) if words[0] >> 31 else words[0]
        return self.width // 2 if self.frac == "half" else self.frac

    def code(self, x, words, mode, noise):
        if math.isnan(x):
            return 0
        if math.isinf(x):
            q = self.high if x > 0 else self.low
        else:
            q = round_to_integral(Fraction(x) * power(self.places(words)), mode, noise)
        return min(max(q, self.low), self.high) % 2**self.width

    def value(self, code, words):
        q = code - 2**self.width if self.signed and code >> (self.width - 1) else code
        return float(q * power(-self.places(words)))


class Log:
    def __init__(self, width=8, exponent_bias=None, with_zero=False):
        self.bias = exponent_bias if exponent_bias is not None else 2 ** (width - 2) - 1
        self.sign, self.with_zero = 1 << (width - 1), with_zero
        self.lowest, self.highest = -self.bias + with_zero, self.sign - 1 - self.bias

    def words(self, xs):
        return []

    def code(self, x, words, mode, noise):
        sign = self.sign if is_negative(x) else 0
        if math.isnan(x):
            return 0
        if self.with_zero and not math.isinf(x) and abs(Fraction(x)) < power(-self.bias):
            return sign
        if x == 0:
            return 0
        k = self.highest
        if not math.isinf(x):
            v = abs(Fraction(x))
            k = floor_log2(v)
            k += v * v >= power(2 * k + 1)
        return sign | (min(max(k, self.lowest), self.highest) + self.bias)

    def value(self, code, words):
        magnitude = code & (self.sign - 1)
        v = 0.0 if self.with_zero and magnitude == 0 else float(power(magnitude - self.bias))
        return -v if code & self.sign else v


def scale_word(v):
    return bits(float(max(Fraction(float32(v)), TINY)))


def as_float(word):
    return struct.unpack("<f", struct.pack("<I", word))[0]


def mean(vs):
    return sum(vs, Fraction(0)) / len(vs)


class Binary:
    def __init__(self, bipolar=True, scale="none"):
        self.bipolar, self.scale = bipolar, scale

    def words(self, xs):
        if self.scale == "none":
            return []
        finite = [abs(Fraction(x)) for x in xs if math.isfinite(x)]
        return [scale_word(mean(finite) if finite else Fraction(0))]

    def code(self, x, words, mode, noise):
        if math.isnan(x):
            return 1
        if mode == "stochastic":
            p = (x > 0) if math.isinf(x) else min(max((Fraction(x) + 1) / 2, 0), 1)
            return int(p * 2**32 > noise)
        return int(x >= 0 if self.bipolar else x > 0)

    def value(self, code, words):
        high = as_float(words[0]) if words else 1.0
        return high if code else -high if self.bipolar else 0.0


class BinaryResidual:
    """With given gammas; tests of the search check the error that it achieves."""

    def __init__(self, gammas, clip=False):
        self.gammas = sorted(gammas, reverse=True)
        self.clip = clip
        self.by_value = {}
        for code in range(1 << len(gammas)):
            self.by_value[self.value(code, None)] = code  # the highest code of a value wins

    def words(self, xs):
        return [bits(g) for g in self.gammas]

    def value(self, code, words):
        total = 0.0
        for i, gamma in enumerate(self.gammas):
            total += gamma if code >> (len(self.gammas) - 1 - i) & 1 else -gamma
        return float32(min(max(Fraction(total), -LARGEST), LARGEST))

    def code(self, x, words, mode, noise):
        x = 0.0 if math.isnan(x) else x
        if self.clip:
            x = min(max(x, -1.0), 1.0)
        if math.isinf(x):
            return self.by_value[max(self.by_value) if x > 0 else min(self.by_value)]
        v = Fraction(x)
        nearest = min(self.by_value, key=lambda s: (abs(Fraction(s) - v), -abs(s), -s))
        return self.by_value[nearest]


class Ternary:
    def __init__(self, threshold=0.75, basis="mean", scale="none"):
        self.threshold, self.basis, self.scale = Fraction(threshold), basis, scale

    def words(self, xs):
        vs = sorted(abs(Fraction(x)) for x in xs if math.isfinite(x)) or [Fraction(0)]
        middle = (vs[(len(vs) - 1) // 2] + vs[len(vs) // 2]) / 2
        delta = self.threshold * {"mean": mean(vs), "median": middle, "max": vs[-1]}[self.basis]
        words = [bits(float(below_in_float32(delta)))]
        above = [v for v in vs if v > delta]
        return words if self.scale == "none" else words + [scale_word(mean(above) if above else Fraction(1))]

    def code(self, x, words, mode, noise):
        delta = as_float(words[0])
        return 1 if x > delta else 3 if x < -delta else 0

    def value(self, code, words):
        high = as_float(words[1]) if len(words) > 1 else 1.0
        return [0.0, high, 0.0, -high][code]
