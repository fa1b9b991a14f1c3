"""Formats that ml_dtypes, numpy or gfloat (the peers) also have, and the float32 numbers at which they are compared."""

import gfloat
import gfloat.formats
import ml_dtypes
import numpy as np

DTYPES = {
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "fp8_e4m3": ml_dtypes.float8_e4m3fn,
    "fp6_e3m2": ml_dtypes.float6_e3m2fn,
    "fp6_e2m3": ml_dtypes.float6_e2m3fn,
    "fp4_e2m1": ml_dtypes.float4_e2m1fn,
    "fp8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "fp8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "fp8_e8m0": ml_dtypes.float8_e8m0fnu,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}
# The same layouts through the parameters of `minifloat`, and layouts that have no name in anybit.
CUSTOM = {
    "e3m4 inf": (ml_dtypes.float8_e3m4, dict(width=8, exponent_width=3, flavour="inf")),
    "e4m3 inf": (ml_dtypes.float8_e4m3, dict(width=8, exponent_width=4, flavour="inf")),
    "e4m3 fnuz, bias 11": (ml_dtypes.float8_e4m3b11fnuz, dict(width=8, exponent_width=4, exponent_bias=11, flavour="fnuz")),
    "e4m3 fn": (ml_dtypes.float8_e4m3fn, dict(width=8, exponent_width=4, flavour="fn")),
    "e5m2 fnuz": (ml_dtypes.float8_e5m2fnuz, dict(width=8, exponent_width=5, flavour="fnuz")),
    "e2m1 finite": (ml_dtypes.float4_e2m1fn, dict(width=4, exponent_width=2)),
}
GFLOAT = {
    "fp8_e5m2": gfloat.formats.format_info_ocp_e5m2,
    "fp8_e4m3": gfloat.formats.format_info_ocp_e4m3,
    "fp6_e3m2": gfloat.formats.format_info_ocp_e3m2,
    "fp6_e2m3": gfloat.formats.format_info_ocp_e2m3,
    "fp4_e2m1": gfloat.formats.format_info_ocp_e2m1,
    "float16": gfloat.formats.format_info_binary16,
    "bfloat16": gfloat.formats.format_info_bfloat16,
}
INTEGERS = {"int2": ml_dtypes.int2, "uint2": ml_dtypes.uint2, "int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4}


def beyond_the_peer(name, x):
    """Numbers for which the peer does not give the nearest value: ml_dtypes rounds float32's subnormals just above
    2^-127 up to 2^-126. gfloat gives 2^-127, as anybit does."""
    if name != "fp8_e8m0":
        return np.zeros(x.shape, bool)
    return (x > 2.0**-127) & (x < 1.5 * 2.0**-127)


def values_of(dtype, bits):
    """The peer's value of every code."""
    word = np.uint16 if bits > 8 else np.uint8
    with np.errstate(invalid="ignore"):
        return np.arange(1 << bits, dtype=np.uint32).astype(word).view(dtype).astype(np.float32)


def codes_of(dtype, x):
    """The peer's codes of float32 numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        y = x.astype(dtype)
    return y.view(np.uint16 if y.dtype.itemsize == 2 else np.uint8).astype(np.uint16)


def with_neighbours(x):
    """The numbers and the float32 numbers next to them."""
    x = np.asarray(x, np.float32)
    up, down = np.float32(np.inf), np.float32(-np.inf)
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([x, np.nextafter(x, up), np.nextafter(x, down)])


def edges(values):
    """Every value of a format and every midpoint, both with their neighbours; powers of two; special values."""
    finite = np.unique(values[np.isfinite(values)].astype(np.float64))
    midpoints = (finite[1:] + finite[:-1]) / 2
    beyond = [finite[-1] + (finite[-1] - finite[-2]) * k for k in (0.5, 1, 1.5)]
    powers = 2.0 ** np.arange(-149, 128)
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**-149, -(2.0**-149), 3.4028234663852886e38, -3.4028234663852886e38]
    with np.errstate(over="ignore"):
        points = np.concatenate([finite, midpoints, beyond, np.negative(beyond), powers, -powers]).astype(np.float32)
    return np.concatenate([with_neighbours(points), np.array(odd, np.float32)])


def disagreements(name, x, ours, theirs, values):
    """Indices where two codes have different values. NaN inputs are left out, since peers differ; any NaN equals any other."""
    other = np.flatnonzero(ours != theirs)
    x, ours, theirs = x[other], ours[other], theirs[other]
    same = np.isnan(x) | beyond_the_peer(name, x) | (np.isnan(values[ours]) & np.isnan(values[theirs]))
    return other[~same]
