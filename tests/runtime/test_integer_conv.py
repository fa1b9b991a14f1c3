"""Integer convolutions compared with exact sums in numpy."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor, ExecutorError
from test_conv import model_of

SEED = 20240603
TYPES = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}


def sums(x, w, x_zero, w_zero, groups, pads, strides, dilations):
    """Exact, in int64."""
    x = np.pad(x.astype(np.int64) - x_zero, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    w = w.astype(np.int64) - np.reshape(w_zero, (-1, 1, 1, 1))
    outputs, channels, kh, kw = w.shape
    height = (x.shape[2] - dilations[0] * (kh - 1) - 1) // strides[0] + 1
    width = (x.shape[3] - dilations[1] * (kw - 1) - 1) // strides[1] + 1
    result = np.zeros((x.shape[0], outputs, height, width), np.int64)
    per_group = outputs // groups
    for g in range(groups):
        part, taps = x[:, g * channels:(g + 1) * channels], w[g * per_group:(g + 1) * per_group]
        for i in range(kh):
            for j in range(kw):
                top, left = i * dilations[0], j * dilations[1]
                view = part[:, :, top:top + (height - 1) * strides[0] + 1:strides[0], left:left + (width - 1) * strides[1] + 1:strides[1]]
                result[:, g * per_group:(g + 1) * per_group] += np.einsum("nchw,oc->nohw", view, taps[:, :, i, j])
    return result


def requantized(total, bias, x_scale, w_scale, y_scale, y_zero, kind):
    m = np.float32(np.float64(x_scale) * np.float64(w_scale) / np.float64(y_scale)).reshape(1, -1, 1, 1)
    real = (total + bias.astype(np.int64).reshape(1, -1, 1, 1)).astype(np.float32) * m
    return np.clip(np.rint(real).astype(np.float64) + y_zero, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)


def numbers(random, kind, shape, extreme):
    info = np.iinfo(kind)
    if extreme:
        return random.choice([info.min, info.max], shape).astype(kind)
    return random.integers(info.min, info.max + 1, shape).astype(kind)


CASES = [  # channels, outputs, groups, kernel, size
    (3, 16, 1, (7, 7), 23), (16, 24, 1, (3, 3), 11), (64, 40, 1, (1, 1), 9), (24, 24, 24, (3, 3), 14), (20, 20, 20, (5, 5), 12),
    (8, 8, 8, (3, 3), 9), (12, 24, 12, (3, 3), 9), (32, 16, 2, (3, 3), 8), (5, 7, 1, (2, 3), 10), (600, 8, 1, (3, 3), 4)]


@pytest.mark.parametrize("x_kind", TYPES)
@pytest.mark.parametrize("w_kind", TYPES)
@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("constant", [True, False])
def test_sums_are_exact_and_requantized_once(x_kind, w_kind, number, constant):
    random = np.random.default_rng([SEED, number])
    channels, outputs, groups, kernel, size = CASES[number]
    pads, strides, dilations = [1, 0, 1, 2], [int(s) for s in random.integers(1, 3, 2)], [1, int(random.integers(1, 3))]
    y_kind = x_kind if number % 2 else w_kind
    x = numbers(random, x_kind, (2, channels, size, size), number % 3 == 0)
    w = numbers(random, w_kind, (outputs, channels // groups, *kernel), number % 3 == 0)
    per_channel = number % 2 == 0
    x_zero = numbers(random, x_kind, (), True)
    w_zero = numbers(random, w_kind, (outputs,) if per_channel else (), number % 4 == 0)
    w_scale = random.uniform(0.001, 0.01, (outputs,) if per_channel else ()).astype(np.float32)
    bias = random.integers(-100000, 100000, outputs).astype(np.int32)
    total = sums(x, w, x_zero.astype(np.int64), w_zero.astype(np.int64), groups, pads, strides, dilations)
    x_scale, y_scale = np.float32(0.02), np.float32(0.01 * max(1.0, np.abs(total).max() / 30000))
    y_zero = numbers(random, y_kind, (), False)
    constants = {"xs": x_scale, "xz": x_zero, "w": w, "ws": w_scale, "wz": w_zero, "ys": y_scale, "yz": y_zero, "b": bias}
    inputs, feeds = [("x", TYPES[x_kind], x.shape)], {"x": x}
    if not constant:
        inputs.append(("w", TYPES[w_kind], w.shape))
        feeds["w"] = constants.pop("w")
    attributes = dict(group=groups, pads=pads, strides=strides, dilations=dilations)
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], **attributes)
    model = model_of([node], inputs, [("y", TYPES[y_kind])], constants)
    wanted = requantized(total, bias, x_scale, w_scale, y_scale, y_zero.astype(np.int64), y_kind)
    for threads in (1, 3):
        np.testing.assert_array_equal(Executor(model, threads=threads).run(feeds)[0], wanted)
    node = helper.make_node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], **attributes)
    kept = {name: value for name, value in constants.items() if name in ("w", "xz", "wz")}
    model = model_of([node], inputs, [("y", TensorProto.INT32)], kept)
    np.testing.assert_array_equal(Executor(model).run(feeds)[0], total.astype(np.int32))


@pytest.mark.parametrize("w_kind, w_zero", [(np.uint8, 128), (np.int8, 0), (np.uint8, 0), (np.int8, 3)])
@pytest.mark.parametrize("channels", [1, 3, 5, 8])
def test_rows_of_any_length_with_any_weight_zero_point(w_kind, w_zero, channels):
    random = np.random.default_rng([SEED, channels])
    x, w = numbers(random, np.uint8, (2, channels, 9, 10), False), numbers(random, w_kind, (8, channels, 3, 3), False)
    node = helper.make_node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], pads=[1] * 4)
    model = model_of([node], [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.INT32)],
                     {"w": w, "xz": np.uint8(113), "wz": w_kind(w_zero)})
    np.testing.assert_array_equal(Executor(model).run({"x": x})[0], sums(x, w, 113, w_zero, 1, [1] * 4, [1, 1], [1, 1]))


@pytest.mark.parametrize("w_kind, w_zero", [(np.int8, 0), (np.uint8, 128), (np.uint8, 255)])
@pytest.mark.parametrize("channels, outputs, size", [(16, 16, 12), (48, 20, 13), (1826, 16, 10)])
@pytest.mark.parametrize("extreme", [False, True])
def test_three_by_three_kernels_with_many_channels_are_exact(w_kind, w_zero, channels, outputs, size, extreme):
    random = np.random.default_rng([SEED, channels])
    x, w = numbers(random, np.uint8, (2, channels, size, size), extreme), numbers(random, w_kind, (outputs, channels, 3, 3), extreme)
    if extreme:  # the same sign: the largest sums
        x[:], w[:] = 255, np.iinfo(w_kind).min
    node = helper.make_node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], pads=[1, 2, 0, 1])
    model = model_of([node], [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.INT32)],
                     {"w": w, "xz": np.uint8(0), "wz": w_kind(w_zero)})
    total = sums(x, w, 0, w_zero, 1, [1, 2, 0, 1], [1, 1], [1, 1])
    np.testing.assert_array_equal(Executor(model).run({"x": x})[0], total)


@pytest.mark.parametrize("groups", [1, 16])
def test_one_executor_accepts_inputs_of_many_sizes_in_any_order(groups):
    random = np.random.default_rng(SEED)
    w = numbers(random, np.int8, (16, 16 // groups, 3, 3), False)
    node = helper.make_node("ConvInteger", ["x", "w", "xz"], ["y"], pads=[1] * 4, group=groups)
    model = model_of([node], [("x", TensorProto.UINT8, (None, 16, None, None))], [("y", TensorProto.INT32)], {"w": w, "xz": np.uint8(9)})
    executor = Executor(model)
    for size in [*range(3, 23), 3, 22, 7, 8, 7]:  # more sizes than are cached, small and large ones, batches of 0 to 2
        x = numbers(random, np.uint8, (size % 3, 16, size, size + 1), False)
        np.testing.assert_array_equal(executor.run({"x": x})[0], sums(x, w, 9, np.int64(0), groups, [1] * 4, [1, 1], [1, 1]))


@pytest.mark.parametrize("low", [False, True])
def test_long_sums_of_extreme_values_are_exact(low):
    channels = 60000
    x = np.full((1, channels, 1, 2), 0 if low else 255, np.uint8)
    w = np.full((16, channels, 1, 1), -128 if low else 127, np.int8)
    x_zero = np.uint8(255 if low else 0)
    node = helper.make_node("ConvInteger", ["x", "w", "xz"], ["y"])
    model = model_of([node], [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.INT32)], {"w": w, "xz": x_zero})
    total = channels * (255 * 128 if low else 255 * 127)
    np.testing.assert_array_equal(Executor(model).run([x])[0], np.full((1, 16, 1, 2), total, np.int64).astype(np.int32))


@pytest.mark.parametrize("bias", [2**31 - 1, -2**31])
@pytest.mark.parametrize("groups", [1, 32])
def test_a_bias_at_the_end_of_its_range_does_not_wrap(bias, groups):
    x = np.full((1, 32, 4, 4), 255 if bias > 0 else 0, np.uint8)
    w = np.full((32, 32 // groups, 3, 3), 127, np.int8)
    constants = {"xs": np.float32(1), "xz": np.uint8(0 if bias > 0 else 255), "w": w, "ws": np.float32(1), "wz": np.int8(0),
                 "ys": np.float32(2.0**25), "yz": np.int8(0), "b": np.full(32, bias, np.int32)}
    node = helper.make_node("QLinearConv", ["x", *constants], ["y"], group=groups)
    model = model_of([node], [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.INT8)], constants)
    total = sums(x, w, int(constants["xz"]), np.int64(0), groups, [0] * 4, [1, 1], [1, 1])
    wanted = requantized(total, constants["b"], np.float32(1), np.float32(1), constants["ys"], 0, np.int8)
    np.testing.assert_array_equal(Executor(model).run([x])[0], wanted)


def test_a_chain_of_quantized_layers_keeps_its_channels_last():
    random = np.random.default_rng(SEED)
    x = numbers(random, np.uint8, (1, 16, 12, 12), False)
    quantization = {"s": np.float32(0.02), "z": np.uint8(120), "ws": np.float32(0.01), "wz": np.int8(0)}
    weights = {"w0": numbers(random, np.int8, (32, 16, 3, 3), False), "w1": numbers(random, np.int8, (32, 1, 3, 3), False)}
    conv = lambda x, w, y, **attributes: helper.make_node("QLinearConv", [x, "s", "z", w, "ws", "wz", "s", "z"], [y], **attributes)
    nodes = [conv("x", "w0", "a"), helper.make_node("MaxPool", ["a"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             conv("p", "w1", "y", group=32)]
    model = model_of(nodes, [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.UINT8)], {**quantization, **weights})
    step = lambda x, w, groups: requantized(sums(x, w, 120, np.int64(0), groups, [0] * 4, [1, 1], [1, 1]), np.zeros(32, np.int32),
                                            np.float32(0.02), np.float32(0.01), np.float32(0.02), 120, np.uint8)
    a = step(x, weights["w0"], 1)
    pooled = a.reshape(1, 32, 5, 2, 5, 2).max((3, 5))
    np.testing.assert_array_equal(Executor(model).run([x])[0], step(pooled, weights["w1"], 32))


@pytest.mark.parametrize("change", [{"ws": np.float32([1, 2, 3])}, {"ys": np.float32(0)}, {"xz": np.int8(0)}, {"b": np.zeros(7, np.int32)},
                                    {"xs": np.float32(np.nan)}, {"wz": np.zeros(5, np.int8)}, {"yz": np.int32(0)}])
def test_mismatched_parameters_are_errors(change):
    constants = {"xs": np.float32(1), "xz": np.uint8(0), "w": np.ones((8, 8, 3, 3), np.int8), "ws": np.float32(1),
                 "wz": np.int8(0), "ys": np.float32(1), "yz": np.uint8(0), "b": np.zeros(8, np.int32), **change}
    node = helper.make_node("QLinearConv", ["x", *constants], ["y"])
    model = model_of([node], [("x", TensorProto.UINT8, (1, 8, 5, 5))], [("y", TensorProto.UINT8)], constants)
    with pytest.raises(ExecutorError):
        Executor(model).run([np.zeros((1, 8, 5, 5), np.uint8)])


@pytest.mark.parametrize("kernel, pads, strides", [
    ((1, 3, 3), (0, 1, 1, 0, 1, 1), (1, 1, 1)), ((1, 1, 3), (0, 0, 0, 0, 0, 0), (1, 1, 1)), ((1, 1, 1), (0, 0, 0, 0, 0, 0), (2, 2, 2)),
    ((1, 1, 1), (1, 0, 0, 1, 0, 0), (1, 1, 1)), ((3, 1, 1), (1, 0, 0, 1, 0, 0), (1, 1, 1)), ((1, 2, 2), (0, 0, 0, 0, 0, 0), (1, 2, 2))])
@pytest.mark.parametrize("size", [(4, 6, 6), (16, 32, 32)])
def test_flat_kernels_in_a_3d_volume(kernel, pads, strides, size):
    random = np.random.default_rng(SEED)
    x, w = numbers(random, np.uint8, (1, 8, *size), False), numbers(random, np.int8, (8, 8, *kernel), False)
    node = helper.make_node("ConvInteger", ["x", "w", "z"], ["y"], pads=pads, strides=strides)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.INT32, None)],
                              [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.uint8(7), "z")])
    got, = Executor(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)).run({"x": x})
    padded = np.pad(x.astype(np.int64) - 7, [(0, 0), (0, 0), *zip(pads[:3], pads[3:])])
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, (2, 3, 4))[:, :, ::strides[0], ::strides[1], ::strides[2]]
    np.testing.assert_array_equal(got, np.einsum("ncdhwijk,ocijk->nodhw", windows, w.astype(np.int64)))


ODD_CONSTANTS = {
    "xs": [np.zeros(0, np.float32), np.int8(1), np.ones(2, np.float32)],
    "xz": [np.zeros(0, np.int8), np.float32(0), np.int16(0)],
    "w": [np.ones((2, 3), np.int8), np.ones((0, 3, 2, 2), np.int8), np.ones((2, 3, 2, 2), np.float32), np.int8(1)],
    "ws": [np.zeros(0, np.float32), np.ones(2, np.float32), np.int8(1)],
    "wz": [np.zeros(2, np.int8), np.zeros(0, np.int8), np.uint8(0)],
    "ys": [np.zeros(0, np.float32), np.int8(0)],
    "yz": [np.zeros(0, np.int8), np.float32(0)],
    "b": [np.zeros(0, np.int32), np.zeros(1, np.int32), np.zeros(3, np.float32)],
}


@pytest.mark.parametrize("op", ["QLinearConv", "QLinearConvTranspose"])
def test_operators_of_fusions_check_constants_from_files(op):
    """Constants of other types, or fewer than channels, must not be read out of bounds."""
    def run(**changed):
        shape = (3, 2, 2, 2) if op == "QLinearConv" else (2, 3, 2, 2)
        constants = dict(xs=np.float32(0.1), xz=np.int8(0), w=np.ones(shape, np.int8), ws=np.float32(0.1), wz=np.int8(0),
                         ys=np.float32(0.1), yz=np.int8(0), b=np.zeros(3, np.int32)) | changed
        graph = helper.make_graph(
            [helper.make_node(op, ["x", *constants], ["y"], domain="ai.anybit")], "g",
            [helper.make_tensor_value_info("x", TensorProto.INT8, (1, 2, 4, 4))],
            [helper.make_tensor_value_info("y", TensorProto.INT8, None)],
            [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.anybit", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        return Executor(model).run({"x": np.ones((1, 2, 4, 4), np.int8)})[0]

    assert run().shape[:2] == (1, 3)
    for name, values in ODD_CONSTANTS.items():
        for value in values:
            with pytest.raises(ExecutorError):
                run(**{name: value})
