"""Graphs of n nodes, and the commands whose cost must grow linearly with n."""
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
    """A chain of nodes; make(i, input, output) returns one node, or several."""
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
    """Ifs with two branches that read a value of the outer graph."""
    def branch(i, op):
        return helper.make_graph([helper.make_node(op, ["x"], [f"b{i}{op}"])], f"g{op}", [], [value(f"b{i}{op}")])
    k = n // 3
    nodes = [helper.make_node("If", ["c"], [f"h{i}"], then_branch=branch(i, "Relu"), else_branch=branch(i, "Neg"))
             for i in range(k)]
    return model(nodes + [helper.make_node("Sum", [f"h{i}" for i in range(k)], ["y"])],
                 [value("x"), value("c", (), TensorProto.BOOL)])


def nested_if(n):
    """Ten nested Ifs; all other nodes are in the innermost."""
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
    """The whole chain can be folded."""
    nodes = [helper.make_node("Neg", ["c" if i == 0 else f"k{i}"], [f"k{i + 1}"]) for i in range(n)]
    return model(nodes + [helper.make_node("Add", ["x", f"k{n}"], ["y"])],
                 constants=[constant("c", np.ones((1, WIDTH), np.float32))])


def concat_chain(n):
    """Each node appends a constant to the previous result."""
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
    """Computed shapes, as exporters write them."""
    def make(i, a, b):
        return [helper.make_node("Shape", [a], [f"s{i}"]), helper.make_node("Reshape", [a, f"s{i}"], [b])]
    return model(chain(n // 2, make), [value("x", ("batch", WIDTH))], [value("y", ("batch", WIDTH))])


def quantized_pass_through(n):
    """Pass-through operators between Q and DQ, all with the same scale and zero point; a Sum reads the scale n times."""
    def make(i, a, b):
        return [helper.make_node("DequantizeLinear", [a if i else "q", "s", "z"], [f"d{i}"]),
                helper.make_node("Transpose", [f"d{i}"], [f"t{i}"], perm=[1, 0]),
                helper.make_node("QuantizeLinear", [f"t{i}", "s", "z"], [b if b != "y" else "last"])]
    k = n // 6 * 2
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), *chain(k, make),
             helper.make_node("DequantizeLinear", ["last", "s", "z"], ["d"]),
             helper.make_node("Sum", ["d", *["s"] * n], ["y"])]
    return model(nodes, constants=[constant("s", np.float32(0.1)), constant("z", np.int8(0))])


def untyped_integers(n):
    """A chain of pass-through operators on quantized values; each value also has a DequantizeLinear without zero point, which would
    give its type."""
    k = n // 2 * 2
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["h0"])]
    for i in range(k):
        nodes += [helper.make_node("Transpose", [f"h{i}"], [f"h{i + 1}"], perm=[1, 0]),
                  helper.make_node("DequantizeLinear", [f"h{i + 1}", "s"], [f"d{i}"])]
    return model(nodes, outputs=[value(f"d{i}", (1, WIDTH) if i % 2 else (WIDTH, 1)) for i in range(k)],
                 constants=[constant("s", np.float32(0.1)), constant("z", np.int8(0))])


def functions_after_linear(n):
    """Quantized matrix multiplications, each with a function before QuantizeLinear: the fusion tries a lookup table for each."""
    def make(i, a, b):
        return [helper.make_node("DequantizeLinear", [a if i else "q", "s", "z"], [f"d{i}"]),
                helper.make_node("MatMul", [f"d{i}", f"wd{i}"], [f"m{i}"]),
                helper.make_node("Floor", [f"m{i}"], [f"f{i}"]),
                helper.make_node("QuantizeLinear", [f"f{i}", "s", "z"], [b if b != "y" else "last"])]
    k = max(n // 5, 1)
    nodes = [helper.make_node("DequantizeLinear", [f"w{i}", "s", "z"], [f"wd{i}"]) for i in range(k)]
    nodes += [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), *chain(k, make),
              helper.make_node("DequantizeLinear", ["last", "s", "z"], ["y"])]
    weights = [constant(f"w{i}", np.full((WIDTH, WIDTH), i % 5 - 2, np.int8)) for i in range(k)]
    return model(nodes, constants=weights + [constant("s", np.float32(0.1)), constant("z", np.int8(0))])


def convs_used_twice(n):
    """Convolutions with two consumers: no activation can be fused, but the fusion has to check."""
    def make(i, a, b):
        return [helper.make_node("Conv", [a, "w"], [f"c{i}"], pads=[1, 1, 1, 1]),
                helper.make_node("Neg", [f"c{i}"], [f"l{i}"]), helper.make_node("Abs", [f"c{i}"], [f"r{i}"]),
                helper.make_node("Max", [f"l{i}", f"r{i}"], [b])]
    shape = (1, 4, 2, 2)
    weight = constant("w", np.random.default_rng(0).normal(size=(4, 4, 3, 3)).astype(np.float32) * 0.1)
    return model(chain(n // 4, make), [value("x", shape)], [value("y", shape)], [weight])


def shared_half(n):
    """Matrix multiplications in float16 that share a Cast."""
    k = n // 2
    nodes = [helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16)]
    for i in range(k):
        nodes += [helper.make_node("MatMul", ["h", "w"], [f"m{i}"]),
                  helper.make_node("Cast", [f"m{i}"], [f"f{i}"], to=FLOAT)]
    return model(nodes + [helper.make_node("Sum", [f"f{i}" for i in range(k)], ["y"])],
                 constants=[constant("w", np.eye(WIDTH, dtype=np.float16))])


def matmul_fan(n):
    """GEMMs of the same input and the same weight."""
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], [f"h{i}"]) for i in range(n)]
    return model(nodes + [helper.make_node("Sum", [f"h{i}" for i in range(n)], ["y"])],
                 constants=[constant("w", np.eye(WIDTH, dtype=np.float32)), constant("b", np.ones(WIDTH, np.float32))])


def passes_between_linear(n):
    """Pass-through operators between two matrix multiplications: all share one scale."""
    n -= n % 2
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m0"])]
    for i in range(0, n, 2):
        nodes += [helper.make_node("Transpose", [f"m{i}"], [f"m{i + 1}"], perm=[1, 0]),
                  helper.make_node("Reshape", [f"m{i + 1}", "row"], [f"m{i + 2}"])]
    return model([*nodes, helper.make_node("MatMul", [f"m{n}", "w"], ["y"])],
                 constants=[constant("row", np.array([1, WIDTH])), constant("w", np.eye(WIDTH, dtype=np.float32))])


def weights_as_inputs(n):
    """Initializers that are also inputs, as older exporters write them."""
    made = many_initializers(n)
    made.ir_version = 8
    for one in made.graph.initializer:
        made.graph.input.append(value(one.name, (WIDTH, WIDTH)))
    return made


def graphs_that_share_names(n):
    """Two branches with the same value names; each has as many Ifs as other nodes."""
    k = n // 4
    def leaf(name, op):
        return helper.make_graph([helper.make_node(op, ["x"], [name])], op, [], [value(name)])
    def branch(op):
        nodes = [helper.make_node(op, ["x" if i == 0 else f"v{i}"], [f"v{i + 1}"]) for i in range(k)]
        nodes += [helper.make_node("If", ["c"], [f"o{i}"], then_branch=leaf("a", "Relu"), else_branch=leaf("a", "Neg"))
                  for i in range(k)]
        return helper.make_graph([*nodes, helper.make_node("Sum", [f"v{k}", *(f"o{i}" for i in range(k))], ["sum"])],
                                 op, [], [value("sum")])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("Relu"), else_branch=branch("Neg"))
    return model([node], [value("x"), value("c", (), TensorProto.BOOL)])


def loop_fan(n):
    """Parallel Loops, each reading two values of the outer graph."""
    def body(i):
        nodes = [helper.make_node("Add", [f"s{i}", "x"], [f"t{i}"]), helper.make_node("Add", [f"t{i}", "k"], [f"u{i}"]),
                 helper.make_node("Identity", [f"go{i}"], [f"on{i}"])]
        return helper.make_graph(nodes, f"b{i}", [value(f"i{i}", (), TensorProto.INT64), value(f"go{i}", (), TensorProto.BOOL),
                                                  value(f"s{i}")], [value(f"on{i}", (), TensorProto.BOOL), value(f"u{i}")])
    k = n // 4
    nodes = [helper.make_node("Loop", ["m", "", "x"], [f"h{i}"], body=body(i)) for i in range(k)]
    return model(nodes + [helper.make_node("Sum", [f"h{i}" for i in range(k)], ["y"])],
                 constants=[constant("m", np.int64(2)), constant("k", np.ones((1, WIDTH), np.float32))])


SHAPES = [identity_chain, relu_chain, add_chain, relu_fan, wide_concat, conv_chain, many_initializers, many_outputs,
          many_inputs, qdq_chain, if_fan, nested_if, function_calls, transpose_chain, reshape_chain, constant_chain,
          concat_chain, same_names, shape_chain, quantized_pass_through, untyped_integers, functions_after_linear,
          convs_used_twice, shared_half, matmul_fan, passes_between_linear, weights_as_inputs,
          graphs_that_share_names, loop_fan]

# The commands to run: {m} is the model, {o} an output, {c} samples.
COMMANDS = {
    "inspect": "inspect {m} --nodes",
    "prepare": "prepare {m} -o {o}",
    "int8": "quantize {m} -o {o} --recipe int8 --calib {c} --requantize",
    "w4": "quantize {m} -o {o} --recipe w4 --requantize",
    "dynamic": "quantize {m} -o {o} --recipe dynamic-int8 --requantize",
    "mxfp4": "quantize {m} -o {o} --recipe mxfp4 --requantize",
    "codegen": "codegen {m} -t c-gen -o {o}.c",
    "run": "run {m} --threads 1",
    "run-json": "run {m} --threads 1 --json",
    "calibrate": "calibrate {m} --data {c} -o {o}.json --threads 1 --json --allow-nan",
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
    given = {one.name for one in made.graph.initializer}
    for i in range(2):
        arrays = {}
        for one in made.graph.input:
            if one.name in given:
                continue
            kind = one.type.tensor_type
            dims = [d.dim_value or 1 for d in kind.shape.dim]
            arrays[one.name] = (np.bool_(i) if kind.elem_type == TensorProto.BOOL
                                else random.normal(size=dims).astype(np.float32))
        np.savez(samples / f"{i}.npz", **arrays)
    return folder
