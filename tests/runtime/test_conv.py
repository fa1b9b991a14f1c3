"""Convolutions compared with ONNX Runtime on random shapes."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor, ExecutorError

SEED = 20240601


def model_of(nodes, inputs, outputs, constants, opset=20, ir=9):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir)


def reference(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, feeds)


def close(got, wanted, tolerance=2e-6):
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=tolerance * max(1.0, float(np.abs(wanted).max(initial=0))))


CHANNELS = [(1, 1, 1), (3, 8, 1), (3, 20, 1), (16, 24, 1), (12, 5, 1), (64, 64, 1), (16, 16, 16), (20, 20, 20), (32, 16, 2),
            (12, 8, 4), (8, 16, 8), (7, 9, 1), (40, 72, 1)]


def random_conv(random, axes):
    channels, outputs, groups = CHANNELS[random.integers(len(CHANNELS))]
    kernel = [int(k) for k in random.integers(1, 5, axes)]
    attributes = {"group": groups, "kernel_shape": kernel, "strides": [int(s) for s in random.integers(1, 4, axes)],
                  "dilations": [int(d) for d in random.integers(1, 3, axes)]}
    padding = random.choice(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if padding == "NOTSET":
        attributes["pads"] = [int(p) for p in random.integers(0, 4, 2 * axes)]
    else:
        attributes["auto_pad"] = str(padding)
        if padding != "VALID":
            attributes["dilations"] = [1] * axes  # ONNX Runtime supports no others here
    space = [int(s) for s in random.integers(9, 20, axes)]
    x = random.standard_normal([int(random.integers(1, 4)), channels, *space], np.float32)
    w = random.standard_normal([outputs, channels // groups, *kernel], np.float32)
    return x, w, attributes


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("number", range(12))
def test_convolution_matches_onnx_runtime(axes, number):
    random = np.random.default_rng([SEED, axes, number])
    x, w, attributes = random_conv(random, axes)
    bias = random.standard_normal(w.shape[0], np.float32)
    constants = {"w": w, "b": bias} if number % 3 else {"w": w}
    model = model_of([helper.make_node("Conv", ["x", *constants], ["y"], **attributes)],
                     [("x", TensorProto.FLOAT, x.shape)], [("y", TensorProto.FLOAT)], constants)
    wanted = reference(model, {"x": x})[0]
    one, two = Executor(model), Executor(model, threads=3)
    close(one.run([x])[0], wanted)
    np.testing.assert_array_equal(one.run([x])[0], two.run([x])[0])


def test_computed_weights_are_supported():
    random = np.random.default_rng(SEED)
    x, w = random.standard_normal((2, 8, 9, 9), np.float32), random.standard_normal((16, 8, 3, 3), np.float32)
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"])],
                     [("x", TensorProto.FLOAT, x.shape), ("w", TensorProto.FLOAT, w.shape)], [("y", TensorProto.FLOAT)], {})
    close(Executor(model).run([x, w])[0], reference(model, {"x": x, "w": w})[0])


GROUPED = [  # channels, outputs, groups, kernel, stride
    (40, 40, 1, 3, 1), (20, 20, 20, 3, 1), (16, 48, 16, 5, 2), (12, 12, 3, 3, 1), (64, 32, 16, 3, 2), (24, 24, 2, 1, 1), (3, 16, 1, 5, 2),
    (36, 30, 6, 3, 1)]


@pytest.mark.parametrize("side", [4, 15])
@pytest.mark.parametrize("channels,outputs,groups,kernel,stride", GROUPED)
def test_weights_that_vary_give_the_bits_of_constant_ones(channels, outputs, groups, kernel, stride, side):
    random = np.random.default_rng(SEED)
    x = random.standard_normal((3, channels, side, side + 2), np.float32)
    w, bias = random.standard_normal((outputs, channels // groups, kernel, kernel), np.float32), random.standard_normal(outputs, np.float32)
    ports = [("x", TensorProto.FLOAT, ("n", *x.shape[1:])), ("w", TensorProto.FLOAT, w.shape), ("b", TensorProto.FLOAT, bias.shape)]
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=groups, pads=[1] * 4, strides=[stride] * 2)
    varying = model_of([node], ports, [("y", TensorProto.FLOAT)], {})
    constant = model_of([node], ports[:1], [("y", TensorProto.FLOAT)], {"w": w, "b": bias})
    got = Executor(constant, threads=2).run([x])[0]
    close(got, reference(constant, {"x": x})[0])
    np.testing.assert_array_equal(Executor(varying).run([x, w, bias])[0], got)
    for n in range(3):  # and those of each image alone
        np.testing.assert_array_equal(Executor(constant).run([x[n:n + 1]])[0], got[n:n + 1])


@pytest.mark.parametrize("channels,outputs,groups,kernel,stride", GROUPED)
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_nan_and_infinity_reach_the_results_that_depend_on_them_and_no_others(channels, outputs, groups, kernel, stride, special):
    random = np.random.default_rng(SEED)
    x = random.standard_normal((1, channels, 17, 14), np.float32)
    x[0, channels - 1, 6, 9] = special
    w = random.standard_normal((outputs, channels // groups, kernel, kernel), np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], group=groups, pads=[1] * 4, strides=[stride] * 2),
             helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Conv", ["b", "v"], ["y"])]
    v = np.ones((1, outputs, 1, 1), np.float32)  # reads the padding of blocks
    model = model_of(nodes, [("x", TensorProto.FLOAT, x.shape)], [("y", TensorProto.FLOAT)], {"w": w, "v": v})
    got, wanted = Executor(model).run([x])[0], reference(model, {"x": x})[0]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(wanted))
    finite = np.isfinite(wanted)
    assert 0 < finite.sum() < finite.size
    close(got[finite], wanted[finite], 1e-5)


def test_weights_that_are_not_finite_do_not_reach_the_padding():
    x, w = np.ones((1, 8, 5, 5), np.float32), np.ones((8, 8, 3, 3), np.float32)
    w[3, 2, 0, 0] = np.inf
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)], [("x", TensorProto.FLOAT, x.shape)],
                     [("y", TensorProto.FLOAT)], {"w": w})
    np.testing.assert_array_equal(Executor(model).run([x])[0], reference(model, {"x": x})[0])


@pytest.mark.parametrize("activation,parameters", [("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 1.5]),
                                                   ("Sigmoid", []), ("Tanh", []), ("HardSigmoid", [0.3, 0.4])])
@pytest.mark.parametrize("channels", [16, 12])
@pytest.mark.parametrize("sum", [False, True])
def test_activations_and_sums_are_fused(activation, parameters, channels, sum):
    random = np.random.default_rng(SEED)
    x, z = random.standard_normal((2, 8, 9, 9), np.float32), random.standard_normal((2, channels, 9, 9), np.float32)
    w, b = random.standard_normal((channels, 8, 3, 3), np.float32) / 8, random.standard_normal(channels, np.float32)
    attributes = {"activation": activation, "pads": [1, 1, 1, 1]}
    if parameters:
        attributes["activation_params"] = parameters
    inputs = [("x", TensorProto.FLOAT, x.shape)] + ([("z", TensorProto.FLOAT, z.shape)] if sum else [])
    feeds = {"x": x, **({"z": z} if sum else {})}
    node = helper.make_node("FusedConv", ["x", "w", "b"] + (["z"] if sum else []), ["y"], domain="com.microsoft", **attributes)
    model = model_of([node], inputs, [("y", TensorProto.FLOAT)], {"w": w, "b": b})
    close(Executor(model).run(feeds)[0], reference(model, feeds)[0], 1e-5)


def test_a_chain_keeps_the_blocked_layout_and_sums_do_not_overwrite_shared_values():
    random = np.random.default_rng(SEED)
    x = random.standard_normal((1, 16, 12, 12), np.float32)
    constants = {f"w{i}": random.standard_normal((16, 16, 3, 3), np.float32) / 12 for i in range(3)}
    conv = lambda i, *names: helper.make_node("FusedConv", [names[0], f"w{i}", "", *names[2:]], [names[1]], domain="com.microsoft",
                                              pads=[1, 1, 1, 1], activation="Relu")
    nodes = [conv(0, "x", "a"), conv(1, "a", "b", "a"), conv(2, "b", "y", "a"), helper.make_node("Identity", ["b"], ["c"])]
    model = model_of(nodes, [("x", TensorProto.FLOAT, x.shape)], [("y", TensorProto.FLOAT), ("c", TensorProto.FLOAT)], constants)
    executor, wanted = Executor(model), reference(model, {"x": x})
    for _ in range(3):
        for got, other in zip(executor.run([x]), wanted):
            close(got, other)


TRANSPOSED = [  # channels, outputs, groups, attributes
    (16, 24, 1, dict(kernel_shape=[2, 2], strides=[2, 2])), (8, 3, 1, dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1],
                                                                           output_padding=[1, 1])),
    (12, 8, 2, dict(kernel_shape=[4, 3], strides=[3, 1], dilations=[1, 2], pads=[0, 1, 2, 0])),
    (32, 16, 2, dict(kernel_shape=[3, 3], strides=[1, 2])), (4, 4, 4, dict(kernel_shape=[3, 3], output_shape=[23, 21], strides=[2, 2])),
    (5, 8, 1, dict(kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 2])),
    (5, 8, 1, dict(kernel_shape=[3], strides=[2])), (8, 8, 1, dict(kernel_shape=[2, 3, 2], strides=[2, 1, 2])),
    # Windows that do not overlap, and few outputs: all phases are one convolution.
    (16, 1, 1, dict(kernel_shape=[2, 2], strides=[2, 2])), (5, 3, 1, dict(kernel_shape=[2, 4], strides=[2, 4])),
    (8, 7, 1, dict(kernel_shape=[3, 3], strides=[3, 3], auto_pad="VALID")), (9, 2, 1, dict(kernel_shape=[5], strides=[5])),
    (3, 1, 1, dict(kernel_shape=[2, 3, 2], strides=[2, 3, 2]))]


@pytest.mark.parametrize("number", range(len(TRANSPOSED)))
@pytest.mark.parametrize("constant", [True, False])
def test_transposed_convolution_matches_onnx_runtime(number, constant):
    random = np.random.default_rng([SEED, number])
    channels, outputs, groups, attributes = TRANSPOSED[number]
    x = random.standard_normal((2, channels, *[11, 10, 9][:len(attributes["kernel_shape"])]), np.float32)
    w = random.standard_normal((channels, outputs // groups, *attributes["kernel_shape"]), np.float32)
    bias = random.standard_normal(outputs, np.float32)
    inputs = [("x", TensorProto.FLOAT, x.shape)] + ([] if constant else [("w", TensorProto.FLOAT, w.shape)])
    feeds = {"x": x} if constant else {"x": x, "w": w}
    model = model_of([helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], group=groups, **attributes)], inputs,
                     [("y", TensorProto.FLOAT)], {"w": w, "b": bias} if constant else {"b": bias})
    close(Executor(model).run(feeds)[0], reference(model, feeds)[0])
    np.testing.assert_array_equal(Executor(model).run(feeds)[0], Executor(model, threads=3).run(feeds)[0])


@pytest.mark.parametrize("attributes,shape,weight", [
    ({"group": 0}, (1, 8, 5, 5), (8, 8, 3, 3)), ({"group": 3}, (1, 8, 5, 5), (8, 8, 3, 3)),
    ({"strides": [0, 1]}, (1, 8, 5, 5), (8, 8, 3, 3)), ({"pads": [-1, 0, 0, 0]}, (1, 8, 5, 5), (8, 8, 3, 3)),
    ({"pads": [1 << 62] * 4}, (1, 8, 5, 5), (8, 8, 3, 3)), ({"pads": [(1 << 31) - 1] * 4}, (1, 8, 5, 5), (8, 8, 3, 3)),
    ({"dilations": [1 << 40, 1]}, (1, 8, 5, 5), (8, 8, 3, 3)), ({}, (1, 8, 2, 5), (8, 8, 3, 3)), ({}, (1, 7, 5, 5), (8, 8, 3, 3)),
    ({"kernel_shape": [2, 2]}, (1, 8, 5, 5), (8, 8, 3, 3)), ({"kernel_shape": [3]}, (1, 8, 5, 5), (8, 8, 3, 3)),
    ({}, (1, 8, 5, 5), (8, 8, 3)), ({}, (1, 0, 5, 5), (8, 0, 3, 3))])
def test_mismatched_inputs_are_an_error(attributes, shape, weight):
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"], **attributes)],
                     [("x", TensorProto.FLOAT, None)], [("y", TensorProto.FLOAT)], {"w": np.zeros(weight, np.float32)})
    with pytest.raises(ExecutorError):
        Executor(model, max_memory=1 << 30).run([np.zeros(shape, np.float32)])
