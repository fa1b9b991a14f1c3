"""Unary and binary elementwise operators with broadcasting, compared with numpy, ml_dtypes and ONNX Runtime."""
import math

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import NUMBERS, Executor, ExecutorError

FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
SHAPES = [((), ()), ((5,), (5,)), ((3, 4), ()), ((2, 3, 4), (4,)), ((2, 3, 4, 5), (3, 1, 1)), ((2, 1, 4), (3, 1)),
          ((0, 3), (3,)), ((1000, 2), (2,)), ((2,), (300, 2)), ((7, 65), (7, 1)), ((2, 3, 1), (2, 3, 5)),
          ((4, 1, 3, 1), (1, 5, 1, 2)), ((3, 9, 8), (3, 1, 8)), ((700,), (1,))]


def model(op, inputs, attributes=None, outputs=1, opset=22, domain="", constants=None):
    """A model of one node. `inputs`: arrays, or None for missing ones; those in `constants` are initializers."""
    constants = constants or ()
    names = [f"i{i}" if value is not None else "" for i, value in enumerate(inputs)]
    node = helper.make_node(op, names, [f"o{i}" for i in range(outputs)], domain=domain, **(attributes or {}))
    ports = [helper.make_tensor_value_info(name, NUMBERS[value.dtype], value.shape)
             for i, (name, value) in enumerate(zip(names, inputs)) if value is not None and i not in constants]
    held = [numpy_helper.from_array(inputs[i], names[i]) for i in constants]
    result = [helper.make_value_info(f"o{i}", onnx.TypeProto()) for i in range(outputs)]
    graph = helper.make_graph([node], "g", ports, result, initializer=held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)],
                             ir_version=10)


def run(op, inputs, attributes=None, **more):
    inputs = [None if value is None else np.asarray(value) for value in inputs]
    executor = Executor(model(op, inputs, attributes, **more))
    constants = more.get("constants") or ()
    return executor.run({f"i{i}": value for i, value in enumerate(inputs) if value is not None and i not in constants})


def by_peer(op, inputs, attributes=None, **more):
    """The same node in ONNX Runtime."""
    proto = model(op, inputs, attributes, **more)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {f"i{i}": value for i, value in enumerate(inputs) if value is not None})


def numbers(random, shape, kind, low=-5, high=5):
    if np.dtype(kind).kind == "u":
        low = 0
    values = random.uniform(low, high, shape)
    return values.astype(kind) if np.dtype(kind) in [np.dtype(f) for f in FLOATS] else np.rint(values).astype(kind)


@pytest.fixture
def random():
    seed = np.random.SeedSequence().entropy % 2**32
    print(f"seed {seed}")
    return np.random.default_rng(seed)


@pytest.mark.parametrize("op, exact", [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply),
                                       ("Max", np.maximum), ("Min", np.minimum)])
def test_binary_operators_broadcast_like_numpy(random, op, exact):
    for kind in FLOATS + INTEGERS:
        for first, second in SHAPES:
            a, b = numbers(random, first, kind), numbers(random, second, kind)
            got, = run(op, [a, b])
            wanted = exact(a, b).astype(kind)
            np.testing.assert_array_equal(got, wanted, err_msg=f"{kind.__name__} {first} {second}")


def test_large_tensors_are_the_same_on_one_thread_and_two(random):
    a, b = numbers(random, (3, 64, 1000), np.float32), numbers(random, (64, 1), np.float32)
    proto = model("Mul", [a, b])
    for threads in (1, 2):
        got, = Executor(proto, threads=threads).run({"i0": a, "i1": b})
        np.testing.assert_array_equal(got, a * b)


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_divide_toward_zero_and_wrap(kind):
    info = np.iinfo(kind)
    a = np.array([7, info.min, info.max, 5, 0], kind)
    b = np.array([2, info.max if info.min == 0 else -1, 3, 0, 0], kind)
    got, = run("Div", [a, b])
    wrapped = 0 if info.min == 0 else info.min
    assert got.tolist() == [3, wrapped, info.max // 3, 0, 0]
    got, = run("Mod", [a, b])
    assert got.tolist()[3:] == [0, 0]


def test_mod_supports_both_signs(random):
    for kind in [np.int8, np.int32, np.int64, np.float32]:
        a, b = numbers(random, (50,), kind, -100, 100), numbers(random, (50,), kind, 1, 9) * random.choice([-1, 1], 50).astype(kind)
        np.testing.assert_allclose(run("Mod", [a, b])[0], np.mod(a, b), rtol=1e-5)
        np.testing.assert_allclose(run("Mod", [a, b], {"fmod": 1})[0], np.fmod(a, b), rtol=1e-5)


def test_powers_of_mixed_types(random):
    for base in [np.float32, np.float64, np.int32, np.int64]:
        for exponent in [np.float32, np.int32, np.int64, np.float64]:
            a, b = numbers(random, (4, 5), base, 1, 5), numbers(random, (5,), exponent, 0, 4)
            np.testing.assert_allclose(run("Pow", [a, b])[0], np.power(a.astype(np.float64), b).astype(base), rtol=1e-5)
    for exponent in (0.5, 1, 2, 3, -1, 0):
        a = numbers(random, (100,), np.float32, 0.1, 5)
        np.testing.assert_allclose(run("Pow", [a, np.float32(exponent)])[0], a ** np.float32(exponent), rtol=1e-6)


def test_comparisons_and_where_support_every_type(random):
    a = np.array(["a", "b", "c"], object)
    b = np.array("b", object)
    assert Executor(string_model("Equal")).run({"a": a, "b": b})[0].tolist() == [False, True, False]
    for kind in FLOATS + INTEGERS + [np.bool_]:
        x, y = numbers(random, (3, 1, 4), kind), numbers(random, (2, 1), kind)
        condition = random.random((2, 4)) < 0.5
        np.testing.assert_array_equal(run("Where", [condition, x, y])[0], np.where(condition, x, y))
        np.testing.assert_array_equal(run("Equal", [x, y])[0], np.equal(x, y))
        if kind is not np.bool_:
            np.testing.assert_array_equal(run("Less", [x, y])[0], np.less(x, y))
            np.testing.assert_array_equal(run("GreaterOrEqual", [x, y])[0], np.greater_equal(x, y))


def string_model(op):
    ports = [helper.make_tensor_value_info(name, TensorProto.STRING, None) for name in "ab"]
    graph = helper.make_graph([helper.make_node(op, ["a", "b"], ["c"])], "g", ports,
                              [helper.make_tensor_value_info("c", TensorProto.BOOL, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)


def test_the_broadcasting_of_old_opsets_starts_at_an_axis(random):
    a, b = numbers(random, (2, 3, 4), np.float32), numbers(random, (3,), np.float32)
    got, = run("Add", [a, b], {"broadcast": 1, "axis": 1}, opset=6)
    np.testing.assert_array_equal(got, a + b[:, None])
    for axis in (-100, 100, 2):
        with pytest.raises(ExecutorError):
            run("Add", [a, b], {"broadcast": 1, "axis": axis}, opset=6)


UNARY = {
    "Abs": np.abs, "Neg": np.negative, "Ceil": np.ceil, "Floor": np.floor, "Round": np.rint, "Sign": np.sign,
    "Exp": np.exp, "Erf": np.vectorize(math.erf), "Tanh": np.tanh, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Relu": lambda x: np.maximum(x, 0), "Softplus": lambda x: np.log1p(np.exp(x)), "Sin": np.sin, "Cos": np.cos,
    "Tan": np.tan, "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh, "Asinh": np.arcsinh,
    "Softsign": lambda x: x / (1 + np.abs(x)), "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "Mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "Elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "Gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
}


@pytest.mark.parametrize("op", UNARY)
def test_unary_operators(random, op):
    for kind, tolerance in zip(FLOATS, (4e-7, 1e-14, 1e-3, 8e-3)):
        x = numbers(random, (3, 37), kind)
        got, = run(op, [x])
        wanted = UNARY[op](x.astype(np.float64))
        np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=tolerance, atol=1e-7, err_msg=kind.__name__)
        assert got.dtype == kind


def test_clip_of_every_version_and_type(random):
    for kind in FLOATS + INTEGERS:
        x, low, high = numbers(random, (40,), kind, -9, 9), np.array(1, kind), np.array(3, kind)
        np.testing.assert_array_equal(run("Clip", [x, low, high])[0], np.clip(x, low, high))
        np.testing.assert_array_equal(run("Clip", [x, None, high])[0], np.minimum(x, high))
        np.testing.assert_array_equal(run("Clip", [x, high, low])[0], np.full_like(x, low))
    x = numbers(random, (40,), np.float32, -9, 9)
    np.testing.assert_array_equal(run("Clip", [x], {"min": -1.0, "max": 2.0}, opset=6)[0], np.clip(x, -1, 2))
    np.testing.assert_array_equal(run("Clip", [x], {"min": -1.0}, opset=6)[0], np.maximum(x, -1))


def test_missing_bounds_clamp_infinity_to_the_largest_number():
    for kind, last in zip(FLOATS, (np.finfo(np.float32).max, np.finfo(np.float64).max, 65504, 2.0**127 * (2 - 2.0**-7))):
        x = np.array([-np.inf, -1, np.nan, 2, np.inf], kind)
        np.testing.assert_array_equal(run("Clip", [x])[0].astype(np.float64), [-last, -1, np.nan, 2, last])
        np.testing.assert_array_equal(run("Clip", [x, None, np.array(1, kind)])[0].astype(np.float64), [-last, -1, np.nan, 1, 1])
        np.testing.assert_array_equal(run("Clip", [x], {"min": 0.0}, opset=6)[0].astype(np.float64), [0, 0, np.nan, 2, last])


@pytest.mark.parametrize("op, attributes", [("Shrink", {"lambd": 0.5, "bias": 1.0}), ("ThresholdedRelu", {"alpha": 0.5})])
def test_values_within_the_threshold_are_zero(op, attributes):
    x = np.array([-np.inf, -1, -0.25, 0, np.nan, 0.25, 2, np.inf], np.float32)
    for kind in FLOATS:
        got, = run(op, [x.astype(kind)], attributes)
        np.testing.assert_array_equal(got.astype(np.float32), by_peer(op, [x], attributes)[0])


@pytest.mark.parametrize("op, attributes", [("Gelu", {}), ("QuickGelu", {"alpha": 1.7}), ("FastGelu", {}), ("BiasGelu", {})])
def test_the_gelus_of_onnx_runtime(random, op, attributes):
    x, bias = numbers(random, (2, 5, 37), np.float32), numbers(random, (37,), np.float32)
    inputs = [x, bias] if op in ("FastGelu", "BiasGelu") else [x]
    got, = run(op, inputs, attributes, domain="com.microsoft")
    wanted, = by_peer(op, inputs, attributes, domain="com.microsoft")
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_cumulative_sums_and_triangles(random):
    x = numbers(random, (3, 4, 5), np.float32)
    np.testing.assert_allclose(run("CumSum", [x, np.array(-2)])[0], np.cumsum(x, axis=1), rtol=1e-5, atol=1e-6)
    assert run("CumSum", [np.arange(4), np.array(0)], {"exclusive": 1, "reverse": 1})[0].tolist() == [6, 5, 3, 0]
    for k in (-(2**62), -2, 0, 1, 2**62):
        np.testing.assert_array_equal(run("Trilu", [x, np.array(k)])[0], np.triu(x, max(-9, min(k, 9))))
        np.testing.assert_array_equal(run("Trilu", [x, np.array(k)], {"upper": 0})[0], np.tril(x, max(-9, min(k, 9))))
    with pytest.raises(ExecutorError):
        run("CumSum", [x, np.array(3)])


def test_wrong_inputs_are_reported(random):
    a, b = numbers(random, (2, 3), np.float32), numbers(random, (4,), np.float32)
    with pytest.raises(ExecutorError, match=r"\[2, 3\] and \[4\]"):
        run("Add", [a, b])
    with pytest.raises(ExecutorError):
        run("Add", [a, b.astype(np.float64)])
    with pytest.raises(ExecutorError):
        run("BitShift", [np.arange(3, dtype=np.uint8)] * 2, {"direction": "UP"})


def after_convolution(op, other, channels, attributes=None, constant=True, first=True):
    """x → Conv (whose output may have a blocked layout) → op with `other` → Conv."""
    weights = lambda name, shape: numpy_helper.from_array(np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape), name)
    held = [weights("w", (channels, 3, 3, 3)), weights("v", (5, channels, 1, 1))]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)]
    operands = ["c"]
    if other is not None:
        operands = ["c", "other"] if first else ["other", "c"]
        if constant:
            held.append(numpy_helper.from_array(other, "other"))
        else:
            ports.append(helper.make_tensor_value_info("other", TensorProto.FLOAT, None))
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node(op, operands, ["y"], **(attributes or {})),
             helper.make_node("Conv", ["y", "v"], ["z"])]
    graph = helper.make_graph(nodes, "g", ports, [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", "z")],
                              initializer=held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def agree_with_peer(proto, inputs):
    wanted = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)
    executor = Executor(proto)
    for _ in range(3):  # the first run plans the memory of later runs
        for got, other in zip(executor.run(inputs), wanted):
            np.testing.assert_allclose(got, other, rtol=2e-4, atol=2e-4 * np.abs(other[np.isfinite(other)]).max())


@pytest.mark.parametrize("channels", [8, 16, 13])
@pytest.mark.parametrize("shape", [(), (1,), (-1, 1, 1), (1, -1, 1, 1), (2, -1, 1, 1), (2, 1, 6, 7), (6, 7), (2, -1, 6, 7),
                                   (1, 1, 1, 7), (2, 1, 1, 1)])
def test_binary_operators_after_a_convolution(random, channels, shape):
    shape = tuple(channels if size < 0 else size for size in shape)
    x, other = numbers(random, (2, 3, 6, 7), np.float32), numbers(random, shape, np.float32, 1, 3)
    agree_with_peer(after_convolution("Div", other, channels), {"x": x})
    agree_with_peer(after_convolution("Add", other, channels, constant=False), {"x": x, "other": other})
    agree_with_peer(after_convolution("Sub", other, channels, first=False), {"x": x})


@pytest.mark.parametrize("op, attributes", [("Sigmoid", {}), ("HardSwish", {}), ("Clip", {}), ("Exp", {}), ("LeakyRelu", {"alpha": 0.3}),
                                            ("Softplus", {}), ("Gelu", {}), ("Abs", {})])
@pytest.mark.parametrize("channels", [8, 13])
def test_unary_operators_after_a_convolution(random, op, attributes, channels):
    x = numbers(random, (2, 3, 6, 7), np.float32, -1, 1)
    agree_with_peer(after_convolution(op, None, channels, attributes), {"x": x})
