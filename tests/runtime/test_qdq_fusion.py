"""DequantizeLinear → operator → QuantizeLinear runs in integers, within one quantization step of the unfused nodes."""
import random

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor

SEED = random.randrange(2**32)
TYPES = {np.uint8: (0, 255), np.int8: (-128, 127)}
WIDE_TYPES = {np.uint16: (0, 65535), np.int16: (-32768, 32767)}
RANGES = TYPES | WIDE_TYPES


class Graph:
    """Builder of a random model: quantized inputs, one operator, a quantized output."""

    def __init__(self, rng, kind, weight_kind=np.int8):
        self.rng, self.kind, self.weight_kind = rng, kind, weight_kind
        self.nodes, self.constants, self.inputs, self.feeds = [], {}, [], {}

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def parameters(self, scale=None, zero=None):
        low, high = RANGES[self.kind]
        scale = self.rng.uniform(1, 10) / (high - low) if scale is None else scale
        zero = self.rng.integers(low, high + 1) if zero is None else zero
        return [self.constant(np.float32(scale)), self.constant(self.kind(zero))]

    def activation(self, shape, parameters=None):
        """A quantized input, dequantized."""
        name = f"x{len(self.inputs)}"
        low, high = RANGES[self.kind]
        self.feeds[name] = self.rng.integers(low, high + 1, shape).astype(self.kind)
        number = helper.np_dtype_to_tensor_dtype(np.dtype(self.kind))
        self.inputs.append(helper.make_tensor_value_info(name, number, shape))
        return self.add("DequantizeLinear", [name] + (parameters or self.parameters()))

    def weight(self, shape, axis=None):
        """Constant weights; one scale per index of `axis`, if given."""
        most = RANGES[self.weight_kind][1]
        quantized = self.constant(self.rng.integers(-most, most + 1, shape).astype(self.weight_kind))
        count = () if axis is None else (shape[axis],)
        self.weight_scale = (self.rng.uniform(0.1, 1, count) / most).astype(np.float32)
        extra = {} if axis is None else {"axis": axis}
        zeros = self.constant(np.zeros(count, self.weight_kind))
        return self.add("DequantizeLinear", [quantized, self.constant(self.weight_scale), zeros], **extra)

    def bias(self, count, input_scale):
        scale = np.broadcast_to(np.float32(input_scale) * self.weight_scale, (count,)).astype(np.float32)
        quantized = self.constant(self.rng.integers(-2000, 2000, count).astype(np.int32))
        return self.add("DequantizeLinear", [quantized, self.constant(scale), self.constant(np.zeros(count, np.int32))], axis=0)

    def add(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def model(self, value, parameters):
        out = self.add("QuantizeLinear", [value] + parameters)
        number = helper.np_dtype_to_tensor_dtype(np.dtype(self.kind))
        tensors = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "g", self.inputs, [helper.make_tensor_value_info(out, number, None)], tensors)
        opset = 17 if self.kind in TYPES else 21  # the first with 16 bits
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


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
    low, _ = RANGES[g.kind]
    if relu:
        y = g.add("Relu", [y])
    return y, g.parameters(zero=low if relu else None)


def clamped(g, draw, op="Relu"):
    """With a Relu or Clip that clips integers: the zero point is inside the range."""
    value, _ = draw(g)
    low, high = RANGES[g.kind]
    bounds = [] if op == "Relu" else [g.constant(np.float32(-0.3)), g.constant(np.float32(0.4))]
    return g.add(op, [value] + bounds), g.parameters(zero=g.rng.integers(low + (high - low) // 3, high - (high - low) // 3))


def behind(g, draw, op):
    """An activation between the linear operator and QuantizeLinear; results use the whole integer range."""
    value, _ = draw(g)
    low, high = RANGES[g.kind]
    return g.add(op, [value]), g.parameters(scale=2 / (high - low) if op in ("Tanh", "Sigmoid") else 10 / (high - low))


def conv_transpose(g, group=1, apart=False, axes=2):
    """`apart`: every output depends on one input."""
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


def concat(g, parameters=None):
    parts = [g.activation((1, int(c), 4, 3), parameters) for c in g.rng.integers(1, 9, 3)]
    return g.add("Concat", parts, axis=1), parameters or g.parameters()


def one(g, op, **attributes):
    return g.add(op, [g.activation((1, 6, 8, 9))], **attributes), g.parameters()


def reduce_mean(g, axes, keep=1, shape=(2, 6, 5, 7)):
    """Axes are an attribute before opset 18, which the 8-bit models use."""
    x, axes = g.activation(shape), g.rng.permutation(axes)
    if g.kind in TYPES:
        return g.add("ReduceMean", [x], axes=axes.tolist(), keepdims=keep), g.parameters()
    return g.add("ReduceMean", [x, g.constant(axes.astype(np.int64))], keepdims=keep), g.parameters()


def resized(g, *, scales=(1, 1, 1.7, 0.6), **attributes):
    return mover(g, "Resize", [np.array([], np.float32), np.array(scales, np.float32)], shape=(1, 3, 9, 11), **attributes)


def mover(g, op, inputs=(), shape=(1, 4, 6, 6), **attributes):
    parameters = g.parameters()
    return g.add(op, [g.activation(shape, parameters)] + [g.constant(value) for value in inputs], **attributes), parameters


def mover_and_relu(g, *of, **attributes):
    low, high = RANGES[g.kind]
    parameters = g.parameters(zero=low + (high - low) // 3)
    return g.add("Relu", [g.add(of[0], [g.activation((1, 4, 6, 6), parameters)], **attributes)]), parameters


CASES = {
    "conv": (conv, "QLinearConv"),
    "conv without bias": (lambda g: conv(g, bias=False), "QLinearConv"),
    "conv 1x1": (lambda g: conv(g, one_by_one=True), "QLinearConv"),
    "conv per tensor": (lambda g: conv(g, per_channel=False), "QLinearConv"),
    "conv and relu": (lambda g: conv(g, relu=True), "QLinearConv"),
    "conv and relu above the least code": (lambda g: clamped(g, conv), "QLinearConv Clip"),
    "conv and clip": (lambda g: clamped(g, conv, "Clip"), "QLinearConv Clip"),
    "depthwise conv and relu": (lambda g: clamped(g, lambda g: conv(g, depthwise=True)), "QLinearConv Clip"),
    "conv transpose and relu": (lambda g: clamped(g, conv_transpose), "QLinearConvTranspose Clip"),
    "gemm and relu": (lambda g: clamped(g, lambda g: matmul(g, gemm=True)), "QGemm Clip"),
    "matmul and clip": (lambda g: clamped(g, matmul, "Clip"), "QLinearMatMul Clip"),
    "add and relu": (lambda g: clamped(g, lambda g: pair(g, "Add")), "QLinearAdd Clip"),
    "conv and hard swish": (lambda g: behind(g, conv, "HardSwish"), "QLinearConv LookUp"),
    "conv and leaky relu": (lambda g: behind(g, lambda g: conv(g, bias=False), "LeakyRelu"), "QLinearConv LookUp"),
    "gemm and sigmoid": (lambda g: behind(g, lambda g: matmul(g, gemm=True), "Sigmoid"), "QGemm LookUp"),
    "matmul and elu": (lambda g: behind(g, matmul, "Elu"), "QLinearMatMul LookUp"),
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
    "concat of the same parameters": (lambda g: concat(g, g.parameters()), "Concat"),
    "average pool": (lambda g: one(g, "AveragePool", kernel_shape=[2, 3], strides=[2, 2]), "QLinearAveragePool"),
    "global pool": (lambda g: one(g, "GlobalAveragePool"), "QLinearGlobalAveragePool"),
    "mean over space": (lambda g: reduce_mean(g, [2, 3]), "QLinearReduceMean"),
    "mean over space, counted from the end": (lambda g: reduce_mean(g, [-1, -2], keep=0), "QLinearReduceMean"),
    "mean over channels": (lambda g: reduce_mean(g, [1], shape=(2, 300, 2, 3)), "QLinearReduceMean"),
    "mean over two axes apart": (lambda g: reduce_mean(g, [0, 2]), "QLinearReduceMean"),
    "softmax": (lambda g: one(g, "Softmax", axis=-1), "QLinearSoftmax"),
    "hard swish": (lambda g: one(g, "HardSwish"), "LookUp"),
    "sigmoid": (lambda g: one(g, "Sigmoid"), "LookUp"),
    "tanh": (lambda g: one(g, "Tanh"), "LookUp"),
    "leaky relu": (lambda g: one(g, "LeakyRelu", alpha=0.1), "LookUp"),
    "max pool": (lambda g: mover(g, "MaxPool", kernel_shape=[2, 2]), "MaxPool"),
    "max pool and relu": (lambda g: mover_and_relu(g, "MaxPool", kernel_shape=[2, 2]), "MaxPool Clip"),
    "global max pool": (lambda g: mover(g, "GlobalMaxPool"), "GlobalMaxPool"),
    "transpose": (lambda g: mover(g, "Transpose", perm=[0, 2, 3, 1]), "Transpose"),
    "reshape": (lambda g: mover(g, "Reshape", [np.array([4, -1], np.int64)]), "Reshape"),
    "nearest resize": (lambda g: mover(g, "Resize", [np.array([], np.float32), np.array([1, 1, 2, 2], np.float32)], mode="nearest"),
               "Resize"),
    "linear resize": (lambda g: resized(g, mode="linear"), "Resize"),
    "linear resize to corners": (
        lambda g: resized(g, mode="linear", coordinate_transformation_mode="align_corners"), "Resize"),
    "cubic resize": (lambda g: resized(g, mode="cubic"), "Resize"),
    "cubic resize without the outside": (lambda g: resized(g, mode="cubic", exclude_outside=1), "Resize"),
    "linear resize of one axis": (lambda g: resized(g, mode="linear", scales=(1, 1, 1, 2)), "Resize"),
    "largest": (lambda g: mover(g, "ReduceMax", keepdims=0), "ReduceMax"),
    "gather of tuples": (lambda g: mover(g, "GatherND", [np.array([[0, 3], [0, 1]])]), "GatherND"),
    "gather of elements": (lambda g: mover(g, "GatherElements", [np.full((1, 4, 6, 2), -3)], axis=3), "GatherElements"),
    "reversed": (lambda g: mover(g, "ReverseSequence", [np.array([3])], time_axis=1, batch_axis=0), "ReverseSequence"),
    "compressed": (lambda g: mover(g, "Compress", [np.array([True, False, True, True])], axis=1), "Compress"),
}
EXACT = {"LookUp", "MaxPool", "MaxPool Clip", "GlobalMaxPool", "ReduceMax", "Concat", "Transpose", "Reshape", "GatherND",
         "GatherElements", "ReverseSequence", "Compress"}
# Operators without a 16-bit kernel stay in float; so do activations after linear operators, which int16 is too coarse for.
WIDE_CASES = ["conv transpose, apart", "conv transpose, 3 axes"] + [
    name for name, (_, operator) in CASES.items()
    if not operator.endswith(" LookUp") and operator.split()[0] not in ("QLinearConvTranspose", "QLinearConcat", "QLinearSoftmax")]


def drop_zero_points(model, opset=21):
    """The same model with all zero points set to 0 and left out."""
    kinds = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            if node.op_type == "QuantizeLinear":
                node.attribute.append(helper.make_attribute("output_dtype", kinds[node.input[2]].data_type))
            del node.input[2:]
    model.opset_import[0].version = opset
    return model


def steps_apart(fused, model, feeds):
    got, = fused.run(feeds)
    wanted, = Executor(model, fuse=False).run(feeds)
    return np.abs(got.astype(int) - wanted.astype(int)).max(initial=0)


@pytest.mark.parametrize("kind", RANGES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", ["conv", "gemm", "matmul of two", "add", "average pool", "hard swish", "max pool"])
def test_a_missing_zero_point_is_zero(name, kind):
    draw, operator = CASES[name]
    g = Graph(np.random.default_rng(SEED), kind)
    model = drop_zero_points(g.model(*draw(g)))
    fused = Executor(model)
    assert [step.split(":")[1] for step in fused.steps()] == [operator], f"seed {SEED}"
    assert steps_apart(fused, model, g.feeds) <= 1, f"seed {SEED}"


@pytest.mark.parametrize("function", ["HardSwish", "Gelu", "Mish"])
def test_a_dip_between_two_int16_values_is_not_lost(function):
    """The range of sums may be so large that one int16 step is wider than the activation's dip below zero."""
    g = Graph(np.random.default_rng(1), np.int8)
    x = g.activation((64, 300), g.parameters(4.0, 0))
    quantized = g.rng.integers(-127, 128, (300, 16)).astype(np.int8)
    w = g.add("DequantizeLinear", [g.constant(quantized), g.constant(np.float32(4 / 127)), g.constant(np.int8(0))])
    g.feeds["x0"] = g.rng.integers(-2, 3, (64, 300)).astype(np.int8)
    y = g.add(function, [g.add("MatMul", [x, w])])
    model = g.model(y, g.parameters(0.4 / 255, 127))
    model.opset_import[0].version = 22
    assert steps_apart(Executor(model), model, g.feeds) <= 1


def test_quantizers_of_onnx_runtime_fuse_as_well():
    """Its tools write 16-bit Q/DQ, and all Q/DQ before opset 21, in their own domain."""
    g = Graph(np.random.default_rng(SEED), np.uint8)
    model = g.model(*conv(g))
    for node in model.graph.node:
        node.domain = "com.microsoft" if "Linear" in node.op_type else ""
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    fused = Executor(model)
    assert fused.steps() == [":QLinearConv"], f"seed {SEED}"
    assert steps_apart(fused, model, g.feeds) <= 1, f"seed {SEED}"


def check_fused(name, kind, weight_kind=np.int8):
    draw, operator = CASES[name]
    for round_ in range(5):
        g = Graph(np.random.default_rng([SEED, round_]), kind, weight_kind)
        value, parameters = draw(g)
        model = g.model(value, parameters)
        fused = Executor(model)
        operators = [step.split(":")[1] for step in fused.steps()]
        assert operators == operator.split(), f"seed {SEED}: {operators}"
        step = steps_apart(fused, model, g.feeds)
        exact = operator in EXACT or name == "nearest resize"
        assert step <= (0 if exact else 1), f"seed {SEED}, round {round_}: {step} steps apart"


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", CASES)
def test_fused_is_within_one_step_of_unfused(name, kind):
    check_fused(name, kind)


@pytest.mark.parametrize("kind", WIDE_TYPES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", WIDE_CASES)
def test_16_bit_activations_with_8_bit_weights_are_within_one_step(name, kind):
    check_fused(name, kind)


@pytest.mark.parametrize("name", ["conv", "grouped conv", "depthwise conv", "conv transpose, apart", "matmul with weights", "gemm"])
def test_16_bit_weights_are_within_one_step(name):
    check_fused(name, np.int16, np.int16)


def with_weights_in(model, number, low, high):
    """Converts int8 weights and zero points to a type of fewer bits."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "DequantizeLinear" or node.input[0] not in tensors:
            continue
        for name in (node.input[0], node.input[2]):
            if tensors[name].data_type != TensorProto.INT8:
                continue
            quantized = numpy_helper.to_array(tensors[name])
            quantized = np.full(quantized.shape, (low + high) // 2) if name == node.input[2] else quantized.astype(int) % (high - low + 1) + low
            tensors[name].CopyFrom(helper.make_tensor(name, number, quantized.shape, quantized.flatten()))
    model.opset_import[0].version = 25  # the first with 2 bits
    return model


FEW_BITS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


@pytest.mark.parametrize("few", FEW_BITS)
@pytest.mark.parametrize("name, kind", [(name, kind) for name in ("conv", "depthwise conv", "grouped conv", "matmul with weights", "gemm")
                                        for kind in (np.uint8, np.int16)] +
                         [("conv transpose", np.uint8), ("conv and hard swish", np.uint8)])
def test_low_bit_weights_run_in_integers(name, few, kind):
    draw, operator = CASES[name]
    g = Graph(np.random.default_rng(SEED), kind)
    model = with_weights_in(g.model(*draw(g)), getattr(TensorProto, few.upper()), *FEW_BITS[few])
    fused = Executor(model)
    assert [step.split(":")[1] for step in fused.steps()] == operator.split(), f"seed {SEED}"
    assert steps_apart(fused, model, g.feeds) <= 1, f"seed {SEED}"


@pytest.mark.parametrize("zero", [0, 100])
@pytest.mark.parametrize("weight_kind", [np.int8, np.int16])
@pytest.mark.parametrize("depth", [400, 3000])
@pytest.mark.parametrize("op", ["Gemm", "Conv", "depthwise"])
def test_sums_of_16_bits_are_exact_and_requantized_as_documented(op, depth, weight_kind, zero):
    """Integers at the ends of their range: the sums exceed 32 bits."""
    g = Graph(np.random.default_rng(SEED), np.int16, weight_kind)
    count = 5
    shape = {"Gemm": (2, depth), "Conv": (2, depth, 1, 1), "depthwise": (2, count, depth, 1)}[op]
    x = g.activation(shape, g.parameters(scale=0.001, zero=zero))
    g.feeds["x0"][0] = -32768
    w = g.weight({"Gemm": (count, depth), "Conv": (count, depth, 1, 1), "depthwise": (count, 1, depth, 1)}[op], 0)
    quantized = g.constants[g.nodes[-1].input[0]]
    quantized[0] = -RANGES[weight_kind][1]
    b = g.bias(count, 0.001)
    bias = g.constants[g.nodes[-1].input[0]]
    attributes = {"transB": 1} if op == "Gemm" else {"group": count if op == "depthwise" else 1}
    y = g.add("Gemm" if op == "Gemm" else "Conv", [x, w, b], **attributes)
    scale = np.float32(g.weight_scale.max() * 0.001 * 65536 * RANGES[weight_kind][1] * depth / 60000)
    model = g.model(y, g.parameters(scale=scale, zero=7))
    numbers = g.feeds["x0"].astype(np.int64).reshape(2, -1, depth) - zero
    sums = (numbers * quantized.reshape(count, depth).astype(np.int64)).sum(-1) + bias
    factor = (np.float64(np.float32(0.001)) * g.weight_scale.astype(np.float64) / scale).astype(np.float32)
    wanted = np.clip(np.rint(sums.astype(np.float32) * factor) + 7, -32768, 32767)
    fused = Executor(model)
    assert [step.split(":")[1] for step in fused.steps()] == ["QGemm" if op == "Gemm" else "QLinearConv"]
    assert np.array_equal(fused.run(g.feeds)[0].reshape(2, count), wanted), f"seed {SEED}"


def test_a_relu_that_matters_is_kept():
    g = Graph(np.random.default_rng(1), np.uint8)
    value, _ = conv(g)
    model = g.model(g.add("Relu", [value]), g.parameters(zero=100))
    got, = Executor(model).run(g.feeds)
    assert got.min() >= 100


def test_a_value_with_other_consumers_stays():
    """The float result of the operator is also a model output, so it must stay: from exact integer sums, which float sums only
    approximate."""
    g = Graph(np.random.default_rng(1), np.uint8)
    value, parameters = conv(g)
    model = g.model(value, parameters)
    model.graph.output.append(helper.make_tensor_value_info(value, TensorProto.FLOAT, None))
    fused, plain = Executor(model).run(g.feeds), Executor(model, fuse=False).run(g.feeds)
    assert np.array_equal(fused[0], plain[0])
    np.testing.assert_allclose(fused[1], plain[1], rtol=0, atol=1e-6 * np.abs(plain[1]).max())


def within_one_step(model, feeds):
    got, = Executor(model).run(feeds)
    wanted, = Executor(model, fuse=False).run(feeds)
    return np.abs(got.astype(int) - wanted.astype(int)).max() <= 1


@pytest.mark.parametrize("bias", ["float", "integers of a scale of their own"])
def test_a_bias_finer_than_the_sums_is_not_rounded_to_them(bias):
    """The unit of the accumulator, input scale × weight scale, is much larger than an output step."""
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
def test_a_bias_of_any_shape_is_broadcast_correctly(shape):
    g = Graph(np.random.default_rng(2), np.uint8)
    x = g.activation((4, 6), g.parameters(scale=0.02, zero=128))
    w = g.weight((6, 4), axis=1)
    b = g.constant(g.rng.uniform(-1, 1, shape).astype(np.float32))
    assert within_one_step(g.model(g.add("Gemm", [x, w, b]), g.parameters(scale=0.01, zero=128)), g.feeds)


@pytest.mark.parametrize("row", [(4,), (1, 4), (1, 1, 4), (1, 1, 1, 4)])
@pytest.mark.parametrize("shape", [(6,), (3, 6), (2, 3, 6)])
def test_a_row_after_a_matmul_is_added_to_its_accumulators_for_any_rank(row, shape):
    g = Graph(np.random.default_rng(4), np.int8)
    x, w = g.activation(shape, g.parameters(scale=0.02, zero=0)), g.weight((6, 4), axis=1)
    b = g.constant(g.rng.uniform(-1, 1, row).astype(np.float32))
    model = g.model(g.add("Add", [g.add("MatMul", [x, w]), b]), g.parameters(scale=0.01, zero=0))
    assert "Add" not in " ".join(Executor(model).steps())
    assert Executor(model).run(g.feeds)[0].shape == Executor(model, fuse=False).run(g.feeds)[0].shape
    assert within_one_step(model, g.feeds)


def test_the_padding_value_is_not_quantized():
    g = Graph(np.random.default_rng(3), np.uint8)
    parameters = g.parameters(scale=0.02, zero=30)
    inputs = [g.activation((1, 2, 6, 6), parameters), g.constant(np.array([0, 0, -0.5, -0.5, 1, 1, 1.5, 1.5], np.float32)),
              g.constant(np.array([1, 1, 2, 2], np.float32))]
    value = g.add("Resize", inputs, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=2.0)
    assert within_one_step(g.model(value, parameters), g.feeds)


def test_a_transposed_convolution_does_not_overflow_its_accumulators():
    """Two overlapping taps of 20,000 channels of 255 · 255: more than 32 bits hold."""
    channels = 20000
    g = Graph(np.random.default_rng(5), np.uint8, np.uint8)
    x = g.activation((1, channels, 3), g.parameters(scale=1, zero=0))
    g.feeds = {name: np.full_like(value, 255) for name, value in g.feeds.items()}
    w = g.add("DequantizeLinear", [g.constant(np.full((channels, 1, 2), 255, np.uint8)), g.constant(np.float32(1)), g.constant(np.uint8(0))])
    assert within_one_step(g.model(g.add("ConvTranspose", [x, w]), g.parameters(scale=2e7, zero=0)), g.feeds)
