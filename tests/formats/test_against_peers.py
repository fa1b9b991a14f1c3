"""Small floats and integers against ml_dtypes, numpy and gfloat: every code, every edge, a million random numbers."""

import os

import gfloat
import ml_dtypes
import numpy as np
import pytest
from support import peers
from support.library_codecs import Codec

SEED = int(os.environ.get("ANYBIT_SEED", np.random.SeedSequence().entropy % 2**32))
RANDOM = 1_000_000

CASES = {name: (dtype, lambda name=name: Codec(name, saturate=False)) for name, dtype in peers.DTYPES.items()}
CASES |= {
    f"minifloat {name}": (dtype, lambda p=parameters: Codec("minifloat", saturate=False, **p))
    for name, (dtype, parameters) in peers.CUSTOM.items()
}


@pytest.fixture
def rng(request):
    print(f"ANYBIT_SEED={SEED}")
    return np.random.default_rng((SEED, sum(request.node.name.encode())))


def random_bits(rng):
    return rng.integers(0, 2**32, RANDOM, dtype=np.uint64).astype(np.uint32).view(np.float32)


def assert_agree(name, x, ours, theirs, values):
    wrong = peers.disagreements(name, x, ours, theirs, values)
    shown = [(float(x[i]).hex(), int(ours[i]), int(theirs[i])) for i in wrong[:5]]
    assert wrong.size == 0, f"{wrong.size} numbers differ: (number, our code, theirs) {shown}"


@pytest.mark.parametrize("case", CASES)
def test_every_code_decodes_to_the_value_of_the_peer(case):
    dtype, make = CASES[case]
    codec = make()
    ours = codec.decode(np.arange(1 << codec.bits))
    theirs = peers.values_of(dtype, codec.bits)
    same = (ours.view(np.uint32) == theirs.view(np.uint32)) | (np.isnan(ours) & np.isnan(theirs))
    assert same.all(), [(int(c), ours[c], theirs[c]) for c in np.flatnonzero(~same)[:5]]


@pytest.mark.parametrize("case", CASES)
def test_every_edge_encodes_as_in_the_peer(case):
    dtype, make = CASES[case]
    codec = make()
    values = peers.values_of(dtype, codec.bits)
    x = peers.edges(values)
    assert_agree(case, x, codec.encode(x), peers.codes_of(dtype, x), values)


@pytest.mark.parametrize("case", CASES)
def test_random_numbers_encode_as_in_the_peer(case, rng):
    dtype, make = CASES[case]
    codec = make()
    x = random_bits(rng)
    assert_agree(case, x, codec.encode(x), peers.codes_of(dtype, x), peers.values_of(dtype, codec.bits))


@pytest.mark.parametrize("case", CASES)
def test_nan_becomes_nan_if_the_format_has_one_and_zero_otherwise(case):
    _, make = CASES[case]
    codec = make()
    x = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF], np.uint32).view(np.float32)
    values = codec.decode(np.arange(1 << codec.bits))
    result = codec.quantize(x)
    assert np.isnan(result).all() if np.isnan(values).any() else (result.view(np.uint32) == 0).all()


@pytest.mark.parametrize("name", peers.GFLOAT)
def test_gfloat_agrees_on_every_code_and_edge(name):
    info = peers.GFLOAT[name]
    codec = Codec(name)  # saturating: gfloat's other policies differ where a format has no Inf
    values = codec.decode(np.arange(1 << codec.bits))
    theirs = gfloat.decode_ndarray(info, np.arange(1 << codec.bits, dtype=np.uint64)).astype(np.float32)
    same = (values.view(np.uint32) == theirs.view(np.uint32)) | (np.isnan(values) & np.isnan(theirs))
    assert same.all(), np.flatnonzero(~same)[:5]
    x = peers.edges(values)
    x = x[np.isfinite(x)]
    rounded = gfloat.round_ndarray(info, x.astype(np.float64), gfloat.RoundMode.TiesToEven, sat=True)
    ours = codec.quantize(x)
    wrong = np.flatnonzero(ours.view(np.uint32) != rounded.astype(np.float32).view(np.uint32))
    assert wrong.size == 0, [(x[i], ours[i], rounded[i]) for i in wrong[:5]]


def test_e8m0_rounds_subnormals_to_the_nearest_power_of_two_as_gfloat_does():
    info = gfloat.formats.format_info_ocp_e8m0
    x = (2.0**-127 * np.linspace(1, 2, 257)[:-1]).astype(np.float32)
    x = x[x != np.float32(1.5 * 2.0**-127)]  # the tie: gfloat looks at the code's parity, ml_dtypes at the significand's
    theirs = [gfloat.encode_float(info, gfloat.round_float(info, float(v))) for v in x]
    assert Codec("fp8_e8m0").encode(x).tolist() == theirs


@pytest.mark.parametrize("name", peers.INTEGERS)
def test_small_integers_have_the_range_and_codes_of_the_peer(name):
    dtype = peers.INTEGERS[name]
    codec = Codec(name, symmetric=False)
    unit = np.array([0x3F800000, 0], np.uint32)  # scale 1, zero point 0
    info = ml_dtypes.iinfo(dtype)
    assert codec.range(unit) == (info.min, info.max)
    codes = np.arange(1 << codec.bits)
    whole = np.arange(info.min, info.max + 1)
    assert (codec.decode(codec.encode(whole, unit), unit) == whole.astype(dtype).astype(np.float32)).all()
    assert sorted(codec.decode(codes, unit)) == whole.tolist()
    mask = (1 << codec.bits) - 1
    assert (codec.encode(whole, unit) == (whole.astype(dtype).view(np.uint8) & mask)).all()
