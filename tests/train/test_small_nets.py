"""Whole convolutional nets: gradients against central differences, and for any number of threads."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.differences import LOSS, check
from support.executing import Executor, with_gradients
from support.one_node import NEWEST_IR


class Net:
    """Nodes and weights, added one after the other."""

    def __init__(self, seed, dtype):
        self.rng, self.dtype, self.nodes, self.weights = np.random.default_rng(seed), dtype, [], {}

    def weight(self, *dims, scale=1.0, positive=False):
        name = f"w{len(self.weights)}"
        value = self.rng.uniform(0.5, 1.5, dims) if positive else self.rng.normal(size=dims) * scale / max(np.prod(dims[1:]), 1) ** 0.5
        self.weights[name] = value.astype(self.dtype)
        return name

    def add(self, op_type, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name=f"/{op_type}{len(self.nodes)}", **attributes))
        return name

    def conv(self, x, into, out, kernel=3, groups=1, **attributes):
        pads = [kernel // 2] * 4
        weights = [self.weight(out, into // groups, kernel, kernel, scale=1.5), self.weight(out)]
        return self.add("Conv", x, *weights, group=groups, pads=pads, **attributes)

    def batch_norm(self, x, channels):
        return self.add("BatchNormalization", x, self.weight(channels, positive=True), self.weight(channels),
                        self.weight(channels), self.weight(channels, positive=True))

    def model(self, inputs):
        element = TensorProto.DOUBLE if self.dtype == np.float64 else TensorProto.FLOAT
        ports = [helper.make_tensor_value_info("x", element, inputs["x"].shape),
                 helper.make_tensor_value_info("labels", TensorProto.INT64, inputs["labels"].shape)]
        ports += [helper.make_tensor_value_info(name, element, w.shape) for name, w in self.weights.items()]
        ends = [helper.make_tensor_value_info(self.nodes[-1].output[0], element, [])]
        graph = helper.make_graph(self.nodes, "net", ports, ends)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=NEWEST_IR)


def residual_net(seed, dtype, channels=4, size=6, batch=2):
    """As the CIFAR net: convolutions with normalization, a shortcut, pooling, a classifier."""
    net = Net(seed, dtype)
    x = net.add("Relu", net.batch_norm(net.conv("x", 3, channels), channels))
    inner = net.add("Relu", net.batch_norm(net.conv(x, channels, channels), channels))
    inner = net.batch_norm(net.conv(inner, channels, channels), channels)
    x = net.add("Relu", net.add("Add", inner, x))
    x = net.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.conv(x, channels, 2 * channels, strides=[2, 2])
    x = net.add("Flatten", net.add("GlobalAveragePool", net.add("Relu", x)))
    return classified(net, x, 2 * channels, size, batch)


def mobile_net(seed, dtype, channels=4, size=6, batch=2):
    """As PP-OCR's classifier: depthwise convolutions, squeeze and excitation, HardSwish, AveragePool, Resize."""
    net = Net(seed, dtype)
    x = net.add("HardSwish", net.batch_norm(net.conv("x", 3, channels, strides=[2, 2]), channels))
    wide = net.conv(x, channels, 3 * channels, kernel=1)
    wide = net.add("HardSwish", net.conv(wide, 3 * channels, 3 * channels, groups=3 * channels))
    gate = net.conv(net.add("GlobalAveragePool", wide), 3 * channels, 2, kernel=1)
    gate = net.add("HardSigmoid", net.conv(net.add("Relu", gate), 2, 3 * channels, kernel=1))
    x = net.add("Add", net.conv(net.add("Mul", wide, gate), 3 * channels, channels, kernel=1), x)
    up = net.add("ConvTranspose", x, net.weight(channels, 2, 2, 2), net.weight(2), strides=[2, 2])
    x = net.add("Concat", up, net.add("Clip", net.conv("x", 3, 2)), axis=1)
    x = net.add("AveragePool", x, kernel_shape=[3, 3], strides=[3, 3])
    x = net.add("Flatten", net.add("Tanh", x))
    return classified(net, x, 4 * (size // 3) ** 2, size, batch)


def classified(net, x, features, size, batch, classes=3):
    scores = net.add("Gemm", x, net.weight(classes, features), net.weight(classes), transB=1)
    net.add("SoftmaxCrossEntropyLoss", scores, "labels")
    feeds = {"x": net.rng.normal(size=(batch, 3, size, size)).astype(net.dtype), "labels": net.rng.integers(0, classes, batch)}
    return net.model(feeds), {**feeds, **net.weights}


NETS = {"residual": residual_net, "mobile": mobile_net}


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("name", NETS)
def test_gradients_of_nets_match_central_differences(name, recompute):
    seed = 7
    print(f"seed {seed}")
    model, feeds = NETS[name](seed, np.float64)
    wanted = [key for key in feeds if key != "labels"]
    named = named_loss(model)
    check(named, feeds, wanted, np.random.default_rng(seed), recompute)


def named_loss(model):
    model = onnx.ModelProto.FromString(model.SerializeToString())
    model.graph.node[-1].output[0] = LOSS
    model.graph.output[0].name = LOSS
    return model


@pytest.mark.parametrize("name", NETS)
def test_gradients_have_the_same_bits_for_any_number_of_threads(name):
    model, feeds = NETS[name](3, np.float32, channels=16, size=24, batch=8)
    wanted = [key for key in feeds if key != "labels"]
    made = with_gradients(named_loss(model), LOSS, wanted).SerializeToString()
    alone = Executor(made, threads=1).run(feeds)
    for threads in (2, 3, 7):
        executor = Executor(made, threads=threads)
        for _ in range(2):  # without and with the memory plan
            for one, other in zip(alone, executor.run(feeds)):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", NETS)
def test_gradients_in_float32_are_near_those_in_float64(name):
    model, feeds = NETS[name](5, np.float64, channels=8, size=12, batch=4)
    single, small = NETS[name](5, np.float32, channels=8, size=12, batch=4)
    wanted = [key for key in feeds if key != "labels"]
    exact = Executor(with_gradients(named_loss(model), LOSS, wanted).SerializeToString()).run(feeds)
    near = Executor(with_gradients(named_loss(single), LOSS, wanted).SerializeToString()).run(small)
    for one, other in zip(exact, near):
        scale = max(np.abs(one).max(), 1e-3)
        np.testing.assert_allclose(other / scale, one / scale, atol=2e-5)
