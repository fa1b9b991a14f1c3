"""Every scalar format that has an exact reference, with the parameters under test."""

import itertools

from support import reference_scalar as reference

KINDS = ["float32", "float16", "bfloat16", "power_of_two", "power_of_two_ceil", "multiplier31", "multiplier15"]


def elementwise():
    """Formats without shared words: (name, parameters, reference)."""
    shapes = [(2, 1), (3, 1), (3, 2), (4, 1), (4, 3), (5, 2), (6, 3), (7, 1), (8, 4), (8, 7), (10, 5)]
    for width, e in shapes:
        for bias in (None, 0, 2 ** (e - 1) + 2):
            given = {} if bias is None else {"exponent_bias": bias}
            for flavour, saturate in itertools.product(["inf", "fn", "fnuz", "finite"], [True, False]):
                m = width - e - 1
                if (flavour == "inf" and m == 0) or (flavour == "fn" and width < 3):
                    continue
                if bias is not None and not saturate:
                    continue
                if 2**e - 1 - (2 ** (e - 1) - 1 if bias is None else bias) > 127:
                    continue
                p = dict(width=width, exponent_width=e, flavour=flavour, saturate=saturate, **given)
                yield "minifloat", p, reference.Minifloat(width, e, bias, flavour, saturate)
            if 2**e - 1 - (bias or 0) <= 127:
                yield "minifloat_ieee", dict(width=width, exponent_width=e, **given), reference.Minifloat(width, e, bias)
                if width - e >= 2:
                    p = dict(width=width, exponent_width=e, **given)
                    yield "minifloat_denorm", p, reference.MinifloatDenorm(width, e, bias)
    for saturate in (True, False):
        yield "fp8_e8m0", dict(saturate=saturate), reference.E8m0(saturate)
    for width, bias in [(2, None), (4, None), (8, None), (5, 0), (5, -3), (8, 100), (9, 140), (8, 149), (3, 126)]:
        for with_zero in (False, True):
            given = {} if bias is None else {"exponent_bias": bias}
            yield "log", dict(width=width, with_zero=with_zero, **given), reference.Log(width, bias, with_zero)
    for width, frac, signed in itertools.product([1, 2, 5, 8], ["half", 0, -5, 20], [True, False]):
        yield "fixed", dict(width=width, frac=frac, signed=signed), reference.Fixed(width, frac, signed)
    yield "integer", {}, reference.Fixed()
    yield "integer", dict(width=6, frac=4, signed=False), reference.Fixed(6, 4, False)
    for width, frac in [(8, 149), (8, -119), (16, 8)]:
        yield "fixed", dict(width=width, frac=frac), reference.Fixed(width, frac)
    for bipolar in (True, False):
        yield "binary", dict(bipolar=bipolar), reference.Binary(bipolar)


def grouped():
    """Formats whose groups share words: (name, parameters, reference)."""
    for bits, sign in itertools.product(range(2, 17), ["", "u"]):
        name = f"{sign}int{bits}"
        yield name, {}, reference.Affine(name)
        yield name, dict(symmetric=sign == "u"), reference.Affine(name, sign == "u")
        yield name, dict(narrow=not sign, symmetric=False), reference.Affine(name, False, not sign)
    for name, symmetric, kind in itertools.product(["int8", "uint8", "int4", "int16"], [True, False], KINDS):
        yield name, dict(symmetric=symmetric, scale_kind=kind), reference.Affine(name, symmetric, scale_kind=kind)
    yield "int8", dict(narrow=False), reference.Affine("int8", narrow=False)
    yield "uint8", dict(symmetric=True, narrow=True), reference.Affine("uint8", True, True)
    yield "int8", dict(eps=0.001), reference.Affine("int8", eps=0.001)
    for width, signed in itertools.product([2, 4, 8, 12], [True, False]):
        p = dict(width=width, frac="auto", signed=signed)
        yield "fixed", p, reference.Fixed(width, "auto", signed)
    for bipolar in (True, False):
        yield "binary", dict(bipolar=bipolar, scale="mean"), reference.Binary(bipolar, "mean")
    for t, basis, scale in itertools.product([0.75, 0.05, 1.0, 0.0], ["mean", "median", "max"], ["none", "mean"]):
        p = dict(threshold=t, basis=basis, scale=scale)
        yield "ternary", p, reference.Ternary(t, basis, scale)
    for gammas in ([1.0], [0.5, 0.25], [1.0, 1.0], [2.0, 1.0, 0.75, 2.0**-30], [3e38, 2e38], [1.0, 0.5, 0.25, 0.125, 0.1, 1e-30]):
        for clip in (False, True):
            gammas = [reference.float32(reference.Fraction(g)) for g in gammas]
            p = dict(levels=len(gammas), gammas=",".join(repr(g) for g in gammas), clip=clip)
            yield "binary_residual", p, reference.BinaryResidual(gammas, clip)


def label(case):
    name, parameters, _ = case
    return " ".join([name, *(f"{k}={v}" for k, v in parameters.items())])


ELEMENTWISE = {label(case): case for case in elementwise()}
GROUPED = {label(case): case for case in grouped()}
NAMES = {case[0] for case in [*ELEMENTWISE.values(), *GROUPED.values()]}
