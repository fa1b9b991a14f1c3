"""What follows a convolution becomes part of it, and nothing changes."""
import numpy as np
import pytest
from executing import Executor
from onnx import TensorProto, helper
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
                             [":Conv", ":Add", ":Clip", ":Mul", ":Div"]),
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
    "used twice": ([conv("x", "a"), node("Relu", ["a"], ["r"]), node("Add", ["a", "r"], ["y"])], [":Conv", ":Relu", ":Add"]),
    "not a bias": ([conv("x", "a"), node("Add", ["a", "row"], ["y"])], [":Conv", ":Add"]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_fused_graphs_give_what_onnx_runtime_gives(name):
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


def test_a_value_that_leaves_the_model_is_not_fused_away():
    random = np.random.default_rng(SEED)
    x = random.standard_normal((1, 16, 12, 12), np.float32)
    model = model_of([conv("x", "a"), node("Relu", ["a"], ["y"])], [("x", TensorProto.FLOAT, x.shape)],
                     [("a", TensorProto.FLOAT), ("y", TensorProto.FLOAT)], {"w0": constants(random)["w0"]})
    for got, wanted in zip(Executor(model).run([x]), reference(model, {"x": x})):
        close(got, wanted)
