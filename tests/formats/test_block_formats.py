"""Block formats against the exact reference: words (scales, exponents), codes and values, bit for bit."""

import itertools
import os

import numpy as np
import pytest
from support import reference_block as reference
from support import block_data
from support.library_codecs import ROUNDINGS, Codec

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
    values = expected.values(expected_codes, expected_words)
    assert same(codec.decode(codes, words), values).all(), where
    quantized, wanted = codec.quantize(x, words, rounding, noise), expected.quantized(xs, values, expected_words, mode, noise)
    assert same(quantized, wanted).all(), f"{where}: {xs} became {quantized}, not {wanted}"


def check_blocks(rng, codec, expected, count, roundings=ROUNDINGS, where=""):
    for i, (kind, x) in enumerate(block_data.blocks(rng, count)):
        noise = rng.integers(0, 2**32, x.size, dtype=np.uint64).astype(np.uint32)
        agree(codec, expected, x, roundings[i % len(roundings)], noise, f"{where} {kind}")


MX = list(reference.ELEMENTS)


@pytest.mark.parametrize("scale_rule", ["floor", "ceil", "even"])
@pytest.mark.parametrize("name", MX)
def test_mx_agrees_in_every_rounding_mode_and_policy(rng, name, scale_rule):
    for mode, for_all, nonfinite, overflow in itertools.product(
            [-1, 0, 1, 2], [False, True], ["block", "element"], ["clamp", "nan", "unclamped"]):
        options = dict(scale_rule=scale_rule, rounding_mode=mode, rounding_applies_to_all=for_all, nonfinite=nonfinite,
                       scale_overflow=overflow, symmetric=bool(rng.integers(2)))
        check_blocks(rng, Codec(name, **options), reference.Mx(name, **options), len(block_data.KINDS), where=f"{options}")


@pytest.mark.parametrize("profile", list(reference.PROFILES))
@pytest.mark.parametrize("name", MX)
def test_mx_profiles_set_the_options_that_are_not_given(rng, name, profile):
    for given in [{}, {"scale_rule": "even"}, {"rounding_mode": 2}, {"nonfinite": "block"}, {"scale_overflow": "clamp"},
                  {"symmetric": False}, {"rounding_applies_to_all": False}]:
        codec, expected = Codec(name, profile=profile, **given), reference.Mx(name, profile=profile, **given)
        check_blocks(rng, codec, expected, 3 * len(block_data.KINDS), where=f"{profile} {given}")


@pytest.mark.parametrize("name", MX)
def test_mx_codes_decode_at_every_exponent(name):
    codec, expected = Codec(name), reference.Mx(name)
    codes = list(range(2**codec.bits))
    for exponent in [*range(-127, 129, 15), -126, 0, 1, 126, 127, 128]:
        words = np.array([exponent], np.int32).view(np.uint32)
        assert same(codec.decode(codes, words), expected.values(codes, [exponent])).all(), exponent


@pytest.mark.parametrize("name", list(reference.ALL))
def test_every_block_size_agrees(rng, name):
    codec, expected = Codec(name), reference.ALL[name]()
    for size, kind in itertools.product(range(1, 65), ["normal", "below_power", "nonfinite"]):
        x = block_data.KINDS[kind](rng, size)
        agree(codec, expected, x, "half_even", np.zeros(size, np.uint32), f"{kind} of {size}")


@pytest.mark.parametrize("name", list(reference.ALL))
def test_every_kind_of_data_agrees_in_every_rounding(rng, name):
    check_blocks(rng, Codec(name), reference.ALL[name](), 6 * 4 * len(block_data.KINDS))


@pytest.mark.parametrize("rule", ["fit", "clip"])
def test_block_fp_agrees_at_every_width_and_bias(rng, rule):
    for width, exponent_width in itertools.product([*range(2, 10), 12, 16], range(1, 9)):
        given = dict(width=width, exponent_width=exponent_width, exponent_rule=rule)
        low, high = 2**exponent_width - 129, 149 - (width - 1)
        for bias in [None, int(rng.choice([low, high, rng.integers(low, high + 1)]))]:
            options = given if bias is None else given | {"exponent_bias": bias}
            check_blocks(rng, Codec("block_fp", **options), reference.BlockFp(**options), len(block_data.KINDS),
                         where=f"{options}")


@pytest.mark.parametrize("profile", ["quark", "quark_compiler"])
def test_block_fp_profiles_set_the_options_that_are_not_given(rng, profile):
    for given in [{}, {"nonfinite": "saturate"}, {"exponent_rule": "fit"}, {"exponent_rule": "clip"}]:
        if profile == "quark_compiler" and given == {"nonfinite": "saturate"}:
            continue  # its lowest value has no code
        for width in (2, 8, 12, 16):
            check_blocks(rng, Codec("block_fp", width=width, profile=profile, **given),
                         reference.BlockFp(width=width, profile=profile, **given), 3 * len(block_data.KINDS), HALF, f"{given}")


def test_bfp_prime_agrees_at_every_width_and_shift(rng):
    for width, sub_block, shift_bits in itertools.product([2, 5, 8, 12, 16], [1, 2, 3, 8], [1, 2, 8]):
        options = dict(width=width, sub_block_size=sub_block, sub_block_shift_bits=shift_bits)
        check_blocks(rng, Codec("bfp_prime", **options), reference.BfpPrime(**options), 2 * len(block_data.KINDS), where=f"{options}")


def test_bfp16_clips_when_asked(rng):
    check_blocks(rng, Codec("bfp16", exponent_rule="clip"), reference.BlockFp(exponent_rule="clip"), 100)


def test_block_minifloat_agrees_at_every_width(rng):
    for width, exponent_width in itertools.product([*range(2, 10), 12], range(1, 9)):
        if exponent_width > width - 1:
            continue
        for bias_width in [1, 3, 5, 8]:
            options = dict(width=width, exponent_width=exponent_width, exponent_bias_width=bias_width)
            check_blocks(rng, Codec("block_minifloat", **options), reference.BlockMinifloat(**options),
                         len(block_data.KINDS), where=f"{options}")


def test_block_log_agrees_at_every_width(rng):
    for width, bias_width, with_zero in itertools.product(range(2, 9), [1, 4, 7, 8], [False, True]):
        options = dict(width=width, exponent_bias_width=bias_width, with_zero=with_zero)
        check_blocks(rng, Codec("block_log", **options), reference.BlockLog(**options), 2 * len(block_data.KINDS),
                     where=f"{options}")


def test_nvfp4_agrees_with_a_scale_of_a_larger_tensor(rng):
    codec, expected = Codec("nvfp4"), reference.Nvfp4()
    for kind, tensor in block_data.blocks(rng, 400):
        xs = [float(v) for v in tensor]
        whole = codec.choose(tensor)
        assert signed(whole)[0] == expected.tensor_scale(xs), f"{kind}: tensor scale of {xs}"
        for start in range(0, tensor.size, 16):
            block = xs[start:start + 16]
            words, wanted = codec.choose_group(block, whole), expected.choose(block, signed(whole)[0])
            assert signed(words) == wanted, f"{kind}: {block} in {xs}"
            codes = expected.codes(block, wanted, "half_even", [0] * len(block))
            assert codec.encode(block, words).tolist() == codes, f"{kind}: {block} in {xs}"
            assert same(codec.decode(codes, words), expected.values(codes, wanted)).all()


@pytest.mark.parametrize("name", [n for n in reference.ALL if not n.startswith("mx") or n in ("mx9", "mx6", "mx4")])
def test_every_code_decodes_with_every_word(rng, name):
    codec, expected = Codec(name), reference.ALL[name]()
    codes = list(range(2**codec.bits)) * 2
    for kind, x in block_data.blocks(rng, 20):
        x = np.resize(x, len(codes))
        words = codec.choose(x)
        assert same(codec.decode(codes, words), expected.values(codes, signed(words))).all(), f"{kind}: {signed(words)}"


@pytest.mark.parametrize("name", list(reference.ALL))
def test_quantization_with_fixed_words_is_idempotent(rng, name):
    codec = Codec(name)
    for kind, x in block_data.blocks(rng, 200):
        words = codec.choose(x)
        for rounding in HALF:
            once = codec.quantize(x, words, rounding)
            assert same(codec.quantize(once, words, rounding), once).all(), f"{kind} {rounding}: {x.tolist()}"


@pytest.mark.parametrize("name", [n for n in reference.ALL if n not in ("mx9", "mx6", "mx4", "bfp_prime")])
def test_quantization_with_fixed_words_is_monotone(rng, name):
    codec = Codec(name)
    for kind, x in block_data.blocks(rng, 200):
        x = x[np.isfinite(x)]
        if x.size == 0:
            continue
        words = codec.choose(x)
        for rounding in HALF:
            assert (np.diff(codec.quantize(np.sort(x), words, rounding).astype(np.float64)) >= 0).all(), (
                f"{kind} {rounding}: {x.tolist()}")


@pytest.mark.parametrize("name", list(reference.ALL))
def test_padding_a_block_with_zeros_changes_no_value(rng, name):
    codec = Codec(name)
    for kind, x in block_data.blocks(rng, 100):
        padded = np.concatenate([x, np.zeros(64 - x.size, np.float32)])
        words, padded_words = codec.choose(x), codec.choose(padded)
        alone, beside = codec.quantize(x, words), codec.quantize(padded, padded_words)[:x.size]
        assert same(alone, beside).all(), f"{kind}: {x.tolist()}"


@pytest.mark.parametrize("name", list(reference.ALL))
def test_every_value_lies_in_the_range_of_its_words(rng, name):
    codec = Codec(name)
    for kind, x in block_data.blocks(rng, 100):
        words = codec.choose(x)
        low, high = codec.range(words, x.size)
        values = codec.decode(codec.encode(x, words), words)
        inside = (values >= np.float32(low)) & (values <= np.float32(high))
        assert (inside | np.isnan(values)).all(), f"{kind}: {x.tolist()} in {low} to {high}"


@pytest.mark.parametrize("name", list(reference.ALL))
def test_a_range_gives_the_words_of_its_bounds(rng, name):
    codec, expected = Codec(name), reference.ALL[name]()
    for _ in range(100):
        low, high = block_data.FINITE["bits"](rng, 2)
        words = signed(codec.choose_from_range(float(low), float(high), 8))
        assert words[0] == expected.choose([float(low), float(high)])[0]
    with pytest.raises(ValueError, match="finite range"):
        codec.choose_from_range(0.0, float("inf"))


@pytest.mark.parametrize("name", list(reference.ALL))
def test_an_empty_block_is_legal(name):
    codec = Codec(name)
    words = codec.choose([])
    assert codec.encode([], words).size == codec.quantize([], words).size == 0
