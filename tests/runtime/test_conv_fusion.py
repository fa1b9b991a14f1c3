"""Epilogues are fused into convolutions without changing results."""
import numpy as np
import pytest
from onnx import TensorProto, helper
from support.executing import Executor
from test_conv import close, model_of, reference

SEED = 20240604


def constants(random, channels=16):
    values = {f"w{i}": random.standard_normal((channels, channels, 3, 3), np.float32) / 12 for i in range(2)}
    values.update({name: random.standard_normal(channels, np.float32) for name in ("b", "gamma", "beta", "mean")})
    values.update(var=random.uniform(0.5, 2, channels).astype(np.float32), low=np.float32(-0.3), high=np.float32(0.9),
                  plane=random.standard_normal((1, channels, 1, 1), np.float32), one=np.float32([0.7]), three=np.float32(3),
                  six=np.float32(6), zero=np.float32(0), row=random.standard_normal((12,), np.float32))
    return values


def conv(x, y, w="w0", *more):
    return helper.make_node("Conv", [x, w, *more], [y], pads=[1, 1, 1, 1])


node = helper.make_node
GRAPHS = {
    "relu": ([conv("x", "a", "w0", "b"), node("Relu", ["a"], ["y"])], ["com.microsoft:FusedConv"]),
    "clip": ([conv("x", "a"), node("Clip", ["a", "low", "high"], ["y"])], ["com.microsoft:FusedConv"]),
    "open clip": ([conv("x", "a"), node("Clip", ["a", "", "high"], ["y"])], ["com.microsoft:FusedConv"]),
    "sigmoid": ([conv("x", "a"), node("Sigmoid", ["a"], ["y"])], ["com.microsoft:FusedConv"]),
    "hard swish": ([conv("x", "a"), node("HardSwish", ["a"], ["y"])], ["com.microsoft:FusedConv"]),
    "silu": ([conv("x", "a"), node("Sigmoid", ["a"], ["s"]), node("Mul", ["a", "s"], ["y"])], ["com.microsoft:FusedConv"]),
    "gate": ([conv("x", "a"), node("HardSigmoid", ["a"], ["s"], alpha=1 / 6), node("Mul", ["s", "a"], ["y"])],
             ["com.microsoft:FusedConv"]),
    "batch norm": ([conv("x", "a", "w0", "b"), node("BatchNormalization", ["a", "gamma", "beta", "mean", "var"], ["n"]),
                    node("Relu", ["n"], ["y"])], ["com.microsoft:FusedConv"]),
    "affine": ([conv("x", "a", "w0", "b"), node("Mul", ["one", "a"], ["m"]), node("Add", ["m", "one"], ["n"]), node("Mul", ["n", "plane"], ["y"])],
               [":Conv"]),
    "spelled hard swish": ([conv("x", "a"), node("Add", ["a", "three"], ["t"]), node("Clip", ["t", "zero", "six"], ["c"]),
                            node("Mul", ["a", "c"], ["m"]), node("Div", ["m", "six"], ["y"])], ["com.microsoft:FusedConv"]),
    "not quite hard swish": ([conv("x", "a"), node("Add", ["a", "three"], ["t"]), node("Clip", ["t", "zero", "six"], ["c"]),
                              node("Mul", ["a", "c"], ["m"]), node("Div", ["m", "three"], ["y"])],
                             [":Conv", "ai.anybit:Elementwise"]),
    "late bias": ([conv("x", "a"), node("Add", ["plane", "a"], ["y"])], [":Conv"]),
    "residual": ([conv("x", "a"), conv("a", "c", "w1"), node("Add", ["a", "c"], ["s"]), node("Relu", ["s"], ["y"])],
                 [":Conv", "com.microsoft:FusedConv"]),
    "residual of the input": ([conv("x", "a"), node("Add", ["x", "a"], ["y"])], ["com.microsoft:FusedConv"]),
    "two branches": ([conv("x", "a"), conv("x", "c", "w1"), node("Add", ["c", "a"], ["y"])],
                     [":Conv", "com.microsoft:FusedConv"]),
    "stretched": ([conv("x", "a"), node("GlobalAveragePool", ["x"], ["p"]), node("Add", ["a", "p"], ["s"]), node("Relu", ["s"], ["y"])],
                  [":GlobalAveragePool", "com.microsoft:FusedConv"]),
    "stretches": ([node("GlobalAveragePool", ["x"], ["p"]), conv("p", "a"), node("Add", ["a", "x"], ["s"]), node("Relu", ["s"], ["y"])],
                  [":GlobalAveragePool", "com.microsoft:FusedConv"]),
    "used twice": ([conv("x", "a"), node("Relu", ["a"], ["r"]), node("Add", ["a", "r"], ["y"])], [":Conv", "ai.anybit:Elementwise"]),
    "not a bias": ([conv("x", "a"), node("Add", ["a", "row"], ["y"])], [":Conv", ":Add"]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_fused_graphs_match_onnx_runtime(name):
    random = np.random.default_rng(SEED)
    nodes, steps = GRAPHS[name]
    x = random.standard_normal((2, 16, 12, 12), np.float32)
    used = {inner for one in nodes for inner in one.input}
    held = {key: value for key, value in constants(random).items() if key in used}
    model = model_of(nodes, [("x", TensorProto.FLOAT, x.shape)], [("y", TensorProto.FLOAT)], held)
    fused, plain, wanted = Executor(model), Executor(model, fuse=False), reference(model, {"x": x})[0]
    assert fused.steps() == steps
    assert len(plain.steps()) == len(nodes)
    for executor in (fused, plain):
        for _ in range(2):
            close(executor.run([x])[0], wanted, 1e-5)


def test_a_model_output_is_not_fused_away():
    random = np.random.default_rng(SEED)
    x = random.standard_normal((1, 16, 12, 12), np.float32)
    model = model_of([conv("x", "a"), node("Relu", ["a"], ["y"])], [("x", TensorProto.FLOAT, x.shape)],
                     [("a", TensorProto.FLOAT), ("y", TensorProto.FLOAT)], {"w0": constants(random)["w0"]})
    for got, wanted in zip(Executor(model).run([x]), reference(model, {"x": x})):
        close(got, wanted)


def dynamic_conv(random, channels, outputs, groups, kernel, scale_shape, bias_shape, behind=(), axes=2):
    """x → DynamicQuantizeLinear → ConvInteger → Cast → Mul by the scales → Add of a bias, the pattern of dynamic quantization."""
    kinds = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}
    kind = random.choice(list(kinds))
    limits = np.iinfo(kind)
    held = {"w": random.integers(limits.min, limits.max + 1, (outputs, channels // groups, *[kernel] * axes)).astype(kind),
            "wz": kind(3), "ws": random.uniform(0.001, 0.01, scale_shape).astype(np.float32)}
    nodes = [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
             node("ConvInteger", ["q", "w", "z", "wz"], ["i"], group=groups, pads=[kernel // 2] * 2 * axes),
             node("Cast", ["i"], ["f"], to=TensorProto.FLOAT), node("Mul", ["ws", "s"], ["sw"]), node("Mul", ["f", "sw"], ["m"])]
    if bias_shape is not None:
        held["b"] = random.standard_normal(bias_shape, np.float32)
        nodes.append(node("Add", ["m", "b"], ["n"]))
    nodes += behind
    nodes[-1].output[0] = "y"
    x = random.standard_normal((2, channels, *[9, 11, 7][:axes]), np.float32)
    return model_of(nodes, [("x", TensorProto.FLOAT, x.shape)], [("y", TensorProto.FLOAT)], held), x


DYNAMIC = {  # channels, outputs, groups, kernel, shapes of scale and bias
    "by channel": (16, 24, 1, 3, (24, 1, 1), (24, 1, 1)), "with a batch": (8, 20, 1, 1, (1, 20, 1, 1), (1, 20, 1, 1)),
    "one scale": (6, 7, 1, 3, (), (7, 1, 1)), "depthwise": (24, 24, 24, 3, (24, 1, 1), (24, 1, 1)),
    "few channels": (4, 4, 4, 5, (4, 1, 1), (4, 1, 1)), "depthwise, one scale": (40, 40, 40, 3, (1,), (40, 1, 1)),
    "groups": (12, 24, 3, 3, (24, 1, 1), (24, 1, 1)), "without a bias": (24, 24, 24, 3, (24, 1, 1), None)}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", DYNAMIC)
def test_scales_and_bias_of_a_dynamic_convolution_are_fused_bit_identically(name, threads):
    model, x = dynamic_conv(np.random.default_rng(SEED), *DYNAMIC[name])
    fused = Executor(model, threads=threads)
    assert fused.steps() == [":DynamicQuantizeLinear", "ai.anybit:ConvIntegerToFloat"]
    np.testing.assert_array_equal(fused.run([x])[0], Executor(model, fuse=False).run([x])[0])


@pytest.mark.parametrize("axes", [1, 3])
def test_dynamic_convolutions_of_other_ranks_are_fused_as_well(axes):
    model, x = dynamic_conv(np.random.default_rng(SEED), 16, 16, 16, 3, (16, *[1] * axes), (16, *[1] * axes), axes=axes)
    assert Executor(model).steps() == [":DynamicQuantizeLinear", "ai.anybit:ConvIntegerToFloat"]
    np.testing.assert_array_equal(Executor(model).run([x])[0], Executor(model, fuse=False).run([x])[0])


@pytest.mark.parametrize("op, attributes", [("Relu", {}), ("HardSwish", {}), ("Sigmoid", {}), ("LeakyRelu", {"alpha": 0.2}),
                                            ("HardSigmoid", {"alpha": 0.3}), ("Tanh", {})])
def test_an_activation_after_a_dynamic_convolution_is_fused(op, attributes):
    behind = [node(op, ["n"], ["a"], **attributes)]
    model, x = dynamic_conv(np.random.default_rng(SEED), 16, 16, 16, 3, (16, 1, 1), (16, 1, 1), behind)
    assert Executor(model).steps() == [":DynamicQuantizeLinear", "ai.anybit:ConvIntegerToFloat"]
    close(Executor(model).run([x])[0], Executor(model, fuse=False).run([x])[0], 1e-5)


@pytest.mark.parametrize("scale, bias", [((11,), (16, 1, 1)), ((16, 1, 1), (11,)), ((1, 1, 16, 1, 1), (16, 1, 1))])
def test_scales_and_biases_of_other_shapes_are_not_fused_into_a_dynamic_convolution(scale, bias):
    model, x = dynamic_conv(np.random.default_rng(SEED), 16, 16, 1, 3, scale, bias)
    np.testing.assert_array_equal(Executor(model).run([x])[0], Executor(model, fuse=False).run([x])[0])
    assert {":Mul", ":Add", "ai.anybit:Elementwise"} & set(Executor(model).steps())


@pytest.mark.parametrize("channels", [12, 16])
def test_dynamic_quantization_of_a_convolution_output_matches_its_values(channels):
    """In any output layout of the convolution; padding channels are ignored."""
    random = np.random.default_rng(SEED)
    x, w = random.standard_normal((2, 5, 9, 9), np.float32), random.standard_normal((channels, 5, 3, 3), np.float32)
    nodes = [conv("x", "c", "w0", "b"), node("DynamicQuantizeLinear", ["c"], ["q", "s", "z"])]
    model = model_of(nodes, [("x", TensorProto.FLOAT, x.shape)],
                     [("c", TensorProto.FLOAT), ("q", TensorProto.UINT8), ("s", TensorProto.FLOAT), ("z", TensorProto.UINT8)],
                     {"w0": w, "b": np.full(channels, 30, np.float32)})
    numbers, quantized, scale, zero = Executor(model).run([x])
    assert zero == 0 and scale == np.float32(numbers.max() / np.float32(255))
    np.testing.assert_array_equal(quantized, np.rint(numbers / scale).astype(np.uint8))


@pytest.mark.parametrize("groups, outputs, bias", [(1, 12, "int32"), (8, 8, "float"), (1, 12, None), (2, 12, "int32")])
def test_a_quantized_convolution_with_float_output_computes_on_integers(groups, outputs, bias):
    """DequantizeLinear → Conv → Relu with float output: the sums are integers, the result is that of the float nodes but for rounding."""
    random = np.random.default_rng(SEED)
    held = {"s": np.float32(0.02), "z": np.uint8(117), "w": random.integers(-127, 128, (outputs, 8 // groups, 3, 3), np.int8),
            "ws": random.uniform(0.001, 0.01, outputs).astype(np.float32), "wz": np.zeros(outputs, np.int8)}
    nodes = [node("DequantizeLinear", ["x", "s", "z"], ["a"]), node("DequantizeLinear", ["w", "ws", "wz"], ["b"], axis=0)]
    if bias == "int32":
        held |= {"c": random.integers(-2000, 2000, outputs, np.int32), "cs": held["s"] * held["ws"]}
        nodes.append(node("DequantizeLinear", ["c", "cs"], ["bias"], axis=0))
    elif bias:
        held["bias"] = random.standard_normal(outputs).astype(np.float32)
    nodes += [node("Conv", ["a", "b", "bias"][:3 if bias else 2], ["y"], group=groups, pads=[1] * 4)]
    x = random.integers(0, 256, (2, 8, 9, 11), np.uint8)
    model = model_of(nodes, [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.FLOAT)], held)
    assert Executor(model).steps() == ["ai.anybit:ConvIntegerToFloat"]
    for threads in (1, 3):
        close(Executor(model, threads=threads).run([x])[0], Executor(model, fuse=False).run([x])[0], 1e-5)
