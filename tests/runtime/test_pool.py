"""Pooling compared with ONNX Runtime on random shapes."""
import numpy as np
import pytest
from onnx import TensorProto, helper
from support.executing import Executor, ExecutorError
from test_conv import close, model_of, reference

SEED = 20240602


def random_pool(random, axes, op):
    kernel = [int(k) for k in random.integers(1, 5, axes)]
    attributes = {"kernel_shape": kernel, "strides": [int(s) for s in random.integers(1, 4, axes)]}
    padding = random.choice(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if padding == "NOTSET":
        attributes["pads"] = [int(random.integers(0, k)) for k in kernel] * 2
    else:
        attributes["auto_pad"] = str(padding)
        # Windows with gaps would need negative padding, which ONNX Runtime rejects.
        attributes["strides"] = [min(pair) for pair in zip(attributes["strides"], kernel)]
    if op == "MaxPool" and padding in ("NOTSET", "VALID"):
        attributes["dilations"] = [int(d) for d in random.integers(1, 3, axes)]
    if op == "AveragePool":
        attributes["count_include_pad"] = int(random.integers(2))
    if op == "LpPool":
        attributes["p"] = int(random.integers(1, 4))
    space = [int(s) for s in random.integers(9, 20, axes)]
    return attributes, random.standard_normal([2, int(random.choice([3, 8, 16])), *space], np.float32)


# A preceding convolution gives a blocked layout if it has 8 or 16 channels.
def after_conv(random, op, attributes, x):
    weight = random.standard_normal((x.shape[1], x.shape[1], *[1] * (x.ndim - 2)), np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node(op, ["c"], ["y"], **attributes)]
    return model_of(nodes, [("x", TensorProto.FLOAT, x.shape)], [("y", TensorProto.FLOAT)], {"w": weight})


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("number", range(5))
def test_pools_match_onnx_runtime(op, axes, number):
    random = np.random.default_rng([SEED, axes, number])
    attributes, x = random_pool(random, axes, op)
    model = after_conv(random, op, attributes, x)
    wanted = reference(model, {"x": x})[0]
    close(Executor(model).run([x])[0], wanted, 1e-5)
    np.testing.assert_array_equal(Executor(model).run([x])[0], Executor(model, threads=3).run([x])[0])


@pytest.mark.parametrize("op", ["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"])
@pytest.mark.parametrize("shape", [(2, 3, 7), (1, 16, 9, 11), (2, 8, 3, 4, 5), (1, 24, 1, 1)])
def test_global_pools_match_onnx_runtime(op, shape):
    random = np.random.default_rng(SEED)
    x = random.standard_normal(shape, np.float32)
    model = after_conv(random, op, {}, x)
    close(Executor(model).run([x])[0], reference(model, {"x": x})[0], 1e-5)


@pytest.mark.parametrize("kind,number", [(np.uint8, TensorProto.UINT8), (np.int8, TensorProto.INT8)])
def test_maxima_of_integers(kind, number):
    random = np.random.default_rng(SEED)
    x = random.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, (2, 5, 11, 13)).astype(kind)
    model = model_of([helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])],
                     [("x", number, x.shape)], [("y", number), ("i", TensorProto.INT64)], {})
    for got, wanted in zip(Executor(model).run([x]), reference(model, {"x": x})):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("kind,number", [(np.uint8, TensorProto.UINT8), (np.int8, TensorProto.INT8)])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("include", [0, 1])
def test_means_of_quantized_tensors_are_within_a_step(kind, number, last, include):
    random = np.random.default_rng(SEED)
    shape = (2, 11, 13, 24) if last else (2, 24, 11, 13)
    x = random.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape).astype(kind)
    constants = {"xs": np.float32(0.07), "xz": kind(7), "ys": np.float32(0.05), "yz": kind(3)}
    windowed = {"kernel_shape": [3, 3], "strides": [2, 1], "pads": [1, 1, 1, 1], "count_include_pad": include}
    for op, attributes in (("QLinearAveragePool", windowed), ("QLinearGlobalAveragePool", {})):
        node = helper.make_node(op, ["x", *constants], ["y"], domain="com.microsoft", channels_last=last, **attributes)
        model = model_of([node], [("x", number, shape)], [("y", number)], constants)
        got, wanted = Executor(model).run([x])[0], reference(model, {"x": x})[0]
        assert got.shape == wanted.shape
        assert np.abs(got.astype(int) - wanted.astype(int)).max() <= 1
        assert np.mean(got != wanted) < 0.02


@pytest.mark.parametrize("attributes", [{}, {"kernel_shape": [3]}, {"kernel_shape": [0, 3]}, {"kernel_shape": [1 << 40, 1 << 40]},
                                        {"kernel_shape": [9, 9]}, {"kernel_shape": [3, 3], "pads": [(1 << 31) - 1] * 4}])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_windows_that_are_too_large_are_errors(op, attributes):
    model = model_of([helper.make_node(op, ["x"], ["y"], **attributes)], [("x", TensorProto.FLOAT, None)],
                     [("y", TensorProto.FLOAT)], {})
    with pytest.raises(ExecutorError):
        Executor(model, max_memory=1 << 30).run([np.zeros((1, 2, 5, 5), np.float32)])


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_a_window_larger_than_the_input_has_one_position_with_ceil_mode(op):
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)

    def model(**more):
        node = helper.make_node(op, ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], **more)
        return model_of([node], [("x", TensorProto.FLOAT, [1, 1, 2, 2])], [("y", TensorProto.FLOAT)], {}, opset=22, ir=10)

    close(Executor(model(ceil_mode=1)).run({"x": x})[0], reference(model(ceil_mode=1), {"x": x})[0])
    with pytest.raises(ExecutorError, match="the window spans 3"):
        Executor(model()).run({"x": x})


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("blocked", [False, True])
def test_a_maximum_with_a_special_value_in_its_window(special, stride, blocked):
    random = np.random.default_rng(SEED)
    x = random.standard_normal((1, 8, 13, 27), np.float32)
    x[0, :, random.integers(0, 13, 12), random.integers(0, 27, 12)] = special
    attributes = dict(kernel_shape=[3, 3], strides=[stride] * 2, pads=[1] * 4)
    nodes = [helper.make_node("MaxPool", ["c" if blocked else "x"], ["y"], **attributes)]
    if blocked:  # a convolution by the identity
        nodes.insert(0, helper.make_node("Conv", ["x", "w"], ["c"], group=8))
    model = model_of(nodes, [("x", TensorProto.FLOAT, x.shape)], [("y", TensorProto.FLOAT)],
                     {"w": np.ones((8, 1, 1, 1), np.float32)} if blocked else {})
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::stride, ::stride]
    np.testing.assert_array_equal(Executor(model).run([x])[0], windows.max((4, 5)))
