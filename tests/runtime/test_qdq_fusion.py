"""DequantizeLinear → operator → QuantizeLinear runs in integers, and stays within one step of the nodes by themselves."""
import random

import numpy as np
import pytest
from executing import Executor
from onnx import TensorProto, helper, numpy_helper

SEED = random.randrange(2**32)
TYPES = {np.uint8: (0, 255), np.int8: (-128, 127)}


class Graph:
    """A model that is being drawn: quantized inputs, one operator, a quantized output."""

    def __init__(self, rng, kind):
        self.rng, self.kind = rng, kind
        self.nodes, self.constants, self.inputs, self.feeds = [], {}, [], {}

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def parameters(self, scale=None, zero=None):
        low, high = TYPES[self.kind]
        scale = self.rng.uniform(0.005, 0.05) if scale is None else scale
        zero = self.rng.integers(low, high + 1) if zero is None else zero
        return [self.constant(np.float32(scale)), self.constant(self.kind(zero))]

    def activation(self, shape, parameters=None):
        """A quantized input, dequantized."""
        name = f"x{len(self.inputs)}"
        low, high = TYPES[self.kind]
        self.feeds[name] = self.rng.integers(low, high + 1, shape).astype(self.kind)
        number = helper.np_dtype_to_tensor_dtype(np.dtype(self.kind))
        self.inputs.append(helper.make_tensor_value_info(name, number, shape))
        return self.add("DequantizeLinear", [name] + (parameters or self.parameters()))

    def weight(self, shape, axis=None):
        """Constant weights; a scale for each index of `axis`, if there is one."""
        codes = self.constant(self.rng.integers(-127, 128, shape).astype(np.int8))
        count = () if axis is None else (shape[axis],)
        self.weight_scale = self.rng.uniform(0.001, 0.01, count).astype(np.float32)
        extra = {} if axis is None else {"axis": axis}
        zeros = self.constant(np.zeros(count, np.int8))
        return self.add("DequantizeLinear", [codes, self.constant(self.weight_scale), zeros], **extra)

    def bias(self, count, input_scale):
        scale = np.broadcast_to(np.float32(input_scale) * self.weight_scale, (count,)).astype(np.float32)
        codes = self.constant(self.rng.integers(-2000, 2000, count).astype(np.int32))
        return self.add("DequantizeLinear", [codes, self.constant(scale), self.constant(np.zeros(count, np.int32))], axis=0)

    def add(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def model(self, value, parameters):
        out = self.add("QuantizeLinear", [value] + parameters)
        number = helper.np_dtype_to_tensor_dtype(np.dtype(self.kind))
        tensors = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "g", self.inputs, [helper.make_tensor_value_info(out, number, None)], tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def conv(g, group=1, depthwise=False, bias=True, relu=False, per_channel=True, one_by_one=False):
    channels = int(g.rng.integers(1, 5)) * (group if not depthwise else 1) * 2
    group = channels if depthwise else group
    outputs = channels if depthwise else int(g.rng.integers(1, 9)) * group
    size = 1 if one_by_one else 3
    parameters = g.parameters()
    x = g.activation((int(g.rng.integers(1, 3)), channels, int(g.rng.integers(3, 12)), int(g.rng.integers(3, 12))), parameters)
    w = g.weight((outputs, channels // group, size, size), 0 if per_channel else None)
    inputs = [x, w] + ([g.bias(outputs, g.constants[parameters[0]])] if bias else [])
    stride = int(g.rng.integers(1, 3))
    y = g.add("Conv", inputs, group=group, pads=[size // 2] * 4, strides=[stride, stride])
    low, _ = TYPES[g.kind]
    if relu:
        y = g.add("Relu", [y])
    return y, g.parameters(zero=low if relu else None)


def conv_transpose(g, group=1, apart=False, axes=2):
    """`apart`: every output is reached by one input."""
    channels, outputs, size = int(g.rng.integers(1, 5)) * group, int(g.rng.integers(1, 9)), int(g.rng.integers(2, 4))
    parameters = g.parameters()
    x = g.activation((2, channels, *(int(n) for n in g.rng.integers(2, 8, axes))), parameters)
    w = g.weight((channels, outputs, *[size] * axes), 1 if group == 1 else None)
    more = {"strides": [size] * axes} if apart else {
        "strides": [int(g.rng.integers(1, 3))] * axes, "pads": [1] * (2 * axes), "dilations": [int(g.rng.integers(1, 3))] * axes}
    return g.add("ConvTranspose", [x, w, g.bias(outputs * group, g.constants[parameters[0]])], group=group, **more), g.parameters()


def matmul(g, weights=True, gemm=False):
    m, k, n = (int(v) for v in g.rng.integers(1, 40, 3))
    if gemm:
        parameters = g.parameters()
        a, b = g.activation((m, k), parameters), g.weight((n, k), 0)
        return g.add("Gemm", [a, b, g.bias(n, g.constants[parameters[0]])], transB=1), g.parameters()
    a = g.activation((2, m, k))
    b = g.weight((k, n)) if weights else g.activation((2, k, n))
    return g.add("MatMul", [a, b]), g.parameters()


def pair(g, op, broadcast=False):
    a, b = g.activation((2, 8, 5, 7)), g.activation((1, 8, 1, 1) if broadcast else (2, 8, 5, 7))
    return g.add(op, [a, b]), g.parameters()


def concat(g):
    parts = [g.activation((1, int(c), 4, 3)) for c in g.rng.integers(1, 9, 3)]
    return g.add("Concat", parts, axis=1), g.parameters()


def one(g, op, **attributes):
    return g.add(op, [g.activation((1, 6, 8, 9))], **attributes), g.parameters()


def mover(g, op, inputs=(), shape=(1, 4, 6, 6), **attributes):
    parameters = g.parameters()
    return g.add(op, [g.activation(shape, parameters)] + [g.constant(value) for value in inputs], **attributes), parameters


CASES = {
    "conv": (conv, "QLinearConv"),
    "conv without bias": (lambda g: conv(g, bias=False), "QLinearConv"),
    "conv 1x1": (lambda g: conv(g, one_by_one=True), "QLinearConv"),
    "conv per tensor": (lambda g: conv(g, per_channel=False), "QLinearConv"),
    "conv and relu": (lambda g: conv(g, relu=True), "QLinearConv"),
    "grouped conv": (lambda g: conv(g, group=2), "QLinearConv"),
    "depthwise conv": (lambda g: conv(g, depthwise=True), "QLinearConv"),
    "conv transpose": (conv_transpose, "QLinearConvTranspose"),
    "conv transpose, apart": (lambda g: conv_transpose(g, apart=True), "QLinearConvTranspose"),
    "conv transpose in groups": (lambda g: conv_transpose(g, group=3), "QLinearConvTranspose"),
    "conv transpose, 1 axis": (lambda g: conv_transpose(g, axes=1), "QLinearConvTranspose"),
    "conv transpose, 3 axes": (lambda g: conv_transpose(g, axes=3, apart=True), "QLinearConvTranspose"),
    "matmul with weights": (matmul, "QLinearMatMul"),
    "matmul of two": (lambda g: matmul(g, weights=False), "QLinearMatMul"),
    "gemm": (lambda g: matmul(g, gemm=True), "QGemm"),
    "add": (lambda g: pair(g, "Add"), "QLinearAdd"),
    "add that broadcasts": (lambda g: pair(g, "Add", True), "QLinearAdd"),
    "mul": (lambda g: pair(g, "Mul"), "QLinearMul"),
    "mul that broadcasts": (lambda g: pair(g, "Mul", True), "QLinearMul"),
    "concat": (concat, "QLinearConcat"),
    "average pool": (lambda g: one(g, "AveragePool", kernel_shape=[2, 3], strides=[2, 2]), "QLinearAveragePool"),
    "global pool": (lambda g: one(g, "GlobalAveragePool"), "QLinearGlobalAveragePool"),
    "softmax": (lambda g: one(g, "Softmax", axis=-1), "QLinearSoftmax"),
    "hard swish": (lambda g: one(g, "HardSwish"), "LookUp"),
    "sigmoid": (lambda g: one(g, "Sigmoid"), "LookUp"),
    "tanh": (lambda g: one(g, "Tanh"), "LookUp"),
    "leaky relu": (lambda g: one(g, "LeakyRelu", alpha=0.1), "LookUp"),
    "max pool": (lambda g: mover(g, "MaxPool", kernel_shape=[2, 2]), "MaxPool"),
    "transpose": (lambda g: mover(g, "Transpose", perm=[0, 2, 3, 1]), "Transpose"),
    "reshape": (lambda g: mover(g, "Reshape", [np.array([4, -1], np.int64)]), "Reshape"),
    "resize": (lambda g: mover(g, "Resize", [np.array([], np.float32), np.array([1, 1, 2, 2], np.float32)], mode="nearest"),
               "Resize"),
}
EXACT = {"LookUp", "MaxPool", "Transpose", "Reshape", "Resize"}


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", CASES)
def test_fused_is_within_one_step_of_unfused(name, kind):
    draw, operator = CASES[name]
    for round_ in range(5):
        g = Graph(np.random.default_rng([SEED, round_]), kind)
        value, parameters = draw(g)
        model = g.model(value, parameters)
        fused = Executor(model)
        operators = [step.split(":")[1] for step in fused.steps()]
        assert operators == [operator], f"seed {SEED}: {operators}"
        got, = fused.run(g.feeds)
        wanted, = Executor(model, fuse=False).run(g.feeds)
        step = np.abs(got.astype(int) - wanted.astype(int)).max(initial=0)
        assert step <= (0 if operator in EXACT else 1), f"seed {SEED}, round {round_}: {step} steps apart"


def test_a_relu_that_matters_is_kept():
    g = Graph(np.random.default_rng(1), np.uint8)
    value, _ = conv(g)
    model = g.model(g.add("Relu", [value]), g.parameters(zero=100))
    got, = Executor(model).run(g.feeds)
    assert got.min() >= 100


def test_what_others_use_too_stays():
    """The operator's float result is an output as well: it cannot go."""
    g = Graph(np.random.default_rng(1), np.uint8)
    value, parameters = conv(g)
    model = g.model(value, parameters)
    model.graph.output.append(helper.make_tensor_value_info(value, TensorProto.FLOAT, None))
    fused, plain = Executor(model).run(g.feeds), Executor(model, fuse=False).run(g.feeds)
    assert np.array_equal(fused[0], plain[0]) and np.array_equal(fused[1], plain[1])


def within_one_step(model, feeds):
    got, = Executor(model).run(feeds)
    wanted, = Executor(model, fuse=False).run(feeds)
    return np.abs(got.astype(int) - wanted.astype(int)).max() <= 1


@pytest.mark.parametrize("bias", ["float", "integers of a scale of their own"])
def test_a_bias_finer_than_the_sums_is_not_rounded_to_them(bias):
    """The unit of sums, input scale × weight scale, is far above a step of the output."""
    g = Graph(np.random.default_rng(1), np.uint8)
    x = g.activation((1, 4, 5, 5), g.parameters(scale=1, zero=0))
    w = g.weight((3, 4, 1, 1), axis=0)
    g.constants[g.nodes[-1].input[0]][1] = 0  # a channel without weights has any scale
    g.constants[g.nodes[-1].input[1]][1] = 1
    values = np.array([0.4, -0.3, 0.2], np.float32)
    b = g.constant(values) if bias == "float" else g.add(
        "DequantizeLinear", [g.constant((values * 1000).astype(np.int32)), g.constant(np.float32(0.001))])
    assert within_one_step(g.model(g.add("Conv", [x, w, b]), g.parameters(scale=0.01, zero=100)), g.feeds)


@pytest.mark.parametrize("shape", [(4, 1), (1, 4), (4,), (), (4, 4)])
def test_a_bias_of_any_shape_is_added_where_it_belongs(shape):
    g = Graph(np.random.default_rng(2), np.uint8)
    x = g.activation((4, 6), g.parameters(scale=0.02, zero=128))
    w = g.weight((6, 4), axis=1)
    b = g.constant(g.rng.uniform(-1, 1, shape).astype(np.float32))
    assert within_one_step(g.model(g.add("Gemm", [x, w, b]), g.parameters(scale=0.01, zero=128)), g.feeds)


def test_a_value_for_places_beyond_the_border_is_no_code():
    g = Graph(np.random.default_rng(3), np.uint8)
    parameters = g.parameters(scale=0.02, zero=30)
    inputs = [g.activation((1, 2, 6, 6), parameters), g.constant(np.array([0, 0, -0.5, -0.5, 1, 1, 1.5, 1.5], np.float32)),
              g.constant(np.array([1, 1, 2, 2], np.float32))]
    value = g.add("Resize", inputs, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=2.0)
    assert within_one_step(g.model(value, parameters), g.feeds)
