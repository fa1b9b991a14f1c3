"""Wrongly declared shapes are corrected with a remark, because ONNX Runtime runs such models, too."""
import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture
def wrong(tmp_path):
    """Two MatMuls; the declared shapes of the intermediate value and of the output are wrong."""
    weights = [numpy_helper.from_array(np.random.default_rng(i).normal(size=(4, 4)).astype(np.float32), f"w{i}") for i in (0, 1)]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w0"], ["between"]), helper.make_node("MatMul", ["between", "w1"], ["z"]),
         helper.make_node("Unsqueeze", ["z", "axis"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, "length"])],
        [*weights, numpy_helper.from_array(np.array([1]), "axis")],
        value_info=[helper.make_tensor_value_info("between", TensorProto.FLOAT, ["n", 7])])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


SAID = "value 'y': it is declared as float32[1, length], and its inferred type is float32[n, 1, 4]"


def shape_of(path, name):
    model = onnx.load(path)
    info = next(one for one in [*model.graph.output, *model.graph.value_info] if one.name == name)
    return [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]


def test_every_command_accepts_such_a_model_with_a_remark(anybit, wrong, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 4), np.float32))
    output = tmp_path / "out"
    for words in [["inspect"], ["prepare", "-o", tmp_path / "p.onnx"], ["run", "--dim", "n=2", "-o", output],
                  ["quantize", "-r", "int8", "--calib", tmp_path / "x.npy", "-o", tmp_path / "q.onnx"],
                  ["convert-opset", "-o", tmp_path / "o.onnx"], ["calibrate", "--data", tmp_path / "x.npy", "-o", tmp_path / "r.json"]]:
        done = anybit(words[0], wrong, *words[1:])
        assert SAID in done.stdout + done.stderr, words
    assert np.load(output / "y.npy").shape == (2, 1, 4)
    for name in ["p.onnx", "q.onnx", "o.onnx"]:
        assert shape_of(tmp_path / name, "y") == ["n", 1, 4]
    session = onnxruntime.InferenceSession(tmp_path / "q.onnx", providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": np.ones((3, 4), np.float32)})[0].shape == (3, 1, 4)


def test_json_has_the_remarks(anybit, wrong, tmp_path):
    problems = json.loads(anybit("inspect", wrong, "--json").stdout)["problems"]
    assert [one["place"] for one in problems] == ["value 'between'", "value 'y'"]
    for words in [["prepare"], ["quantize", "-r", "w8", "-o", tmp_path / "q.onnx"]]:
        said = json.loads(anybit(words[0], wrong, *words[1:], "--json").stdout)
        assert any(SAID in remark for remark in said["remarks"])


def test_a_shape_in_a_branch_is_corrected_there(anybit, tmp_path):
    def branch(op, wrong):
        return helper.make_graph([helper.make_node(op, ["x"], [f"{op}_y"])], op, [],
                                 [helper.make_tensor_value_info(f"{op}_y", TensorProto.FLOAT, wrong)])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("Relu", [3]), else_branch=branch("Abs", [2, 3]))
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
                                            helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [6])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    done = anybit("prepare", tmp_path / "m.onnx", "-o", tmp_path / "p.onnx")
    assert "then_branch: value 'Relu_y': it is declared as float32[3]" in done.stderr
    assert "Abs_y" not in done.stderr and shape_of(tmp_path / "p.onnx", "y") == [2, 3]
    inner = onnx.load(tmp_path / "p.onnx").graph.node[0].attribute
    shapes = {one.g.output[0].name: [dim.dim_value for dim in one.g.output[0].type.tensor_type.shape.dim] for one in inner}
    assert shapes == {"Relu_y": [2, 3], "Abs_y": [2, 3]}


def test_a_contradicting_element_type_is_rejected(anybit, wrong, tmp_path):
    model = onnx.load(wrong)
    model.graph.value_info[0].type.tensor_type.elem_type = TensorProto.INT64
    onnx.save(model, wrong)
    for words in [["inspect"], ["prepare", "-o", tmp_path / "p.onnx"]]:
        done = anybit(words[0], wrong, *words[1:], code=1)
        assert "it is declared as int64[n, 7], and its inferred type is float32[n, 4]" in done.stderr
    assert not (tmp_path / "p.onnx").exists()


def test_the_declared_shape_of_an_input_is_enforced(anybit, tmp_path):
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "i.onnx")
    anybit("prepare", tmp_path / "i.onnx", "-o", tmp_path / "p.onnx")
    assert shape_of(tmp_path / "p.onnx", "y") == [2, 3]
    assert [dim.dim_value for dim in onnx.load(tmp_path / "p.onnx").graph.input[0].type.tensor_type.shape.dim] == [2, 3]


def test_names_in_a_subgraph_may_shadow_outer_names(anybit, tmp_path):
    """Paddle writes subgraphs whose inputs and constants shadow outer values: the inner ones count."""
    body = helper.make_graph(
        [helper.make_node("Mul", ["v", "w"], ["inner"]), helper.make_node("If", ["go"], ["next"], then_branch=helper.make_graph(
            [helper.make_node("Add", ["inner", "v"], ["sum"])], "t", [], [helper.make_tensor_value_info("sum", TensorProto.FLOAT, [2])],
            [numpy_helper.from_array(np.float32([100, 100]), "v")]), else_branch=helper.make_graph(
            [helper.make_node("Neg", ["v"], ["neg"])], "e", [], [helper.make_tensor_value_info("neg", TensorProto.FLOAT, [2])])),
         helper.make_node("Identity", ["go"], ["on"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, [2])],
        [numpy_helper.from_array(np.float32([3, 5]), "w")])
    graph = helper.make_graph(
        [helper.make_node("Exp", ["x"], ["v"]), helper.make_node("Neg", ["x"], ["w"]),
         helper.make_node("Loop", ["two", "", "x"], ["y"], body=body), helper.make_node("Sum", ["y", "v", "w"], ["z"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])],
        [numpy_helper.from_array(np.array(2), "two")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    x = np.float32([1, -2])
    np.save(tmp_path / "x.npy", x)
    turn = lambda v: v * np.float32([3, 5]) + 100  # noqa: E731
    wanted = turn(turn(x)) + np.exp(x) - x
    for path in [tmp_path / "m.onnx", tmp_path / "p.onnx"]:
        anybit("run", path, "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "out")
        np.testing.assert_allclose(np.load(tmp_path / "out/z.npy"), wanted, rtol=1e-6)
        anybit("prepare", path, "-o", tmp_path / "p.onnx", "--in-place")
    # All names are unique in the saved model.
    onnx.checker.check_model(tmp_path / "p.onnx", full_check=True)


def test_a_dimension_of_minus_one_is_unknown(anybit, tmp_path):
    """Paddle writes it and ONNX Runtime reads it so; other negative sizes are rejected."""
    def written(size):
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size, 3])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [size, 3])])
        path = tmp_path / f"{size}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path
    np.save(tmp_path / "x.npy", np.ones((4, 3), np.float32))
    anybit("run", written(-1), "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "out")
    assert json.loads(anybit("inspect", tmp_path / "-1.onnx", "--json").stdout)["inputs"][0]["shape"] in ([None, 3], ["?", 3])
    anybit("prepare", tmp_path / "-1.onnx", "-o", tmp_path / "p.onnx")
    assert not onnx.load(tmp_path / "p.onnx").graph.input[0].type.tensor_type.shape.dim[0].HasField("dim_value")
    assert "dimension 0 is -2" in anybit("inspect", written(-2), code=1).stderr


@pytest.mark.parametrize("name", ["?", "None", "-1"])
def test_symbols_for_unknown_sizes_are_not_unified(anybit, tmp_path, name):
    """Exporters write "?" for every unknown size, so two of them may differ: code for [48, 192] must be generated."""
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [name, name])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [name, name])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    anybit("codegen", tmp_path / "m.onnx", "-t", "c-gen", "--shape", "x=48,192", "-o", tmp_path / "m.c")
    np.save(tmp_path / "x.npy", np.ones((4, 6), np.float32))
    anybit("run", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "out")
    assert np.load(tmp_path / "out/y.npy").shape == (4, 6)


def test_nodes_that_share_a_name_are_numbered(anybit, tmp_path):
    """ONNX forbids it, spox writes it, ONNX Runtime runs it. Saved models have unique names, in branches and functions too."""
    def branch(op):
        return helper.make_graph([helper.make_node(op, ["y"], [f"{op}_1"], "same"), helper.make_node(op, [f"{op}_1"], [f"{op}_2"], "same")],
                                 op, [], [helper.make_tensor_value_info(f"{op}_2", TensorProto.FLOAT, [3])])
    nodes = [helper.make_node("Neg", ["x"], ["a"], "same"), helper.make_node("Exp", ["a"], ["b"], "same_2"),
             helper.make_node("Relu", ["b"], ["y"], "same"), helper.make_node("Twice", ["y"], ["t"], "same", domain="own"),
             helper.make_node("If", ["c"], ["z"], "", then_branch=branch("Abs"), else_branch=branch("Neg"))]
    twice = helper.make_function("own", "Twice", ["u"], ["w"], [helper.make_node("Add", ["u", "u"], ["v"], "same"),
                                                                helper.make_node("Identity", ["v"], ["w"], "same")],
                                 [helper.make_opsetid("", 17)])
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]),
                                           helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, [3]), helper.make_tensor_value_info("t", TensorProto.FLOAT, [3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("own", 1)], ir_version=8,
                                functions=[twice]), tmp_path / "m.onnx")
    x = np.float32([1, -2, 3])
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "c.npy", np.array(True))
    anybit("run", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}", "--input", f"c={tmp_path / 'c.npy'}", "-o", tmp_path / "out")
    np.testing.assert_allclose(np.load(tmp_path / "out/t.npy"), 2 * np.exp(-x), rtol=1e-6)
    anybit("convert-opset", tmp_path / "m.onnx", "-o", tmp_path / "o.onnx")
    saved = onnx.load(tmp_path / "o.onnx")
    assert [node.name for node in saved.graph.node] == ["same", "same_2", "same_3", "same_4", ""]
    for one in saved.graph.node[4].attribute:
        assert [node.name for node in one.g.node] == ["same", "same_2"]
    onnx.checker.check_model(saved, full_check=True)


def test_a_node_without_a_required_attribute_is_not_removed(anybit, tmp_path):
    """Concat of one value is an identity, but without an axis it is invalid: it must be checked before it is removed."""
    graph = helper.make_graph([helper.make_node("Concat", ["x"], ["z"]), helper.make_node("Relu", ["z"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    for words in [["run", "-o", tmp_path / "out"], ["codegen", "-t", "c-gen", "-o", tmp_path / "m.c"]]:
        assert "attribute 'axis' is missing" in anybit(words[0], tmp_path / "m.onnx", *words[1:], code=1).stderr
    assert "attribute 'axis' is missing" in anybit("inspect", tmp_path / "m.onnx").stdout
