"""Invalid nodes from mutated models: each command rejects the model or leaves the node unchanged."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def saved(path, nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def value(name, shape=(3,), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def refused_by_run_and_codegen(anybit, path, folder, said):
    for words in [["run", "-o", folder / "out"], ["codegen", "-t", "c-gen", "-o", folder / "m.c"]]:
        assert said in anybit(words[0], path, *words[1:], code=1).stderr, words
    assert not (folder / "m.c").exists()


def test_a_missing_attribute_in_an_unused_node(anybit, tmp_path):
    path = saved(tmp_path / "m.onnx", [helper.make_node("Cast", ["x"], ["unused"]), helper.make_node("Relu", ["x"], ["y"])], [value("x")],
                 [value("y")])
    refused_by_run_and_codegen(anybit, path, tmp_path, "attribute 'to' is missing")


def test_an_invalid_node_that_would_be_an_identity(anybit, tmp_path):
    path = saved(tmp_path / "m.onnx", [helper.make_node("Tile", ["x", "once"], ["y"])], [value("x", (1, 3))], [value("y", (1, 3))],
                 [numpy_helper.from_array(np.array(1), "once")])
    refused_by_run_and_codegen(anybit, path, tmp_path, "1 repeats are given for a tensor of rank 2")


def test_a_branch_with_an_invalid_identity(anybit, tmp_path):
    """Preparation inlines the branch and would then remove the Transpose."""
    def branch(name, nodes):
        return helper.make_graph([*nodes, helper.make_node("Transpose", [nodes[-1].output[0] if nodes else "x"], [name], perm=[0, 1, 2])], name, [],
                                 [helper.make_empty_tensor_value_info(name)])
    path = saved(tmp_path / "m.onnx", [helper.make_node("If", ["no"], ["y"], then_branch=branch("t", []),
                                                        else_branch=branch("e", [helper.make_node("Flatten", ["x"], ["flat"])]))],
                 [value("x", (2, 3, 4))], [value("y", None)], [numpy_helper.from_array(np.array(False), "no")])
    refused_by_run_and_codegen(anybit, path, tmp_path, "perm has 3 numbers, the input rank 2")


def test_a_branch_with_a_node_that_the_opset_lacks(anybit, tmp_path):
    """The node is unused: it would be removed once the branch is inlined."""
    def branch(name, nodes):
        return helper.make_graph([*nodes, helper.make_node("Relu", ["x"], [name])], name, [], [helper.make_empty_tensor_value_info(name)])
    path = saved(tmp_path / "m.onnx", [helper.make_node("If", ["yes"], ["y"], else_branch=branch("e", []),
                                                        then_branch=branch("t", [helper.make_node("DequantizeLinear", ["quantized", "scale"], ["unused"])]))],
                 [value("x")], [value("y")], [numpy_helper.from_array(np.array(True), "yes"), numpy_helper.from_array(np.int8([1]), "quantized"),
                                              numpy_helper.from_array(np.float32(1), "scale")], opset=6)
    refused_by_run_and_codegen(anybit, path, tmp_path, "opset 6 does not have DequantizeLinear yet")


def test_an_invalid_node_whose_value_does_not_matter(anybit, tmp_path):
    """Both operands of Where are equal, so the condition is unused; its producer multiplies booleans, which is invalid."""
    path = saved(tmp_path / "m.onnx", [helper.make_node("Mul", ["b", "b"], ["c"]), helper.make_node("Where", ["c", "one", "one"], ["z"]),
                                       helper.make_node("Expand", ["x", "z"], ["y"])],
                 [value("x", (1,)), value("b", (1,), TensorProto.BOOL)], [value("y", (1,))], [numpy_helper.from_array(np.array([1]), "one")])
    refused_by_run_and_codegen(anybit, path, tmp_path, "which Mul cannot take")


def test_a_matmul_without_inputs_in_a_branch(anybit, tmp_path):
    def branch(name, op):
        return helper.make_graph([helper.make_node(op, [] if op == "MatMul" else ["x"], [name])], name, [], [value(name)])
    path = saved(tmp_path / "m.onnx", [helper.make_node("If", ["c"], ["y"], then_branch=branch("t", "MatMul"), else_branch=branch("e", "Relu"))],
                 [value("x"), value("c", (), TensorProto.BOOL)], [value("y")])
    for recipe in ["int8", "w8", "dynamic-int8", "mxfp4"]:
        assert "input 0 is missing" in anybit("quantize", path, "-r", recipe, "-o", tmp_path / "q.onnx", code=1).stderr


def test_a_matmul_without_inputs_beside_others(anybit, tmp_path):
    path = saved(tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("MatMul", [], ["z"])],
                 [value("x", (2, 4, 8))], [value("y", None), value("z", None)], [numpy_helper.from_array(np.ones((8, 8), np.float32), "w")], opset=21)
    np.save(tmp_path / "x.npy", np.ones((2, 4, 8), np.float32))
    for recipe in ["int8", "w8", "dynamic-int8", "mxfp4"]:
        words = ["quantize", path, "-r", recipe, "-o", tmp_path / "q.onnx", "--calib", tmp_path / "x.npy"]
        assert "input 0 is missing" in anybit(*words, code=1).stderr


def test_a_type_that_is_inferred_only_after_preparation(anybit, tmp_path):
    """Sum of one tensor is an identity. Here it is a sequence, and the declared type contradicts once the node is removed."""
    path = saved(tmp_path / "m.onnx", [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]), helper.make_node("Sum", ["s"], ["y"])], [value("x")],
                 [value("y")])
    assert "it is declared as float32[3], and its inferred type is seq(float32)" in anybit("prepare", path, "-o", tmp_path / "p.onnx", code=1).stderr
    assert not (tmp_path / "p.onnx").exists()


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_clip_without_bounds_changes_no_integer(anybit, tmp_path, kind):
    """Before opset 11 the bounds were attributes, with defaults beyond the range of integers."""
    x = np.array([np.iinfo(kind).min, 0, np.iinfo(kind).max], kind)
    path = saved(tmp_path / "m.onnx", [helper.make_node("Clip", ["x"], ["y"])], [value("x", (3,), helper.np_dtype_to_tensor_dtype(x.dtype))],
                 [value("y", (3,), helper.np_dtype_to_tensor_dtype(x.dtype))], opset=6)
    np.save(tmp_path / "x.npy", x)
    anybit("run", path, "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "out")
    assert (np.load(tmp_path / "out/y.npy") == x).all()


def test_a_range_whose_steps_add_up_beyond_int64(anybit, tmp_path):
    ends = [-2**63, 2**63 - 1, 2**62]
    path = saved(tmp_path / "m.onnx", [helper.make_node("Range", ["start", "limit", "delta"], ["y"])], [], [value("y", None, TensorProto.INT64)],
                 [numpy_helper.from_array(np.array(end, np.int64), name) for name, end in zip(["start", "limit", "delta"], ends)])
    anybit("run", path, "-o", tmp_path / "out")
    assert np.load(tmp_path / "out/y.npy").tolist() == [-2**63, -2**62, 0, 2**62]


@pytest.mark.parametrize("named", ["", "v_last"])
@pytest.mark.parametrize("rows, grows", [(1, helper.make_node("Concat", ["v", "row"], ["longer"], axis=0)), (5, helper.make_node("Add", ["v", "row"], ["longer"]))])
def test_shapes_that_change_in_a_loop_are_not_generated(anybit, tmp_path, named, rows, grows):
    """A loop-carried value grows. Generated code has fixed shapes, and its arrays would be too small."""
    body = helper.make_graph([helper.make_node("Identity", ["c"], ["again"]), grows, helper.make_node("Add", ["longer", "longer"], ["next"]),
                              helper.make_node("ReduceMax", ["longer"], ["top"], keepdims=0), helper.make_node("Add", ["w", "top"], ["w_next"])],
                             "body", [value("i", (), TensorProto.INT64), value("c", (), TensorProto.BOOL), value("v", None), value("w", ())],
                             [value("again", (), TensorProto.BOOL), value("next", None), value("w_next", ())])
    path = saved(tmp_path / "m.onnx", [helper.make_node("Loop", ["turns", "", "x", "zero"], [named, "y"], body=body)], [value("x", (1, 3))],
                 [value("y", ())], [numpy_helper.from_array(np.array(4), "turns"), numpy_helper.from_array(np.float32(0), "zero"),
                                    numpy_helper.from_array(np.ones((rows, 3), np.float32), "row")])
    anybit("run", path, "-o", tmp_path / "out")
    assert "shape" in anybit("codegen", path, "-t", "c-gen", "-o", tmp_path / "m.c", code=1).stderr
    assert not (tmp_path / "m.c").exists()


def test_a_wrong_declaration_is_not_corrected_to_a_shape_that_no_file_may_have(anybit, tmp_path):
    """The inferred shape has more elements than the limit: the prepared file would not load again."""
    path = saved(tmp_path / "m.onnx", [helper.make_node("Concat", ["x", "x", "x"], ["y"], axis=0)], [value("x", (1 << 20, 1 << 19))],
                 [value("y", (7, 7))])
    anybit("prepare", path, "-o", tmp_path / "prepared.onnx")
    anybit("inspect", tmp_path / "prepared.onnx")


@pytest.mark.parametrize("inputs", [["q"], []])
def test_an_incomplete_qdq_pair_is_not_dequantized(anybit, inputs, tmp_path):
    nodes = [helper.make_node("QuantizeLinear", ["x", "s"], ["q"]), helper.make_node("DequantizeLinear", inputs, ["d"]),
             helper.make_node("MatMul", ["d", "w"], ["y"])]
    path = saved(tmp_path / "m.onnx", nodes, [value("x")], [value("y")],
                 [numpy_helper.from_array(np.float32(0.1), "s"), numpy_helper.from_array(np.eye(3, dtype=np.float32), "w")])
    said = anybit("quantize", path, "-o", tmp_path / "q.onnx", "--recipe", "w8", "--requantize", code=1).stderr
    assert f"input {len(inputs)} is missing" in said


@pytest.mark.parametrize("axes,said", [([], "2 sizes are given for 0 axes"), (None, "2 sizes are given for")])
def test_unknown_sizes_are_counted(anybit, axes, said, tmp_path):
    node = helper.make_node("CenterCropPad", ["x", "shape"], ["y"])
    if axes is not None:
        node.attribute.add(name="axes", type=onnx.AttributeProto.INTS)
    path = saved(tmp_path / "m.onnx", [node], [value("x", (4, 1, 3)), value("shape", (2,), TensorProto.INT64)], [value("y", (4, 1, 3))], opset=18)
    refused_by_run_and_codegen(anybit, path, tmp_path, said)
