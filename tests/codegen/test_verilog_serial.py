"""verilog-gen: networks of quantized integers, fixed-point ones among them, simulate with the bits of the engine."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.logic_nets import simulate, write_verilog

SEED = 20261120
MICROSOFT = "com.microsoft"


class Net:
    """A chain of quantized operators from float32 x to float32 y; `fixed`: scales are powers of two, zero points 0."""

    def __init__(self, dims, kind, fixed):
        self.random, self.kind, self.fixed = np.random.default_rng(SEED), np.dtype(kind), fixed
        self.nodes, self.constants, self.dims = [], {}, dims
        self.last = self.quantized("x")
        self.add("QuantizeLinear", ["x", *self.last[1:]], self.last)

    def constant(self, value):
        name = f"k{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def scale(self, low=0.02, high=0.1, count=None):
        real = np.exp(self.random.uniform(np.log(low), np.log(high), count)).astype(np.float32)
        return self.constant(np.exp2(np.round(np.log2(real))).astype(np.float32) if self.fixed else real)

    def zero(self):
        low = np.iinfo(self.kind).min
        return self.constant(self.kind.type(0 if self.fixed else low + self.random.integers(100, 150)))

    def quantized(self, name):
        return name + "_q", self.scale(), self.zero()

    def add(self, op, inputs, output, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output[0]], domain=domain, **attributes))
        self.last = output
        return self

    def weights(self, *dims, channels=None):
        return (self.constant(self.random.integers(-127, 128, dims).astype(np.int8)), self.scale(1e-3, 1e-2, channels),
                self.constant(np.zeros(channels or (), np.int8)))

    def conv(self, outputs, inputs, *kernel, **attributes):
        bias = self.constant(self.random.integers(-3000, 3000, outputs).astype(np.int32))
        result = self.quantized(f"c{len(self.nodes)}")
        return self.add("QLinearConv", [*self.last, *self.weights(outputs, inputs, *kernel, channels=outputs), *result[1:], bias], result,
                        **attributes)

    def gemm(self, inputs, outputs):
        result = self.quantized(f"g{len(self.nodes)}")
        bias = self.constant(self.random.integers(-3000, 3000, outputs).astype(np.int32))
        return self.add("QGemm", [*self.last, *self.weights(outputs, inputs), bias, *result[1:]], result, MICROSOFT, transB=1, alpha=1.0)

    def max_pool(self, **attributes):
        return self.add("MaxPool", [self.last[0]], (f"p{len(self.nodes)}", *self.last[1:]), **attributes)

    def clip(self, low, high):
        low, high = (self.constant(self.kind.type(value)) for value in (low, high))
        return self.add("Clip", [self.last[0], low, high], (f"l{len(self.nodes)}", *self.last[1:]))

    def join(self, other):
        result = self.quantized(f"s{len(self.nodes)}")
        return self.add("QLinearAdd", [*self.last, *other, *result[1:]], result, MICROSOFT)

    def mean(self):
        result = self.quantized(f"m{len(self.nodes)}")
        return self.add("QLinearGlobalAveragePool", [*self.last, *result[1:]], result, MICROSOFT)

    def flat(self):
        return self.add("Flatten", [self.last[0]], (f"f{len(self.nodes)}", *self.last[1:]))

    def model(self, outputs):
        self.add("DequantizeLinear", [*self.last], ("y",))
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.dims)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, outputs])],
                                  [numpy_helper.from_array(value, name) for name, value in self.constants.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)], ir_version=8)


def plain(kind, fixed):
    net = Net([1, 2, 9, 8], kind, fixed).conv(4, 2, 3, 3, pads=[1, 0, 1, 1], strides=[2, 1]).clip(0, 100)
    net.max_pool(kernel_shape=[2, 3], strides=[2, 2], pads=[0, 1, 1, 0])
    return net.conv(6, 2, 2, 2, group=2, dilations=[1, 2], pads=[0, 1, 0, 1]).mean().flat().gemm(6, 5).model(5)


def residual(kind, fixed):
    net = Net([1, 3, 6, 6], kind, fixed).conv(4, 3, 1, 1)
    before = net.last
    return net.conv(4, 1, 3, 3, group=4, pads=[1, 1, 1, 1]).join(before).conv(3, 4, 6, 6).flat().model(3)


def line(kind, fixed):
    return Net([1, 3, 20], kind, fixed).conv(5, 3, 4, strides=[3]).flat().gemm(30, 7).gemm(7, 3).model(3)


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("build, fixed", [(plain, True), (plain, False), (line, True), (line, False), (residual, True)])
def test_a_quantized_network_simulates_with_the_engines_bits(build, fixed, kind, tmp_path):
    done = write_verilog(build(kind, fixed), tmp_path, vectors=5)
    assert done.returncode == 0, done.stderr
    assert simulate(tmp_path) == "PASS: 5 vectors\n"


@pytest.mark.parametrize("model, problem", [
    (lambda: residual(np.int8, False), "the ratio of its scales is no power of two"),
    (lambda: onnx.load("examples/digits/digits.onnx"), "it is no layer of quantized integers")])
def test_what_does_not_fit_is_refused_with_the_reason(model, problem, tmp_path):
    done = write_verilog(model(), tmp_path, "image=1,1,28,28" if "layer" in problem else None)
    assert done.returncode != 0 and problem in done.stderr
    assert not list(tmp_path.glob("*.v"))
