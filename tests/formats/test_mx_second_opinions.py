"""The OCP MX formats against two public implementations that share no code with anybit: gfloat and ml_dtypes."""

import os

import gfloat
import gfloat.formats
import ml_dtypes
import numpy as np
import pytest
from support import block_data
from support.library_codecs import Codec

SEED = int(os.environ.get("ANYBIT_SEED", np.random.SeedSequence().entropy % 2**32))
DTYPES = {
    "mxfp8_e5m2": ml_dtypes.float8_e5m2,
    "mxfp8_e4m3": ml_dtypes.float8_e4m3fn,
    "mxfp6_e3m2": ml_dtypes.float6_e3m2fn,
    "mxfp6_e2m3": ml_dtypes.float6_e2m3fn,
    "mxfp4_e2m1": ml_dtypes.float4_e2m1fn,
}
MX = [*DTYPES, "mxint8"]
LARGEST = float(np.finfo(np.float32).max)


@pytest.fixture
def rng(request):
    print(f"ANYBIT_SEED={SEED}")
    return np.random.default_rng((SEED, sum(request.node.name.encode())))


def exponent_words(exponent):
    return np.array([exponent], np.int32).view(np.uint32)


def gfloat_format(name):
    return getattr(gfloat.formats, f"format_info_{name}")


@pytest.mark.parametrize("name", MX)
def test_codes_decode_as_in_gfloat_at_every_scale(name):
    codec = Codec(name)
    codes = list(range(2**codec.bits))
    for scale in range(0, 256, 3):
        theirs = np.array(list(gfloat.decode_block(gfloat_format(name), [scale, *codes])))
        finite = np.isfinite(theirs)
        theirs[finite] = np.clip(theirs[finite], -LARGEST, LARGEST)
        ours = codec.decode(codes, exponent_words(scale - 127))
        np.testing.assert_array_equal(ours, theirs.astype(np.float32), err_msg=f"scale {scale}")


@pytest.mark.parametrize("name", MX)
def test_blocks_quantize_as_in_gfloat(rng, name):
    codec, theirs_format = Codec(name), gfloat_format(name)
    for kind, block in block_data.FINITE.items():
        for _ in range(12):
            x = block(rng, 32)
            words = codec.choose(x)
            scale = gfloat.compute_scale_amax(theirs_format.etype.emax, x.astype(np.float64))
            assert 2.0 ** int(words.view(np.int32)[0]) == scale, f"{kind}: {x.tolist()}"
            theirs = gfloat.quantize_block(theirs_format, x.astype(np.float64), gfloat.compute_scale_amax)
            theirs = np.clip(theirs, -LARGEST, LARGEST).astype(np.float32)
            np.testing.assert_array_equal(codec.quantize(x, words), theirs, err_msg=f"{kind}: {x.tolist()}")


@pytest.mark.parametrize("name", list(DTYPES))
def test_elements_encode_and_decode_as_in_ml_dtypes(rng, name):
    codec, dtype = Codec(name), DTYPES[name]
    largest = float(ml_dtypes.finfo(dtype).max)
    for exponent in (-20, 0, 7):
        x = np.ldexp(rng.normal(size=4096) * largest / 3, exponent).astype(np.float32)
        scaled = np.clip(np.ldexp(x, -exponent), -largest, largest).astype(np.float32)
        theirs = scaled.astype(dtype)
        ours = codec.encode(x, exponent_words(exponent))
        np.testing.assert_array_equal(ours, theirs.view(np.uint8))
        np.testing.assert_array_equal(codec.decode(ours, exponent_words(exponent)),
                                      np.ldexp(theirs.astype(np.float32), exponent))
