"""ONNX Runtime with its default options: its optimizer does not change the results of our files."""
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.quantizing import Executor, decibels, in_anybit, in_onnxruntime, report_of, run_tool


def linear(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=f"{op}_{output}", **attributes)


# Two linear operators with a Relu between them; the shapes of their constants and of x.
NETS = {
    "weights of several matrices": ([4, 5, 8], {"w": [4, 8, 12], "v": [4, 12, 6]},
                                    [linear("MatMul", ["x", "w"], "h"), linear("MatMul", ["r", "v"], "y")]),
    "weights on the left": ([8, 5], {"w": [12, 8], "v": [6, 12]},
                            [linear("MatMul", ["w", "x"], "h"), linear("MatMul", ["v", "r"], "y")]),
    "several on the left": ([4, 8, 5], {"w": [4, 12, 8], "v": [4, 6, 12]},
                            [linear("MatMul", ["w", "x"], "h"), linear("MatMul", ["v", "r"], "y")]),
    "on the left of Gemm": ([8, 5], {"w": [12, 8], "c": [5], "v": [12, 6], "d": [6, 1]},
                            [linear("Gemm", ["w", "x", "c"], "h"), linear("Gemm", ["v", "r", "d"], "y", transA=1)]),
    "a bias that is a column": ([12, 8], {"w": [8, 12], "c": [12, 1], "v": [12, 6], "d": [1, 1]},
                                [linear("Gemm", ["x", "w", "c"], "h"), linear("Gemm", ["r", "v", "d"], "y")]),
    "a bias that is a matrix": ([5, 8], {"w": [8, 12], "c": [5, 12], "v": [12, 6], "d": [1, 6]},
                                [linear("Gemm", ["x", "w", "c"], "h"), linear("Gemm", ["r", "v", "d"], "y")]),
    "odd widths": ([5, 64], {"w": [64, 33], "v": [33, 7]},
                   [linear("MatMul", ["x", "w"], "h"), linear("MatMul", ["r", "v"], "y")]),
}
RECIPES = ["int8", "u8s8", "uint8", "int8-per-tensor", "int16x8", "int8x4", "w8", "w4", "w2", "dynamic-int8", "mxint8"]


def save(folder, kind):
    rng = np.random.default_rng(8)
    shape, constants, (first, last) = NETS[kind]
    held = [numpy_helper.from_array((rng.standard_normal(dims) / 3).astype(np.float32), name) for name, dims in constants.items()]
    graph = helper.make_graph([first, helper.make_node("Relu", ["h"], ["r"]), last], "net",
                              [helper.make_tensor_value_info("x", 1, shape)],
                              [helper.make_tensor_value_info("y", 1, None)], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    x = rng.standard_normal(shape).astype(np.float32)
    np.save(folder / "x.npy", x)
    return {"x": x}


def quantize(tool, folder, recipe, *more):
    return report_of(run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "net.q.onnx", "--recipe", recipe,
                              "--calib", folder / "x.npy", *more, "--json"))


@pytest.mark.parametrize("kind", NETS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_optimizer_changes_nothing(tool, tmp_path, kind, recipe):
    feeds = save(tmp_path, kind)
    for more in ([], ["--emit", "qoperator"]) if recipe in ("int8", "uint8") else ([],):
        quantize(tool, tmp_path, recipe, *more)
        plain, optimised = (in_onnxruntime(tmp_path / "net.q.onnx", feeds, optimised=how)[0] for how in (False, True))
        assert decibels(plain, optimised) > 30
        assert decibels(plain, in_anybit(tmp_path / "net.q.onnx", feeds)[0]) > 30


@pytest.mark.parametrize("kind", ["odd widths", "a bias that is a matrix"])
@pytest.mark.parametrize("parts, emit", [
    ("weights: int8 sym block 8, activations: uint8 asym", "portable"), ("weights: uint2 asym, activations: uint8 asym", "portable"),
    ("weights: uint2 asym channel, activations: float", "portable"), ("weights: uint8 sym, activations: int8 asym dynamic", "portable"),
    ("weights: uint8 sym channel, activations: int8 sym dynamic", "portable"),
    ("weights: int8 sym, data_in: int8 asym, data_out: uint8 asym", "qoperator"),
    ("weights: uint8 sym, activations: int8 asym", "qoperator")])
def test_unsupported_combinations_are_not_fused(tool, tmp_path, kind, parts, emit):
    feeds = save(tmp_path, kind)
    (tmp_path / "recipe.yaml").write_text(f"global: {{{parts}}}")
    quantize(tool, tmp_path, tmp_path / "recipe.yaml", "--emit", emit)
    plain, optimised = (in_onnxruntime(tmp_path / "net.q.onnx", feeds, optimised=how)[0] for how in (False, True))
    assert decibels(plain, optimised) > 30
    assert decibels(plain, in_anybit(tmp_path / "net.q.onnx", feeds)[0]) > 30


@pytest.mark.parametrize("kind, reason", [("weights of several matrices", "of several matrices"),
                                          ("weights on the left", "left operand"), ("on the left of Gemm", "left operand")])
def test_weights_have_one_scale_where_integer_gemm_supports_no_more(tool, tmp_path, kind, reason):
    save(tmp_path, kind)
    report = quantize(tool, tmp_path, "int8")
    assert all(reason in one["reason"] and one["outcome"] == "quantized" for one in report["nodes"] if one["op"] != "Relu")
    assert {one["to"] for one in report["weights"] if one["to"] != "int32"} == {"int8 sym"}


@pytest.mark.parametrize("recipe, scales", [("w8", {"w": [4, 12, 8], "w_scale": [12]}),
                                            ("w4", {"w": [4, 12, 8], "w_scale": [4, 12, 1]})])
def test_weights_on_the_left_have_scales_for_their_rows(tool, tmp_path, recipe, scales):
    feeds = save(tmp_path, "several on the left")
    report = quantize(tool, tmp_path, recipe)
    assert {one["outcome"] for one in report["nodes"] if one["op"] == "MatMul"} == {"weights only"}
    held = {one.name: list(one.dims) for one in onnx.load(tmp_path / "net.q.onnx").graph.initializer}
    assert held["w_quantized"] == scales["w"] and held["w_scale"] == scales["w_scale"]
    reference = in_onnxruntime(tmp_path / "net.onnx", feeds)[0]
    assert decibels(reference, in_onnxruntime(tmp_path / "net.q.onnx", feeds)[0]) > (14 if recipe == "w4" else 38)


@pytest.mark.parametrize("recipe, scales", [("w8", {"w_scale": [12], "v_scale": [6]}), ("w4", {"w_scale": [12, 1], "v_scale": [1, 6]}),
                                            ("int16", {"w_scale": [12], "v_scale": [6]})])
def test_weights_on_the_left_of_gemm_have_scales_for_their_rows(tool, tmp_path, recipe, scales):
    feeds = save(tmp_path, "on the left of Gemm")
    quantize(tool, tmp_path, recipe)
    held = {one.name: one for one in onnx.load(tmp_path / "net.q.onnx").graph.initializer}
    assert {name: list(held[name].dims) for name in scales} == scales
    assert held["c"].data_type == held["d"].data_type == 1  # columns have no scales of their own
    reference = in_onnxruntime(tmp_path / "net.onnx", feeds)[0]
    for run in (in_onnxruntime, in_anybit):
        assert decibels(reference, run(tmp_path / "net.q.onnx", feeds)[0]) > {"w4": 14, "w8": 38, "int16": 75}[recipe]


@pytest.mark.parametrize("recipe", ["mxfp4", "mxfp6", "bfp16", "int8", "w4"])
def test_weights_on_the_left_of_a_vector(tool, tmp_path, recipe):
    rng = np.random.default_rng(5)
    graph = helper.make_graph([helper.make_node("MatMul", ["w", "x"], ["y"], name="matmul")], "net",
                              [helper.make_tensor_value_info("x", 1, [64])], [helper.make_tensor_value_info("y", 1, [32])],
                              [numpy_helper.from_array(rng.standard_normal((32, 64)).astype(np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "net.onnx")
    feeds = {"x": rng.standard_normal(64).astype(np.float32)}
    np.save(tmp_path / "x.npy", feeds["x"])
    quantize(tool, tmp_path, recipe)
    reference = in_onnxruntime(tmp_path / "net.onnx", feeds)[0]
    for run in (in_onnxruntime, in_anybit):
        assert decibels(reference, run(tmp_path / "net.q.onnx", feeds)[0]) > 14


@pytest.mark.parametrize("kind, op", [("weights on the left", "MatMul"), ("on the left of Gemm", "Gemm")])
def test_weights_on_the_left_are_linear(tool, tmp_path, kind, op):
    save(tmp_path, kind)
    (tmp_path / "recipe.yaml").write_text("global: float\ntype: {linear: {weights: mxfp4_e2m1}}")
    report = quantize(tool, tmp_path, tmp_path / "recipe.yaml")
    assert [one["outcome"] for one in report["nodes"] if one["op"] == op] == ["weights only"] * 2
    report = quantize(tool, tmp_path, "dynamic-int8")
    assert all("only its weights are quantized" in one["reason"] for one in report["nodes"] if one["op"] == op)


MOVERS = {"Reshape": (["h", "shape"], {}), "Transpose": (["h"], {"perm": [0, 2, 3, 1]}), "Squeeze": (["h", "first"], {}),
          "Slice": (["h", "first", "last", "axis"], {}), "Unsqueeze": (["h", "first"], {}), "MaxPool": (["h"], {"kernel_shape": [2, 2]})}


@pytest.mark.parametrize("op", MOVERS)
@pytest.mark.parametrize("tail", ["nothing", "Softmax", "Transpose"])
@pytest.mark.parametrize("recipe", ["int8", "int8x4"])
def test_pass_through_operators_hand_quantized_values_to_float_consumers(tool, tmp_path, op, tail, recipe):
    """Otherwise ONNX Runtime does it, which makes models of opset 21 invalid."""
    inputs, attributes = MOVERS[op]
    nodes = [helper.make_node("Conv", ["x", "w"], ["h"], name="conv"), helper.make_node(op, inputs, ["m"], name="mover", **attributes)]
    if tail != "nothing":
        nodes.append(helper.make_node(tail, ["m"], ["t"], name="tail"))
    rng = np.random.default_rng(2)
    constants = {"w": rng.standard_normal((4, 3, 3, 3)).astype(np.float32), "shape": np.array([1, -1]), "first": np.array([0]),
                 "last": np.array([3]), "axis": np.array([1])}
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", 1, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info(nodes[-1].output[0], 1, None)],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "net.onnx")
    feeds = {"x": rng.standard_normal((1, 3, 8, 8)).astype(np.float32)}
    np.save(tmp_path / "x.npy", feeds["x"])
    report = quantize(tool, tmp_path, recipe)
    assert {one["name"]: one["outcome"] for one in report["nodes"]}["mover"] == "pass-through"
    plain, optimised = (in_onnxruntime(tmp_path / "net.q.onnx", feeds, optimised=how)[0] for how in (False, True))
    assert decibels(plain, optimised) > 40 and decibels(plain, in_anybit(tmp_path / "net.q.onnx", feeds)[0]) > 40


def tall_net(opset, between=(), sharing=False):
    """x [2, 5, 8] · w + row, functions, · v + another row (or the same)."""
    rng = np.random.default_rng(3)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], name="first"), helper.make_node("Add", ["p", "b"], ["s0"], name="sum")]
    for i, op in enumerate(between):
        nodes.append(helper.make_node(op, [f"s{i}"], [f"s{i + 1}"], name=op))
    nodes += [helper.make_node("MatMul", [f"s{len(between)}", "v"], ["q"], name="second"),
              helper.make_node("Add", ["b" if sharing else "c", "q"], ["y"], name="last")]
    shapes = {"w": (8, 12), "b": (12,), "v": (12, 12), "c": (12,)}
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", 1, [2, 5, 8])],
                              [helper.make_tensor_value_info("y", 1, [2, 5, 12])],
                              [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
                               for name, shape in shapes.items() if name in {one for node in nodes for one in node.input}])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def check_tall(tool, folder, model, recipe):
    onnx.save(model, folder / "net.onnx")
    feeds = {"x": np.random.default_rng(4).standard_normal((2, 5, 8)).astype(np.float32)}
    np.save(folder / "x.npy", feeds["x"][None])
    quantize(tool, folder, recipe)
    reference = in_onnxruntime(folder / "net.onnx", feeds)[0]
    plain, optimised = (in_onnxruntime(folder / "net.q.onnx", feeds, optimised=how)[0] for how in (False, True))
    assert plain.shape == optimised.shape == reference.shape and decibels(reference, plain) > (14 if "x4" in recipe else 30)
    assert decibels(plain, optimised) > 30 and decibels(plain, in_anybit(folder / "net.q.onnx", feeds)[0]) > 30
    return onnx.load(folder / "net.q.onnx")


@pytest.mark.parametrize("recipe", ["int8", "int8-per-tensor", "int8x4", "uint8", "int16x8"])
@pytest.mark.parametrize("between", [(), ("Relu",), ("Gelu",), ("Relu", "Sigmoid")])
def test_a_bias_after_a_matmul_of_many_axes_is_not_fused_to_gemm(tool, tmp_path, recipe, between):
    """From opset 21 on and with int8, ONNX Runtime would fuse it to a Gemm that it cannot load."""
    made = check_tall(tool, tmp_path, tall_net(21, between), recipe)
    held = {one.name: list(one.dims) for one in made.graph.initializer}
    wide = recipe.startswith("int8")
    assert recipe != "int8" or "Add" not in " ".join(Executor(made).steps())
    assert {name: dims for name, dims in held.items() if name in ("b", "c", "b_row", "c_row")} == (
        {"b_row": [1, 1, 12], "c_row": [1, 1, 12]} if wide else {"b": [12], "c": [12]})


def test_shared_biases_are_written_once(tool, tmp_path):
    made = check_tall(tool, tmp_path, tall_net(21, sharing=True), "int8")
    assert [list(one.dims) for one in made.graph.initializer if one.name.startswith("b")] == [[1, 1, 12]]


def test_older_opsets_keep_their_biases(tool, tmp_path):
    made = check_tall(tool, tmp_path, tall_net(17), "int8")
    assert [list(one.dims) for one in made.graph.initializer if one.name == "b"] == [[12]]


def test_a_bias_with_a_default_value_stays_an_input(tool, tmp_path):
    model = tall_net(21)
    model.graph.input.append(helper.make_tensor_value_info("b", 1, [12]))
    made = check_tall(tool, tmp_path, model, "int8")
    assert [one.name for one in made.graph.input] == ["x", "b"]
    assert [list(node.input) for node in made.graph.node if node.op_type == "Unsqueeze"] == [["b", "b_axes"]]
    given = {"x": np.ones((2, 5, 8), np.float32), "b": np.full(12, 50, np.float32)}
    reference = in_onnxruntime(tmp_path / "net.onnx", given)[0]
    for run in (in_onnxruntime, in_anybit):  # far out of the calibrated range, yet a different result than with its default
        assert decibels(reference, run(tmp_path / "net.q.onnx", given)[0]) > 0
