"""Small models with the shapes that once were much slower than in ONNX Runtime: one function each, which gives a model and its inputs.

bench_runtime.py times them beside real models; tests/runtime/test_cliffs.py checks their results.
"""
import functools

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


class Net:
    """A graph under construction: every method adds a node and gives the name of its output."""

    def __init__(self, prefix="", seed=0):
        self.rng, self.prefix = np.random.default_rng(seed), prefix
        self.nodes, self.constants, self.count = [], [], 0

    def name(self):
        self.count += 1
        return f"{self.prefix}v{self.count}"

    def add(self, op, *inputs, **attributes):
        output = self.name()
        self.nodes.append(helper.make_node(op, list(inputs), [output], **attributes))
        return output

    def constant(self, value):
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def scalar(self, value):
        return self.constant(np.float32(value))

    def weight(self, *shape):
        fan = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        return self.constant((self.rng.standard_normal(shape) / np.sqrt(fan)).astype(np.float32))

    def conv(self, x, inputs, outputs, kernel, group=1, stride=1, bias=True):
        """Conv that keeps the size; `kernel` has one entry per axis."""
        weights = [self.weight(outputs, inputs // group, *kernel)]
        if bias:
            weights.append(self.weight(outputs))
        return self.add("Conv", x, *weights, group=group, strides=[stride] * len(kernel),
                        pads=[k // 2 for k in kernel] * 2)

    def batch_norm(self, x, channels):
        values = [self.rng.uniform(0.5, 1.5, channels).astype(np.float32) for _ in range(4)]
        return self.add("BatchNormalization", x, *map(self.constant, values))

    def linear(self, x, inputs, outputs):
        return self.add("Add", self.add("MatMul", x, self.weight(inputs, outputs)), self.weight(outputs))

    def hard_swish(self, x):
        """As Paddle exports it: x · clip(x + 3, 0, 6) / 6."""
        gate = self.add("Clip", self.add("Add", x, self.scalar(3)), self.scalar(0), self.scalar(6))
        return self.add("Div", self.add("Mul", x, gate), self.scalar(6))

    def gelu(self, x):
        """Gelu by Erf, spelled out."""
        erf = self.add("Erf", self.add("Div", x, self.scalar(np.sqrt(2))))
        return self.add("Mul", self.add("Mul", x, self.add("Add", erf, self.scalar(1))), self.scalar(0.5))

    def layer_norm(self, x, width):
        """LayerNormalization, spelled out."""
        centred = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        variance = self.add("ReduceMean", self.add("Pow", centred, self.scalar(2)), axes=[-1])
        root = self.add("Sqrt", self.add("Add", variance, self.scalar(1e-5)))
        ones = self.constant(np.ones(width, np.float32))
        return self.add("Add", self.add("Mul", self.add("Div", centred, root), ones), self.weight(width))

    def model(self, inputs, output, opset=17, ir_version=9):
        """`inputs`: name → array of the values that a run gets."""
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                 for name, x in inputs.items()]
        if ir_version < 4:
            infos += [helper.make_tensor_value_info(one.name, one.data_type, one.dims) for one in self.constants]
        graph = helper.make_graph(self.nodes, "cliff", infos, [helper.make_tensor_value_info(output, FLOAT, None)],
                                  self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def random(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def old_initializers():
    """Before IR 4 every initializer is an input, too: a face-recognition net, BatchNormalization and depthwise convolutions."""
    net, x = Net(), {"x": random(1, 32, 56, 56)}
    y = "x"
    for _ in range(3):
        y = net.batch_norm(net.conv(y, 32, 64, (1, 1), bias=False), 64)
        y = net.add("PRelu", y, net.weight(64, 1, 1))
        y = net.add("PRelu", net.batch_norm(net.conv(y, 64, 64, (3, 3), group=64, bias=False), 64), net.weight(64, 1, 1))
        y = net.batch_norm(net.conv(y, 64, 32, (1, 1), bias=False), 32)
    return net.model(x, y, opset=8, ir_version=3), x


def variable_depthwise():
    """Depthwise Conv whose weights are an input of the model."""
    net, x = Net(), {"x": random(1, 64, 56, 56), "w": random(64, 1, 3, 3, seed=2)}
    return net.model(x, net.add("Conv", "x", "w", group=64, pads=[1] * 4)), x


def long_conv1d():
    """Conv in one dimension over 2,048 steps."""
    net, x = Net(), {"x": random(1, 128, 2048)}
    return net.model(x, net.add("Relu", net.conv("x", 128, 256, (5,)))), x


def conv_transpose():
    net, x = Net(), {"x": random(1, 64, 40, 40)}
    y = net.add("ConvTranspose", "x", net.weight(64, 32, 2, 2), net.weight(32), strides=[2, 2])
    return net.model(x, y), x


def loop_body(net, units):
    """One step of an LSTM as Keras' converter writes it: weights captured from the graph around the loop."""
    weights, recurrent, bias = net.weight(64, 4 * units), net.weight(units, 4 * units), net.weight(1, 4 * units)
    body = Net("body_")
    x = body.add("Gather", "sequence", "i", axis=1)
    gates = body.add("Add", body.add("Add", body.add("MatMul", x, weights), body.add("MatMul", "h", recurrent)), bias)
    parts = [body.name() for _ in range(4)]
    body.nodes.append(helper.make_node("Split", [gates], parts, axis=1))
    kept = body.add("Mul", body.add("Sigmoid", parts[1]), "c")
    c = body.add("Add", kept, body.add("Mul", body.add("Sigmoid", parts[0]), body.add("Tanh", parts[2])))
    h = body.add("Mul", body.add("Sigmoid", parts[3]), body.add("Tanh", c))
    more = body.add("Identity", "going")
    copies = [body.add("Identity", one) for one in (h, c, h)]
    state = (1, units)
    return helper.make_graph(
        body.nodes, "step",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("going", TensorProto.BOOL, []),
         helper.make_tensor_value_info("h", FLOAT, state), helper.make_tensor_value_info("c", FLOAT, state)],
        [helper.make_tensor_value_info(more, TensorProto.BOOL, []),
         *(helper.make_tensor_value_info(one, FLOAT, state) for one in copies)])


def lstm_in_loop(units=128, steps=100):
    """An LSTM as a Loop."""
    net, x = Net(), {"sequence": random(1, steps, 64)}
    body = loop_body(net, units)
    zero = net.constant(np.zeros((1, units), np.float32))
    trips, going = net.constant(np.int64(steps)), net.constant(np.bool_(True))
    outputs = [net.name() for _ in range(3)]
    net.nodes.append(helper.make_node("Loop", [trips, going, zero, zero], outputs, body=body))
    return net.model(x, net.add("ReduceSum", outputs[2], net.constant(np.array([1])), keepdims=0)), x


def identities():
    """A Paddle export: Identity after every node, between a convolution, its bias, a learned scale and shift, and an activation."""
    net, x = Net(), {"x": random(1, 16, 24, 24)}
    y = "x"
    for _ in range(20):
        y = net.add("Identity", net.conv(y, 16, 16, (1, 1), bias=False))
        y = net.add("Identity", net.add("Add", y, net.add("Identity", net.weight(1, 16, 1, 1))))
        y = net.add("Identity", net.add("Mul", y, net.constant(np.float32([0.9]))))
        y = net.add("Identity", net.add("HardSwish", net.add("Add", y, net.constant(np.float32([0.2])))))
    return net.model(x, y), x


def max_pools():
    """As in the detectors of the YOLO family, and after a first convolution."""
    net, x = Net(), {"x": random(1, 64, 80, 80)}
    y = net.add("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for _ in range(3):
        y = net.add("MaxPool", y, kernel_shape=[5, 5], pads=[2] * 4)
    return net.model(x, y), x


def erf_gelu():
    net, x = Net(), {"x": random(1, 120, 1536)}
    y = net.linear(net.gelu("x"), 1536, 64)
    return net.model(x, y), x


def embedding_cnn():
    """A small net for speech: narrow convolutions, LeakyRelu, pooling, channels last."""
    net, x = Net(), {"x": random(1, 76, 32, 1)}
    y, channels = net.add("Transpose", "x", perm=[0, 3, 1, 2]), 1
    for width, pool in ((24, (2, 2)), (48, (1, 2)), (72, (2, 2)), (96, (1, 2))):
        for kernel in ((1, 3), (3, 1)):
            y = net.add("LeakyRelu", net.conv(y, channels, width, kernel), alpha=0.2)
            channels = width
        y = net.add("MaxPool", y, kernel_shape=list(pool), strides=list(pool))
    return net.model(x, y), x


def unfused_activations():
    """Blocks of PP-OCR: learned scale and shift around hard-swish, spelled out; squeeze and excitation."""
    net, x = Net(), {"x": random(1, 48, 40, 40)}
    y = "x"
    for _ in range(4):
        for group in (48, 1):
            kernel = (3, 3) if group > 1 else (1, 1)
            y = net.conv(y, 48, 48, kernel, group=group)
            y = net.add("Add", net.add("Mul", y, net.constant(np.float32([1.1]))), net.constant(np.float32([0.1])))
            y = net.hard_swish(y)
            y = net.add("Add", net.add("Mul", y, net.constant(np.float32([0.9]))), net.constant(np.float32([0.2])))
        squeezed = net.add("Relu", net.conv(net.add("GlobalAveragePool", y), 48, 12, (1, 1)))
        gate = net.add("HardSigmoid", net.conv(squeezed, 12, 48, (1, 1)), alpha=0.2, beta=0.5)
        y = net.add("Mul", y, gate)
    return net.model(x, y), x


def encoder_layer(tokens=128, width=384, heads=12):
    """A layer of a sentence encoder, spelled out: attention, Gelu by Erf, two normalizations."""
    net, x = Net(), {"x": random(1, tokens, width)}
    shape = net.constant(np.array([0, 0, heads, width // heads]))

    def split(perm):
        return net.add("Transpose", net.add("Reshape", net.linear("x", width, width), shape), perm=perm)

    query, key, value = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
    scores = net.add("Div", net.add("MatMul", query, key), net.scalar(np.sqrt(width // heads)))
    mixed = net.add("MatMul", net.add("Softmax", scores, axis=-1), value)
    merged = net.add("Reshape", net.add("Transpose", mixed, perm=[0, 2, 1, 3]), net.constant(np.array([0, 0, width])))
    y = net.layer_norm(net.add("Add", net.linear(merged, width, width), "x"), width)
    wide = net.gelu(net.linear(y, width, 4 * width))
    return net.model(x, net.layer_norm(net.add("Add", net.linear(wide, 4 * width, width), y), width)), x


def dynamic_linear(net, x, inputs, outputs):
    """A layer as ONNX Runtime's quantize_dynamic writes it."""
    quantized = [net.name() for _ in range(3)]
    net.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], quantized))
    weight = net.constant(net.rng.integers(-127, 128, (inputs, outputs)).astype(np.int8))
    product = net.add("MatMulInteger", quantized[0], weight, quantized[2], net.constant(np.int8(0)))
    scale = net.add("Mul", quantized[1], net.constant(np.float32(0.05 / np.sqrt(inputs) / 127)))
    return net.add("Add", net.add("Mul", net.add("Cast", product, to=FLOAT), scale), net.weight(outputs))


def dynamic_layers():
    """Dynamic int8, two layers with Gelu between them."""
    net, x = Net(), {"x": random(1, 128, 384)}
    wide = net.gelu(dynamic_linear(net, "x", 384, 1536))
    return net.model(x, dynamic_linear(net, wide, 1536, 384)), x


def tiny_chain(steps):
    """Steps that do next to nothing: the fixed cost of a run and of a step."""
    net, x = Net(), {"x": random(1, 4, 6)}
    y = "x"
    for i in range(steps):
        y = net.add("Transpose", y, perm=[0, 2, 1]) if i % 2 else net.add("Softmax", y, axis=1)
    return net.model(x, y), x


ALSO_INT8 = {"LSTM as a Loop", "Conv over 2,048 steps", "encoder layer"}
CLIFFS = {  # name of the row: model and inputs
    "initializers are inputs": old_initializers,
    "depthwise, variable weights": variable_depthwise,
    "Conv over 2,048 steps": long_conv1d,
    "ConvTranspose 2x2/2 64-32": conv_transpose,
    "LSTM as a Loop": lstm_in_loop,
    "Identity after every node": identities,
    "MaxPool": max_pools,
    "Gelu by Erf": erf_gelu,
    "small embedding CNN": embedding_cnn,
    "blocks with spelled activations": unfused_activations,
    "encoder layer": encoder_layer,
    "dynamic int8 layers": dynamic_layers,
    "chain of 10 tiny steps": functools.partial(tiny_chain, 10),
    "chain of 50 tiny steps": functools.partial(tiny_chain, 50),
}
