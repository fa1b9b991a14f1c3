"""Casts between all types, and quantization, compared with ml_dtypes and ONNX Runtime."""
import ml_dtypes
import numpy as np
import pytest
from support.executing import ELEMENT_TYPES, NUMBERS, Executor, ExecutorError
from test_elementwise import by_peer, model, numbers, random, run  # noqa: F401: a fixture

from onnx import TensorProto, helper

NUMERIC = [np.dtype(kind) for number, kind in ELEMENT_TYPES.items() if number not in (14, 15)]
SMALL = [np.dtype(kind) for kind in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2,
                                     ml_dtypes.float8_e5m2fnuz, ml_dtypes.float4_e2m1fn)]
E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)


@pytest.mark.parametrize("source", NUMERIC, ids=str)
def test_small_integers_are_exact_in_every_type(source):
    x = np.array([1, 0, 1, 1] if source == np.bool_ else [1, 1, 1, 1] if source == E8M0 else [1, 0, 1, 0]).astype(source)
    for target in NUMERIC:
        if target == E8M0 and 0 in x.astype(np.float32):
            continue
        got, = run("Cast", [x], {"to": NUMBERS[target]}, opset=25)
        assert got.astype(np.float32).tolist() == x.astype(np.float32).tolist(), target


@pytest.mark.parametrize("target", SMALL, ids=str)
def test_floats_to_small_floats_match_ml_dtypes(random, target):
    x = (random.standard_normal(4000) * 10.0 ** random.uniform(-4, 4, 4000)).astype(np.float32)
    got, = run("Cast", [x], {"to": NUMBERS[target], "saturate": 0}, opset=23)
    np.testing.assert_array_equal(got.astype(np.float32), x.astype(target).astype(np.float32))
    got, = run("Cast", [x], {"to": NUMBERS[target]}, opset=23)
    largest = float(ml_dtypes.finfo(target).max)
    np.testing.assert_array_equal(got.astype(np.float32), np.clip(x, -largest, largest).astype(target).astype(np.float32))


def test_float16_rounds_half_to_even(random):
    x = random.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32)
    for target in (np.float16, ml_dtypes.bfloat16):
        with np.errstate(all="ignore"):
            wanted = x.astype(target)
        got, = run("Cast", [x], {"to": NUMBERS[np.dtype(target)]})
        np.testing.assert_array_equal(got.astype(np.float32), wanted.astype(np.float32))


def test_integers_keep_their_low_bits(random):
    x = random.integers(-2**63, 2**63, 1000, dtype=np.int64)
    for target in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.uint64):
        np.testing.assert_array_equal(run("Cast", [x], {"to": NUMBERS[np.dtype(target)]})[0], x.astype(target))


def test_casts_of_nan_and_infinity_to_integers_do_not_crash():
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30], np.float32)
    for target in (np.int8, np.int32, np.int64, np.uint64, ml_dtypes.int4):
        run("Cast", [x], {"to": NUMBERS[np.dtype(target)]})


def cast_strings(values, target):
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=target)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.STRING, None)],
                              [helper.make_tensor_value_info("y", target, None)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return Executor(proto).run({"x": np.array(values, object)})[0]


def test_text_becomes_numbers_and_numbers_text():
    texts = ["3.14", "-1e-5", "INF", "-inf", "+inf", "NaN", "1000", " 7 ", "1e400"]
    got = cast_strings(texts, TensorProto.FLOAT)
    np.testing.assert_array_equal(got, np.array([float(text) for text in texts], np.float32))
    assert cast_strings(["-12", "9223372036854775807"], TensorProto.INT64).tolist() == [-12, 2**63 - 1]
    assert cast_strings(["18446744073709551615"], TensorProto.UINT64).tolist() == [2**64 - 1]
    for text in ("", "hello", "1.5x", "+"):
        with pytest.raises(ExecutorError, match="not a number"):
            cast_strings([text], TensorProto.FLOAT)
    got, = run("Cast", [np.array([0.5, np.nan, -np.inf, 314.15926], np.float32)], {"to": TensorProto.STRING})
    assert got.tolist() == ["0.5", "NaN", "-INF", "314.15927"]


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int16])
def test_quantization_to_integers_matches_onnx_runtime(random, kind):
    info = np.iinfo(kind)
    for shape, axis, size in [((3, 5, 7), 1, 5), ((4, 33), 1, 33), ((4, 33), 0, 4), ((70,), 0, None), ((2, 3), 0, None)]:
        scale = random.uniform(0.01, 1, () if size is None else size).astype(np.float32)
        zero = random.integers(info.min, info.max + 1, scale.shape).astype(kind)
        x = (random.standard_normal(shape) * 100).astype(np.float32)
        got, = run("QuantizeLinear", [x, scale, zero], {"axis": axis})
        np.testing.assert_array_equal(got, by_peer("QuantizeLinear", [x, scale, zero], {"axis": axis}, opset=21)[0])
        back, = run("DequantizeLinear", [got, scale, zero], {"axis": axis})
        np.testing.assert_array_equal(back, by_peer("DequantizeLinear", [got, scale, zero], {"axis": axis}, opset=21)[0])


def test_the_last_block_may_be_partial(random):
    x = random.standard_normal((3, 10, 4)).astype(np.float32)
    for axis in (0, 1, 2):
        for block in (1, 3, 4, 100):
            shape = list(x.shape)
            shape[axis] = -(-shape[axis] // block)
            scale = random.uniform(0.01, 1, shape).astype(np.float32)
            zero = random.integers(0, 255, shape).astype(np.uint8)
            whole = np.take(np.repeat(scale, block, axis), range(x.shape[axis]), axis)
            zeros = np.take(np.repeat(zero, block, axis), range(x.shape[axis]), axis).astype(int)
            got, = run("QuantizeLinear", [x, scale, zero], {"axis": axis, "block_size": block})
            np.testing.assert_array_equal(got, np.clip(np.rint(x / whole) + zeros, 0, 255))
            back, = run("DequantizeLinear", [got, scale, zero], {"axis": axis, "block_size": block})
            np.testing.assert_array_equal(back, (got.astype(np.float32) - zeros.astype(np.float32)) * whole)
    with pytest.raises(ExecutorError):
        run("QuantizeLinear", [x, np.ones((3, 2, 4), np.float32)], {"axis": 1, "block_size": 4})


def test_special_values_quantize_without_a_crash():
    x = np.array([np.nan, np.inf, -np.inf, 0, 1e38], np.float32)
    for scale in (0.0, 1e-38, 1.0, np.inf, np.nan):
        got, = run("QuantizeLinear", [x, np.float32(scale), np.uint8(3)])
        assert got[0] == 3


def test_dynamic_ranges(random):
    for shape in [(7,), (3, 100), (1000,)]:
        x = (random.standard_normal(shape) * 3 + random.uniform(-9, 9)).astype(np.float32)
        for one, other in zip(run("DynamicQuantizeLinear", [x], outputs=3), by_peer("DynamicQuantizeLinear", [x], outputs=3, opset=21)):
            np.testing.assert_array_equal(one, other)
    q, scale, zero = run("DynamicQuantizeLinear", [np.zeros(5, np.float32)], outputs=3)
    assert q.tolist() == [0] * 5 and scale == 1 and zero == 0


def quantized_pair(random, kind, first, second):
    info = np.iinfo(kind)
    draw = lambda shape: random.integers(info.min, info.max + 1, shape).astype(kind)
    scale = lambda: np.float32(random.uniform(0.005, 0.1))
    return [draw(first), scale(), draw(()), draw(second), scale(), draw(()), scale(), draw(())]


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_binary_operators_on_quantized_tensors(random, op, kind):
    for shapes in [((3, 100), (3, 100)), ((2, 8, 5), (8, 1)), ((37,), ()), ((5, 7), (7,))]:
        inputs = [np.asarray(value) for value in quantized_pair(random, kind, *shapes)]
        got, = run(op, inputs, domain="com.microsoft")
        wanted, = by_peer(op, inputs, domain="com.microsoft")
        apart = np.abs(got.astype(int) - wanted.astype(int))
        assert apart.max() <= 1 and np.mean(apart > 0) < 0.01  # it rounds in another order


@pytest.mark.parametrize("op", ["QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"])
@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_functions_of_quantized_tensors(random, op, kind):
    info = np.iinfo(kind)
    x = random.integers(info.min, info.max + 1, (5, 60)).astype(kind)
    zero = np.array(random.integers(info.min, info.max + 1), kind)
    out_zero = np.array(info.min if op != "QLinearLeakyRelu" else 0, kind)
    inputs = [x, np.float32(0.05), zero, np.float32(0.05 if op == "QLinearLeakyRelu" else 1 / 256), out_zero]
    inputs = [np.asarray(value) for value in inputs]
    attributes = {"axis": -1, "opset": 13} if op == "QLinearSoftmax" else {}
    wanted, = by_peer(op, inputs, attributes, domain="com.microsoft")
    for constants in ((), (1, 2, 3, 4)):
        got, = run(op, inputs, attributes, domain="com.microsoft", constants=constants)
        assert np.abs(got.astype(int) - wanted.astype(int)).max() <= 1


def test_concatenation_of_quantized_tensors(random):
    parts = [random.integers(0, 256, (2, n, 3)).astype(np.uint8) for n in (1, 4, 2)]
    inputs = [np.float32(0.05), np.uint8(100)]
    for part in parts:
        inputs += [part, np.float32(random.uniform(0.02, 0.1)), np.uint8(random.integers(0, 256))]
    inputs = [np.asarray(value) for value in inputs]
    got, = run("QLinearConcat", inputs, {"axis": 1}, domain="com.microsoft")
    wanted, = by_peer("QLinearConcat", inputs, {"axis": 1}, domain="com.microsoft")
    assert np.abs(got.astype(int) - wanted.astype(int)).max() <= 1 and got.shape == wanted.shape
