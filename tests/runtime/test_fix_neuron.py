"""AMD's operators for MX and block floating point, compared with anybit's operator on the same format."""
import numpy as np
import pytest
from support.executing import ExecutorError
from support.one_node import model_of, ours

ROUNDINGS = ["half_away", "half_up", "half_even"]
MX = [("MXFixNeuron", "com.vai.quantize"), ("MXQuantizeDequantize", "com.amd.quark")]
BFP = [("BFPFixNeuron", "com.vai.quantize"), ("BFPQuantizeDequantize", "com.amd.quark")]


def values(shape=(3, 40, 5)):
    rng = np.random.default_rng(11)
    x = (rng.standard_normal(shape) * np.exp2(rng.integers(-6, 6, shape))).astype(np.float32)
    x.reshape(-1)[:4] = [0.0, -0.0, 1.5, 2.5]
    return x


def quantized(text, x):
    return ours(model_of("QuantizeDequantize", [x], domain="ai.anybit", format=text), [x])[0]


@pytest.mark.parametrize("op,domain", MX)
@pytest.mark.parametrize("element", ["fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1", "int8"])
@pytest.mark.parametrize("rounding", [0, 1, 2])
def test_mx_matches_the_format_in_quarks_profile(op, domain, element, rounding):
    x = values()
    model = model_of(op, [x], domain=domain, element_dtype=element, axis=1, block_size=16, rounding_mode=rounding)
    wanted = quantized(f"mx{element} profile=quark rounding_mode={rounding} axis=1 block_size=16", x)
    np.testing.assert_array_equal(ours(model, [x])[0], wanted)
    assert (wanted != x).any()


@pytest.mark.parametrize("op,domain", BFP)
@pytest.mark.parametrize("rounding", [0, 1, 2])
def test_bfp16_has_a_sign_and_7_bits_with_the_shared_exponent(op, domain, rounding):
    x = values()
    model = model_of(op, [x], domain=domain, bfp_method="to_bfp", axis=1, bit_width=16, block_size=8,
                     rounding_mode=rounding)
    got = ours(model, [x])[0]
    np.testing.assert_array_equal(got, quantized(f"bfp16 profile=quark axis=1 block_size=8 rounding={ROUNDINGS[rounding]}", x))
    for block in np.moveaxis(got, 1, 2).reshape(-1, 8):  # every value is a multiple of 1/128 of the next power of two above the largest
        step = np.exp2(np.floor(np.log2(np.abs(block).max())) + 1) / 128
        assert (block / step == np.round(block / step)).all()


def test_int8_by_hand():
    x = np.array([[1.0, 0.5 + 1 / 128, -1.0, 0.25]], np.float32)
    for rounding, wanted in ((0, 33 / 64), (2, 0.5)):
        model = model_of("MXFixNeuron", [x], domain="com.vai.quantize", element_dtype="int8", axis=1, block_size=4,
                         rounding_mode=rounding)
        np.testing.assert_array_equal(ours(model, [x])[0], np.array([[1.0, wanted, -1.0, 0.25]], np.float32))


def bfp(x, **attributes):
    return ours(model_of("BFPQuantizeDequantize", [x], domain="com.amd.quark", **attributes), [x])[0]


def test_bfp_by_hand():
    x = np.array([[0.999, 0.3, 0.1, 0, 0, 0, 0, 0]], np.float32)
    np.testing.assert_array_equal(bfp(x), np.array([[.9921875, .296875, .1015625, 0, 0, 0, 0, 0]], np.float32))
    np.testing.assert_array_equal(bfp(x, use_compiler_version_cpu_kernel=1), np.array([[1, .296875, .09375, 0, 0, 0, 0, 0]], np.float32))
    y = np.array([[1, np.inf, np.nan, 0.3]], np.float32)
    np.testing.assert_array_equal(bfp(y), np.array([[1, np.inf, np.nan, .296875]], np.float32))
    assert np.isnan(bfp(y, bfp_method="to_bfp_prime", block_size=4)).all()
    np.testing.assert_array_equal(bfp(np.array([[1, 0.6, 0.3, 0.3]], np.float32), bfp_method="to_bfp_prime", bit_width=11, block_size=4),
                                  np.array([[1, 0.5, 0.25, 0.25]], np.float32))


def test_values_may_pass_through_bfloat16_first():
    x = np.array([[1, 0.7]], np.float32)
    plain = bfp(x, bit_width=24)
    rounded = bfp(x, bit_width=24, convert_to_bfloat_before_bfp=1)
    assert plain[0, 1] != rounded[0, 1] == np.float32(0.69921875)


@pytest.mark.parametrize("op,domain", MX + BFP)
def test_vectors_have_one_axis_and_single_values_stay(op, domain):
    x = values((40,))
    one, other = (ours(model_of(op, [x], domain=domain, axis=axis), [x])[0] for axis in (1, 0))
    np.testing.assert_array_equal(one, other)
    single = np.float32([[0.3]])
    np.testing.assert_array_equal(ours(model_of(op, [single], domain=domain), [single])[0], single)


@pytest.mark.parametrize("op,domain", MX + BFP)
def test_float16_is_widened_and_narrowed(op, domain):
    x = values().astype(np.float16)
    wide = x.astype(np.float32)
    wanted = ours(model_of(op, [wide], domain=domain), [wide])[0].astype(np.float16)
    np.testing.assert_array_equal(ours(model_of(op, [x], domain=domain), [x])[0], wanted)


@pytest.mark.parametrize("op,attributes,message", [
    ("MXFixNeuron", dict(element_dtype="fp5"), "element_dtype is 'fp5'"),
    ("MXFixNeuron", dict(rounding_mode=3), "rounding_mode is 3"),
    ("BFPFixNeuron", dict(bfp_method="to_bfp_second"), "bfp_method is 'to_bfp_second'"),
    ("BFPFixNeuron", dict(bfp_method="to_bfp_prime", sub_block_size=3), "sub_block_size is 3"),
    ("BFPFixNeuron", dict(bfp_method="to_bfp_prime", sub_block_shift_bits=9), "sub_block_shift_bits"),
    ("BFPFixNeuron", dict(use_compiler_version_cpu_kernel=1, bit_width=12), "bit_width 12"),
    ("BFPFixNeuron", dict(bit_width=8), "bit_width is 8"),
    ("MXFixNeuron", dict(axis=7), "axis"),
])
def test_unknown_values_are_rejected(op, attributes, message):
    x = values()
    with pytest.raises(ExecutorError, match=message):
        ours(model_of(op, [x], domain="com.vai.quantize", **attributes), [x])
