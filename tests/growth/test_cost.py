"""Small files that cause much work: the work before a model runs (folding, inlining, inference, generation) has limits on
bytes, elements and nodes."""
import os
import pathlib
import resource
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

PROGRAM = pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")) / "bin/anybit"
CPU_SECONDS = 10
MEMORY = 1200 * 2**20  # --max-work-bytes is 256 MB by default; constants, copies and the program come on top
OPSET = 17


def value(name, dims=(1,), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def model(nodes, constants=(), functions=(), sparse=(), output=None):
    """A model whose nodes compute `k` from constants; the maximum of `k` is added to an input."""
    nodes = [*nodes, helper.make_node("ReduceMax", ["k"], ["t"], keepdims=0), helper.make_node("Add", ["x", "t"], ["y"])]
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants]
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")], constants, sparse_initializer=list(sparse))
    imports = [helper.make_opsetid("", OPSET)] + ([helper.make_opsetid("f", 1)] if functions else [])
    return helper.make_model(graph, ir_version=8, opset_imports=imports, functions=list(functions))


def doubling():
    """A constant of four bytes, doubled thirty times."""
    nodes = [helper.make_node("Concat", [f"k{i}", f"k{i}"], [f"k{i + 1}" if i < 29 else "k"], axis=0) for i in range(30)]
    return model(nodes, [("k0", np.float32([1]))])


def resized():
    return model([helper.make_node("Resize", ["c", "", "s"], ["k"])],
                 [("c", np.ones((1, 1, 1, 1), np.float32)), ("s", np.float32([1, 1, 2e4, 2e4]))])


def transformed():
    return model([helper.make_node("DFT", ["c", "n"], ["k"], axis=1)],
                 [("c", np.ones((1, 1, 1), np.float32)), ("n", np.int64(2**28))])


def filled():
    return model([helper.make_node("ConstantOfShape", ["n"], ["k"])], [("n", np.int64([2**30]))])


def expanded():
    return model([helper.make_node("Expand", ["c", "n"], ["k"])], [("c", np.float32([1])), ("n", np.int64([2**15, 2**15]))])


def tiled():
    return model([helper.make_node("Tile", ["c", "n"], ["k"])], [("c", np.ones(64, np.float32)), ("n", np.int64([2**24]))])


def counted():
    return model([helper.make_node("Range", ["a", "b", "c"], ["k"])],
                 [("a", np.float32(0)), ("b", np.float32(1e9)), ("c", np.float32(1))])


def multiplied():
    """Small inputs and outputs, but many multiplications in between."""
    nodes = [helper.make_node("Expand", ["c", "n"], ["a"]), helper.make_node("Einsum", ["a", "a"], ["k"], equation="ij,kl->ik")]
    return model(nodes, [("c", np.float32([1])), ("n", np.int64([4000, 4000]))])


def many_copies():
    """Each copy alone is within the limit."""
    nodes = [helper.make_node("Expand", ["c", "n"], [f"e{i}"]) for i in range(500)]
    return model(nodes + [helper.make_node("Max", [f"e{i}" for i in range(500)], ["k"])],
                 [("c", np.float32([1])), ("n", np.int64([2**22]))])


def calling(levels=40):
    """Functions that each call the next one twice: 2^levels nodes."""
    functions = [helper.make_function("f", f"F{i}", ["a"], ["b"],
                                      [helper.make_node(f"F{i + 1}", ["a"], ["t"], domain="f"),
                                       helper.make_node(f"F{i + 1}", ["t"], ["b"], domain="f")],
                                      [helper.make_opsetid("f", 1)]) for i in range(levels)]
    functions.append(helper.make_function("f", f"F{levels}", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])],
                                          [helper.make_opsetid("", OPSET)]))
    return model([helper.make_node("F0", ["x"], ["k"], domain="f")], functions=functions)


def sparse():
    one = helper.make_sparse_tensor(numpy_helper.from_array(np.float32([1]), "k"),
                                    helper.make_tensor("i", TensorProto.INT64, [1], [0]), [2**32])
    return model([], sparse=[one])


HOSTILE = [doubling, resized, transformed, filled, expanded, tiled, counted, multiplied, many_copies, calling, sparse]
COMMANDS = {
    "inspect": "inspect {m}",
    "prepare": "prepare {m} -o {o}.onnx",
    "weights": "quantize {m} -o {o}.onnx --recipe w4",
    "codegen": "codegen {m} -t c-gen -o {o}.c",
    "convert-opset": "convert-opset {m} -o {o}.onnx --opset 21",
}


def watched(command):
    """Exit code and output of a command that runs with limits on CPU time and memory."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    done = subprocess.run([PROGRAM, *command.split()], capture_output=True, text=True, preexec_fn=limit)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("made", HOSTILE, ids=lambda one: one.__name__)
def test_small_files_cause_bounded_work(made, tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(made(), path)
    assert path.stat().st_size < 2**16
    for name, command in COMMANDS.items():
        code, said = watched(command.format(m=path, o=tmp_path / name))
        assert code in (0, 1, 2), f"{name}: {code}: {said}"
        assert "memory" not in said, f"{name}: {said}"


def test_a_remark_names_the_node_that_is_not_folded_and_the_limit_to_raise(tmp_path):
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    constants = [(f"k{i}", np.ones(1000, np.float32)) for i in range(40)]
    nodes = [helper.make_node("Neg", ["k0"], ["a0"])] + \
            [helper.make_node("Add", [f"a{i}", f"k{i + 1}"], [f"a{i + 1}" if i < 38 else "k"]) for i in range(39)]
    onnx.save(model(nodes, constants), path)
    code, said = watched(f"prepare {path} -o {out} --max-work-elements 0")
    assert code == 0 and "--max-work-elements" not in said  # its own constants allow it
    assert "Neg" not in [one.op_type for one in onnx.load(out).graph.node]
    nodes = [helper.make_node("Einsum", ["c", "c"], ["k"], equation="ij,kl->ik")]
    onnx.save(model(nodes, [("c", np.ones((512, 512), np.float32))]), path)
    code, said = watched(f"prepare {path} -o {out}")
    assert code == 0 and "left as written" in said and "--max-work-elements" in said
    assert "Einsum" in [one.op_type for one in onnx.load(out).graph.node]


def test_functions_that_expand_to_too_many_nodes_are_rejected_with_the_name_of_the_limit(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(calling(18), path)
    for command in ("run {m}", "codegen {m} -t c-gen -o {m}.c"):
        code, said = watched(command.format(m=path))
        assert code == 1 and "--max-work-nodes" in said, said


@pytest.mark.parametrize("node, constants", [
    (helper.make_node("Pad", ["x", "p"], ["y"], mode="edge"), [("p", np.int64([0, 2**31 - 16]))]),
    (helper.make_node("Resize", ["x", "", "s"], ["y"], mode="nearest"), [("s", np.float32([2**30]))]),
    (helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear", antialias=1), [("s", np.float32([1e-9]))])],
    ids=["Pad", "Resize", "antialias"])
def test_tables_of_generated_code_are_bounded(node, constants, tmp_path):
    """Generated code looks up the source index of each output element; the model decides how long the table is."""
    length = 2**31 if node.attribute and any(one.name == "antialias" for one in node.attribute) else 4
    graph = helper.make_graph([node], "g", [value("x", (length,))], [value("y", None)],
                              [numpy_helper.from_array(np.asarray(array), name) for name, array in constants])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 18)]), path)
    code, said = watched(f"codegen {path} -t c-gen -o {tmp_path / 'm.c'}")
    assert code == 1 and "a table of" in said, said
