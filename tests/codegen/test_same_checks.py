"""Generators reject all models that `run` rejects: mutated node cases, and models that once caused out-of-bounds writes."""
import subprocess

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support import generating, mutating, node_cases
from support.generating import NotGenerated, generate
from support.mutating import executing

SEED = 7
EACH = 130  # mutants per operator; `make test-checks` runs all
PROGRAMS = 130


@pytest.fixture(scope="module")
def some():
    print(f"seed {SEED}")
    return list(mutating.sample(EACH, SEED))


def test_c_gen_rejects_what_run_rejects(some, tmp_path):
    found = [f"{one}: {said}" for one, said in mutating.disagreements(some, tmp_path)]
    assert not found, "\n".join(found)


def test_every_operator_with_cases_is_mutated(some):
    operators = {case.operator for case in node_cases.cases().values() if next(mutating.mutants(case), None)}
    assert {one.operator for one in some} == operators


def test_programs_of_accepted_mutants_stay_within_their_memory(some, tmp_path):
    accepted = []
    for one in some[::7]:
        if mutating.refusal_of_run(one) is None and mutating.refusal_of_c_gen(one, tmp_path / "one.c") is None:
            accepted.append(one)
    found = [f"{one}: {said}" for one, said in mutating.compile_and_run(accepted[:PROGRAMS], tmp_path)]
    assert accepted and not found, "\n".join(found)


def single(op, inputs, constants, outputs=1, **attributes):
    """A model of one node; `inputs`: {name: shape}, `constants`: {name: array}, in the node's order."""
    names = list({**inputs, **constants})
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
                              [helper.make_empty_tensor_value_info("y0")], [numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def floats(*shape):
    return np.ones(shape, np.float32)


WRONG = {
    "LSTM with weights for fewer features": single("LSTM", {"x": (1, 1, 64)}, {"w": floats(1, 4, 1), "r": floats(1, 4, 1)}, hidden_size=1),
    "LSTM with too small a state's weight": single("LSTM", {"x": (2, 1, 3)}, {"w": floats(1, 16, 3), "r": floats(1, 16, 1)}, hidden_size=4),
    "GRU with weights for other features": single("GRU", {"x": (2, 1, 9)}, {"w": floats(1, 12, 3), "r": floats(1, 12, 4)}, hidden_size=4),
    "GRU with too small a state's weight": single("GRU", {"x": (2, 1, 3)}, {"w": floats(1, 12, 3), "r": floats(1, 12, 1)}, hidden_size=4),
    "GRU without features": single("GRU", {"x": (2, 1, 0)}, {"w": floats(1, 12, 3), "r": floats(1, 12, 4)}, hidden_size=4),
    "Conv with a short bias": single("Conv", {"x": (1, 3, 8, 8)}, {"w": floats(4, 3, 3, 3), "b": floats(1)}),
    "BatchNormalization with short scales": single("BatchNormalization", {"x": (1, 8, 4, 4)},
                                                   {"s": floats(2), "b": floats(8), "m": floats(8), "v": floats(8)}),
    "InstanceNormalization with short scales": single("InstanceNormalization", {"x": (1, 8, 4)}, {"s": floats(2), "b": floats(8)}),
    "LayerNormalization with a short scale": single("LayerNormalization", {"x": (2, 16)}, {"s": floats(4), "b": floats(16)}),
    "Gemm with an addend that does not spread": single("Gemm", {"x": (4, 8)}, {"w": floats(8, 8), "c": floats(3)}),
    "Einsum with sizes that differ": single("Einsum", {"a": (3, 4), "b": (5, 6)}, {}, equation="ij,jk->ik"),
    "DequantizeLinear with scales for fewer blocks": single("DequantizeLinear", {}, {"x": np.ones((4, 64), np.int8), "s": floats(4, 1)},
                                                            axis=1, block_size=16),
    "Gather with a constant index outside": single("Gather", {"x": (4, 2)}, {"i": np.array([4], np.int64)}),
    "GatherND with a constant index outside": single("GatherND", {"x": (4, 2)}, {"i": np.array([[0, 2]], np.int64)}),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_models_are_rejected_by_run_and_by_generators(what, tmp_path):
    model = WRONG[what]
    ports = {one.name: [dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in model.graph.input}
    with pytest.raises(executing.ExecutorError):
        executing.Executor(model).run({name: np.zeros(shape, np.float32) for name, shape in ports.items()})
    with pytest.raises(NotGenerated, match=model.graph.node[0].op_type):
        generate(model, tmp_path / "net.c")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", WRONG)
def test_commands_say_which_node_is_wrong(what, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(WRONG[what].SerializeToString())
    program = generating.BUILD / "bin" / "anybit"
    done = subprocess.run([program, "inspect", path], capture_output=True, text=True)
    assert done.returncode == 0 and f"node 0 ({WRONG[what].graph.node[0].op_type})" in done.stdout, done.stdout + done.stderr
    for command in ([program, "prepare", path, "-o", tmp_path / "p.onnx"], [program, "quantize", path, "-o", tmp_path / "q.onnx", "--recipe", "w8"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert 0 <= done.returncode < 64, done.stderr  # no signal
        assert done.returncode == 0 or done.stderr.startswith("anybit: ")


def choice(then_nodes, else_nodes, condition, declared=TensorProto.INT64):
    """An If with a constant condition, which passes can inline; None: a missing branch."""
    def branch(name, nodes):
        return helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(nodes[-1].output[0])])

    branches = {f"{name}_branch": branch(name, nodes) for name, nodes in (("then", then_nodes), ("else", else_nodes)) if nodes}
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("If", ["c"], ["y"], **branches)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", declared, [])], [numpy_helper.from_array(np.array(condition), "c")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_an_invalid_branch_that_is_always_taken_is_rejected_by_both(tmp_path):
    wrong = [helper.make_node("Softmax", ["s"], ["p"]), helper.make_node("Size", ["p"], ["a"])]
    right = [helper.make_node("Size", ["s"], ["b"])]
    model = choice(wrong, right, True)
    with pytest.raises(executing.ExecutorError, match="Softmax"):
        executing.Executor(model).run({"x": floats(2, 3)})
    with pytest.raises(NotGenerated, match="Softmax"):
        generate(model, tmp_path / "net.c")
    generate(choice(wrong, right, False), tmp_path / "net.c")  # it is never taken


def test_an_if_that_lacks_a_branch_is_not_replaced_by_the_other(tmp_path):
    """The result may contradict the declared type, and the saved model could not be loaded."""
    path, prepared = tmp_path / "m.onnx", tmp_path / "p.onnx"
    path.write_bytes(choice(None, [helper.make_node("Cast", ["x"], ["b"], to=TensorProto.FLOAT)], False, TensorProto.DOUBLE).SerializeToString())
    program = generating.BUILD / "bin" / "anybit"
    done = subprocess.run([program, "prepare", path, "-o", prepared], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([program, "inspect", prepared], capture_output=True, text=True)
    assert done.returncode == 0 and "'then_branch' is missing" in done.stdout, done.stdout + done.stderr


DECEPTIVE = "a\u202e\u2066*/ int evil; /*\n#define x\r??/\\\u200f\u2029@0@@99999999@\x7f\u0085"


def test_names_of_the_model_stay_within_comments(tmp_path):
    """Bidirectional marks, line ends, comment ends, and characters with a meaning in C."""
    nodes = [helper.make_node("Relu", ["x"], [DECEPTIVE], name=DECEPTIVE), helper.make_node("Add", [DECEPTIVE, "c" + DECEPTIVE], ["h"], name="n" + DECEPTIVE),
             helper.make_node("If", ["b"], ["y"], name="if" + DECEPTIVE,
                              then_branch=helper.make_graph([helper.make_node("Neg", ["h"], ["t"])], "t", [], [helper.make_empty_tensor_value_info("t")]),
                              else_branch=helper.make_graph([helper.make_node("Abs", ["h"], ["e"])], "e", [], [helper.make_empty_tensor_value_info("e")]))]
    graph = helper.make_graph(nodes, DECEPTIVE, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
                                                 helper.make_tensor_value_info("b", TensorProto.BOOL, [])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
                              [numpy_helper.from_array(np.array([1, 2], np.float32), "c" + DECEPTIVE)])
    generate(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "net.c")
    for path in tmp_path.iterdir():
        text = path.read_text()
        assert not [hex(ord(one)) for one in text if one != "\n" and (ord(one) < 32 or 127 <= ord(one) < 160 or one in DECEPTIVE and ord(one) > 127)], path
        assert not any(line.startswith("#define x") or line.strip().startswith("int evil") for line in text.split("\n"))
    subprocess.run(["gcc", *generating.STRICT, "-Wbidi-chars=any", "-Wcomment", "-Wtrigraphs", "-fsyntax-only", tmp_path / "net.c"], check=True)
    program = generating.compile_shared(tmp_path / "net.c", tmp_path / "net.so")
    y, = generating.Program(program, "net", tmp_path / "net.h").run([np.array([-1, 3], np.float32), np.array(True)], [np.zeros(2, np.float32)])
    assert y.tolist() == [-1, -5]
