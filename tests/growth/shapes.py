"""Graphs of n nodes, and the commands that go over them: what twice the nodes may cost."""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
OPSET = 17
WIDTH = 8


def value(name, dims=(1, WIDTH), kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, list(dims))


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes, inputs=None, outputs=None, constants=(), functions=(), opset=OPSET):
    graph = helper.make_graph(nodes, "g", inputs or [value("x")], outputs or [value("y")], list(constants))
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("f", 1)] if functions else [])
    return helper.make_model(graph, ir_version=8, opset_imports=imports, functions=list(functions))


def chain(n, make):
    """Nodes one after the other; make(i, input, output) gives each, or several."""
    nodes = []
    for i in range(n):
        made = make(i, "x" if i == 0 else f"h{i}", "y" if i == n - 1 else f"h{i + 1}")
        nodes += made if isinstance(made, list) else [made]
    return nodes


def identity_chain(n):
    return model(chain(n, lambda i, a, b: helper.make_node("Identity", [a], [b])))


def relu_chain(n):
    return model(chain(n, lambda i, a, b: helper.make_node("Relu", [a], [b])))


def add_chain(n):
    shared = constant("c", np.ones((1, WIDTH), np.float32))
    return model(chain(n, lambda i, a, b: helper.make_node("Add", [a, "c"], [b])), constants=[shared])


def relu_fan(n):
    nodes = [helper.make_node("Relu", ["x"], [f"h{i}"]) for i in range(n)]
    return model(nodes + [helper.make_node("Sum", [f"h{i}" for i in range(n)], ["y"])])


def wide_concat(n):
    nodes = [helper.make_node("Sigmoid", ["x"], [f"h{i}"]) for i in range(n)]
    return model(nodes + [helper.make_node("Concat", [f"h{i}" for i in range(n)], ["y"], axis=1)],
                 outputs=[value("y", (1, WIDTH * n))])


def conv_chain(n):
    def make(i, a, b):
        return [helper.make_node("Conv", [a, f"w{i}", f"b{i}"], [f"c{i}"], pads=[1, 1, 1, 1]),
                helper.make_node("Relu", [f"c{i}"], [b])]
    random = np.random.default_rng(0)
    weights = [constant(f"{k}{i}", random.normal(size=s).astype(np.float32) * 0.1)
               for i in range(n // 2) for k, s in (("w", (4, 4, 3, 3)), ("b", (4,)))]
    shape = (1, 4, 4, 4)
    return model(chain(n // 2, make), [value("x", shape)], [value("y", shape)], weights)


def many_initializers(n):
    weights = [constant(f"w{i}", np.full((WIDTH, WIDTH), i % 7 - 3, np.float32)) for i in range(n)]
    return model(chain(n, lambda i, a, b: helper.make_node("MatMul", [a, f"w{i}"], [b])), constants=weights)


def many_outputs(n):
    nodes = [helper.make_node("Relu", ["x"], [f"h{i}"]) for i in range(n // 2)]
    nodes += [helper.make_node("Identity", [f"h{i}"], [f"y{i}"]) for i in range(n // 2)]
    return model(nodes, outputs=[value(f"y{i}") for i in range(n // 2)])


def many_inputs(n):
    inputs = [value(f"x{i}") for i in range(n)]
    return model([helper.make_node("Sum", [f"x{i}" for i in range(n)], ["y"])], inputs)


def qdq_chain(n):
    def make(i, a, b):
        return [helper.make_node("QuantizeLinear", [a, "s", "z"], [f"q{i}"]),
                helper.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"]),
                helper.make_node("MatMul", [f"d{i}", f"wd{i}"], [f"m{i}"]),
                helper.make_node("Relu", [f"m{i}"], [b])]
    k = max(n // 5, 1)
    nodes = [helper.make_node("DequantizeLinear", [f"w{i}", "s", "z"], [f"wd{i}"]) for i in range(k)]
    weights = [constant(f"w{i}", np.full((WIDTH, WIDTH), i % 5 - 2, np.int8)) for i in range(k)]
    return model(nodes + chain(k, make), constants=weights + [constant("s", np.float32(0.1)), constant("z", np.int8(0))])


def if_fan(n):
    """Each with two branches that use a value from around them."""
    def branch(i, op):
        return helper.make_graph([helper.make_node(op, ["x"], [f"b{i}{op}"])], f"g{op}", [], [value(f"b{i}{op}")])
    k = n // 3
    nodes = [helper.make_node("If", ["c"], [f"h{i}"], then_branch=branch(i, "Relu"), else_branch=branch(i, "Neg"))
             for i in range(k)]
    return model(nodes + [helper.make_node("Sum", [f"h{i}" for i in range(k)], ["y"])],
                 [value("x"), value("c", (), TensorProto.BOOL)])


def nested_if(n):
    """Ifs in Ifs, ten deep, the rest of the nodes at the bottom."""
    def level(depth):
        if depth == 0:
            nodes = [helper.make_node("Relu", ["x" if i == 0 else f"r{i}"], [f"r{i + 1}"]) for i in range(n)]
            return nodes, f"r{n}"
        def branch(part):
            nodes, last = part
            return helper.make_graph(nodes, f"d{depth}", [], [value(last)])
        other = [helper.make_node("Neg", ["x"], [f"n{depth}"])], f"n{depth}"
        return [helper.make_node("If", ["c"], [f"o{depth}"], then_branch=branch(level(depth - 1)),
                                 else_branch=branch(other))], f"o{depth}"
    nodes, last = level(10)
    return model(nodes + [helper.make_node("Relu", [last], ["y"])], [value("x"), value("c", (), TensorProto.BOOL)])


def function_calls(n):
    """Half as many functions as calls."""
    k = max(n // 4, 1)
    functions = [helper.make_function("f", f"F{i}", ["a"], ["b"],
                                      [helper.make_node("Relu", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])],
                                      [helper.make_opsetid("", OPSET)]) for i in range(k)]
    return model(chain(2 * k, lambda i, a, b: helper.make_node(f"F{i % k}", [a], [b], domain="f")), functions=functions)


def transpose_chain(n):
    n -= n % 2
    return model(chain(n, lambda i, a, b: helper.make_node("Transpose", [a], [b], perm=[1, 0])))


def reshape_chain(n):
    n -= n % 2
    shapes = [constant("s0", np.array([WIDTH, 1])), constant("s1", np.array([1, WIDTH]))]
    return model(chain(n, lambda i, a, b: helper.make_node("Reshape", [a, f"s{i % 2}"], [b])), constants=shapes)


def constant_chain(n):
    """All of it can be computed before the model runs."""
    nodes = [helper.make_node("Neg", ["c" if i == 0 else f"k{i}"], [f"k{i + 1}"]) for i in range(n)]
    return model(nodes + [helper.make_node("Add", ["x", f"k{n}"], ["y"])],
                 constants=[constant("c", np.ones((1, WIDTH), np.float32))])


def concat_chain(n):
    """Each adds a constant to those before."""
    weights = [constant(f"w{i}", np.ones((1, 1), np.float32)) for i in range(n)]
    nodes = [helper.make_node("Concat", ["w0" if i == 0 else f"k{i}", f"w{i}"], [f"k{i + 1}"], axis=0) for i in range(n)]
    return model(nodes + [helper.make_node("ReduceSum", [f"k{n}"], ["t"]), helper.make_node("Add", ["x", "t"], ["y"])],
                 constants=weights)


def same_names(n):
    """Nodes that all have the same name."""
    made = relu_chain(n)
    for node in made.graph.node:
        node.name = "same"
    return made


def shape_chain(n):
    """Shapes that are computed, as exporters write them."""
    def make(i, a, b):
        return [helper.make_node("Shape", [a], [f"s{i}"]), helper.make_node("Reshape", [a, f"s{i}"], [b])]
    return model(chain(n // 2, make), [value("x", ("batch", WIDTH))], [value("y", ("batch", WIDTH))])


SHAPES = [identity_chain, relu_chain, add_chain, relu_fan, wide_concat, conv_chain, many_initializers, many_outputs,
          many_inputs, qdq_chain, if_fan, nested_if, function_calls, transpose_chain, reshape_chain, constant_chain,
          concat_chain, same_names, shape_chain]

# What is asked of each: {m} the model, {q} the model quantized to int8, {o} an output, {c} samples.
COMMANDS = {
    "inspect": "inspect {m} --nodes",
    "prepare": "prepare {m} -o {o}",
    "int8": "quantize {m} -o {o} --recipe int8 --calib {c} --requantize",
    "w4": "quantize {m} -o {o} --recipe w4 --requantize",
    "dynamic": "quantize {m} -o {o} --recipe dynamic-int8 --requantize",
    "mxfp4": "quantize {m} -o {o} --recipe mxfp4 --requantize",
    "codegen": "codegen {m} -t c-gen -o {o}.c",
    "run": "run {m} --threads 1",
    "compare": "compare {m} {m} --data {c} --threads 1",
    "report": "compare {m} {m} --data {c} --threads 1 --report {o}.html",
    "convert-opset": "convert-opset {m} -o {o} --opset 21",
}


def write(shape, n, folder):
    """The model of n nodes, and samples for it."""
    made = shape(n)
    folder = pathlib.Path(folder) / f"{shape.__name__}-{n}"
    samples = folder / "samples"
    samples.mkdir(parents=True)
    onnx.save(made, folder / "m.onnx")
    random = np.random.default_rng(1)
    for i in range(2):
        arrays = {}
        for one in made.graph.input:
            kind = one.type.tensor_type
            dims = [d.dim_value or 1 for d in kind.shape.dim]
            arrays[one.name] = (np.bool_(i) if kind.elem_type == TensorProto.BOOL
                                else random.normal(size=dims).astype(np.float32))
        np.savez(samples / f"{i}.npz", **arrays)
    return folder
