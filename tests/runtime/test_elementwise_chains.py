"""Elementwise operators that follow each other run as one step: the same bits as one by one, for any shapes that broadcast."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor, ExecutorError

UNARY = ["Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Neg", "Abs", "HardSigmoid", "LeakyRelu", "Sqrt", "Clip", "Gelu", "Reciprocal"]
BINARY = ["Add", "Sub", "Mul", "Div", "Min", "Max"]
SHAPES = [[(2, 3, 5, 7)], [(2, 3, 5, 7), (7,), (3, 1, 1), ()], [(1, 40, 33), (1, 40, 1), (33,), (1,)], [(4, 1), (1, 6), (1, 1), ()],
          [(1, 16, 9, 9), (1, 16, 1, 1), (16, 1, 1)], [(1200,), (1,)], [()], [(0, 3), (3,), (1, 1)]]


def random_model(seed):
    """A graph of elementwise operators on inputs of shapes that broadcast; some values have several consumers."""
    rng = np.random.default_rng(seed)
    shapes = SHAPES[rng.integers(len(SHAPES))]
    kinds = rng.choice(["float32", "float16", "float64"], p=[0.8, 0.1, 0.1])
    inputs = {f"x{i}": rng.standard_normal(shapes[rng.integers(len(shapes))]).astype(kinds) for i in range(rng.integers(1, 4))}
    constants = {f"c{i}": rng.standard_normal(shapes[rng.integers(len(shapes))]).astype(kinds) for i in range(3)}
    constants |= {"low": np.array(-0.5, kinds), "high": np.array(1.5, kinds)}
    values, nodes = [*inputs, "c0", "c1", "c2"], []
    if rng.integers(2) and kinds == "float32":  # a convolution leaves its result in a layout of its own
        inputs["image"] = rng.standard_normal((1, 4, 9, 9)).astype(np.float32)
        constants["kernel"] = rng.standard_normal((16, 4, 3, 3)).astype(np.float32)
        nodes.append(helper.make_node("Conv", ["image", "kernel"], ["conv"], pads=[1] * 4))
        values = ["conv"] + [name for name in values if ({**inputs, **constants})[name].shape in ((), (1,), (16, 1, 1), (1, 16, 1, 1))]
    for i in range(rng.integers(2, 24)):
        recent = values[-6:]
        name = f"v{i}"
        if rng.random() < 0.5:
            op = UNARY[rng.integers(len(UNARY))]
            nodes.append(helper.make_node(op, [recent[rng.integers(len(recent))], *(["low", "high"] if op == "Clip" else [])], [name]))
        else:
            op = BINARY[rng.integers(len(BINARY))]
            nodes.append(helper.make_node(op, [recent[rng.integers(len(recent))], values[rng.integers(len(values))]], [name]))
        values.append(name)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kinds))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, element, x.shape) for name, x in inputs.items()],
                              [helper.make_tensor_value_info(name, element, None) for name in dict.fromkeys([values[-1], values[-2]])
                               if name.startswith("v")],
                              [numpy_helper.from_array(x, name) for name, x in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), inputs


@pytest.mark.parametrize("seed", range(250))
def test_a_chain_has_the_bits_of_its_operators_one_by_one(seed):
    print("seed", seed)
    model, inputs = random_model(seed)
    wanted = Executor(model, fuse=False).run(inputs)
    for threads in (1, 2):
        runs = Executor(model, threads=threads)
        for _ in range(2):
            for a, b in zip(runs.run(inputs), wanted):
                assert a.shape == b.shape and a.dtype == b.dtype
                if "Conv" in {node.op_type for node in model.graph.node}:
                    assert np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)
                else:
                    assert a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=True)


def test_chains_are_found():
    fused = sum("ai.anybit:Elementwise" in Executor(random_model(seed)[0]).steps() for seed in range(50))
    assert fused > 25


def chain(nodes, inputs, constants=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in inputs],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(x, name) for name, x in dict(constants).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_one_program_serves_every_shape():
    model = chain([helper.make_node("Sigmoid", ["a"], ["s"]), helper.make_node("Mul", ["s", "b"], ["m"]),
                   helper.make_node("Add", ["m", "a"], ["y"])], ["a", "b"])
    runs = Executor(model)
    assert runs.steps() == ["ai.anybit:Elementwise"]
    rng = np.random.default_rng(4)
    for a, b in (((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (3, 1)), ((1,), (2, 700)), ((2, 3, 600), (3, 1)), ((), ())):
        feeds = {"a": rng.standard_normal(a).astype(np.float32), "b": rng.standard_normal(b).astype(np.float32)}
        wanted = Executor(model, fuse=False).run(feeds)[0]
        assert np.array_equal(runs.run(feeds)[0], wanted)


def test_shapes_that_do_not_broadcast_are_named_with_their_node():
    model = chain([helper.make_node("Sigmoid", ["a"], ["s"]), helper.make_node("Mul", ["s", "b"], ["y"], name="gate")], ["a", "b"])
    with pytest.raises(ExecutorError, match="gate"):
        Executor(model).run({"a": np.zeros((2, 3), np.float32), "b": np.zeros((2, 4), np.float32)})
