"""Block formats against the exact reference: words, codes and values, bit for bit."""

import itertools
import os

import numpy as np
import pytest

import block_data
import reference_block as reference
from library_codecs import ROUNDINGS, Codec

SEED = int(os.environ.get("ANYBIT_SEED", np.random.SeedSequence().entropy % 2**32))
HALF = ["half_even", "half_away", "half_up"]


@pytest.fixture
def rng(request):
    seed = (SEED, sum(request.node.name.encode()))
    print(f"ANYBIT_SEED={SEED}")
    return np.random.default_rng(seed)


def signed(words):
    return [int(w) for w in np.asarray(words, np.uint32).view(np.int32)]


def same(a, b):
    """Equal bits; any NaN equals any other."""
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))


def agree(codec, expected, x, rounding, noise, where):
    xs = [float(v) for v in x]
    words = codec.choose(x)
    expected_words = expected.choose(xs)
    assert signed(words) == expected_words, f"{where}: words of {xs}"
    mode = expected.rounding(rounding)
    codes = codec.encode(x, words, rounding, noise)
    expected_codes = expected.codes(xs, expected_words, mode, noise)
    wrong = np.flatnonzero(codes != expected_codes)
    assert wrong.size == 0, f"{where}: words {expected_words}, {[(xs[i], codes[i], expected_codes[i]) for i in wrong[:3]]}"
    assert same(codec.decode(codes, words), expected.values(expected_codes, expected_words)).all(), where
    quantized, wanted = codec.quantize(x, words, rounding, noise), expected.quantize(xs, expected_words, mode, noise)
    assert same(quantized, wanted).all(), f"{where}: {xs} became {quantized}, not {wanted}"


def check_blocks(rng, codec, expected, count, roundings=ROUNDINGS, where=""):
    for i, (kind, x) in enumerate(block_data.blocks(rng, count)):
        noise = rng.integers(0, 2**32, x.size, dtype=np.uint64).astype(np.uint32)
        agree(codec, expected, x, roundings[i % len(roundings)], noise, f"{where} {kind}")


MX = list(reference.ELEMENTS)


@pytest.mark.parametrize("scale_rule", ["floor", "ceil", "even"])
@pytest.mark.parametrize("name", MX)
def test_mx_agrees_in_every_rounding_mode_and_policy(rng, name, scale_rule):
    for mode, for_all, nonfinite, overflow, symmetric in itertools.product(
            [-1, 0, 1, 2], [False, True], ["block", "element"], ["clamp", "nan", "unclamped"], [False, True]):
        if symmetric and name != "mxint8":
            continue
        options = dict(scale_rule=scale_rule, rounding_mode=mode, rounding_applies_to_all=for_all, nonfinite=nonfinite,
                       scale_overflow=overflow, symmetric=symmetric)
        check_blocks(rng, Codec(name, **options), reference.Mx(name, **options), len(block_data.KINDS), where=f"{options}")


@pytest.mark.parametrize("profile", list(reference.PROFILES))
@pytest.mark.parametrize("name", MX)
def test_mx_profiles_set_what_is_not_given(rng, name, profile):
    for given in [{}, {"scale_rule": "even"}, {"rounding_mode": 2}, {"nonfinite": "block"}, {"scale_overflow": "clamp"},
                  {"symmetric": False}, {"rounding_applies_to_all": False}]:
        codec, expected = Codec(name, profile=profile, **given), reference.Mx(name, profile=profile, **given)
        check_blocks(rng, codec, expected, 3 * len(block_data.KINDS), where=f"{profile} {given}")


@pytest.mark.parametrize("name", MX)
def test_mx_agrees_at_every_block_size(rng, name):
    codec, expected = Codec(name), reference.Mx(name)
    for size, kind in itertools.product(range(1, 65), ["normal", "below_power", "nonfinite"]):
        x = block_data.KINDS[kind](rng, size)
        agree(codec, expected, x, "half_even", np.zeros(size, np.uint32), f"{kind} of {size}")


@pytest.mark.parametrize("name", MX)
def test_mx_codes_decode_at_every_exponent(name):
    codec, expected = Codec(name), reference.Mx(name)
    codes = list(range(2**codec.bits))
    for exponent in [*range(-127, 129, 15), -126, 0, 1, 126, 127, 128]:
        words = np.array([exponent], np.int32).view(np.uint32)
        assert same(codec.decode(codes, words), expected.values(codes, [exponent])).all(), exponent
