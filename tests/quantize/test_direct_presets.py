"""Recipes in formats that need no calibration data: file sizes, equal results in ONNX Runtime, and rejected recipes."""
import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.quantizing import Executor, decibels, in_onnxruntime, net, run_tool

# The maximum share of their float32 bytes that quantized weights take, including scales.
SHARES = {"mxfp4-weights": 0.15, "nvfp4-weights": 0.15, "mxfp6-weights": 0.21, "mxint8-weights": 0.27, "bfp16-weights": 0.29,
          "mx4-weights": 0.13, "float16-weights": 0.5, "fp8-weights": 0.25, "ternary-weights": 0.09, "binary-weights": 0.06}


def presets(tool):
    names = [one["name"] for one in json.loads(run_tool(tool, "recipes", "--json").stdout)]
    return names[names.index("mxfp4"):]


def matrix(tmp_path, rows=512, columns=256, seed=3):
    """A MatMul with weights so large that the scales hardly add to the size."""
    weight = np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="matmul")], "matrix",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", rows])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", columns])], [numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "matrix.onnx")
    return tmp_path / "matrix.onnx"


def test_every_preset_runs_in_onnx_runtime_with_the_same_result(tool, tmp_path):
    onnx.save(net(), tmp_path / "net.onnx")
    x = np.random.default_rng(5).standard_normal((1, 3, 16, 16)).astype(np.float32)
    for name in presets(tool):
        made = tmp_path / f"{name}.onnx"
        run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", made, "--recipe", name)
        ours, = Executor(str(made)).run({"x": x})
        theirs, = in_onnxruntime(made, {"x": x})
        # Sums may differ in their last bits, and then round to different values of the next format.
        bound = 0.05 if not name.endswith("-weights") else 1e-4
        assert np.abs(ours - theirs).max() <= bound * np.abs(theirs).max(), name


def test_a_recipe_that_can_be_slower_than_float_says_so_and_why(tool, tmp_path):
    model = matrix(tmp_path)
    for name in presets(tool):
        report = run_tool(tool, "quantize", model, "-o", tmp_path / "q.onnx", "--recipe", name, "--json", "--report", tmp_path / "q.html")
        remarks = [one for one in json.loads(report.stdout)["remarks"] if "slower than" in one]
        # Untrained binary weights make values subnormal (below 1e-38), on which some CPUs are slow.
        assert len(remarks) == (not name.endswith("-weights") or name.startswith(("binary", "ternary"))), name
        text = run_tool(tool, "quantize", model, "-o", tmp_path / "q.onnx", "--recipe", name).stdout
        assert all(one in text and one in (tmp_path / "q.html").read_text() for one in remarks), name


@pytest.mark.parametrize("name", SHARES)
def test_weights_shrink_to_their_real_width(tool, tmp_path, name):
    model = matrix(tmp_path)
    told = json.loads(run_tool(tool, "quantize", model, "-o", tmp_path / "q.onnx", "--recipe", name, "--json").stdout)
    weight, = told["weights"]
    assert weight["bytes_after"] <= SHARES[name] * weight["bytes_before"]
    functions = sum(f.ByteSize() for f in onnx.load(tmp_path / "q.onnx").functions)
    assert (tmp_path / "q.onnx").stat().st_size <= weight["bytes_after"] + functions + 2000


def test_a_packed_file_has_no_functions_and_gives_the_same(tool, tmp_path):
    model = matrix(tmp_path)
    x = np.random.default_rng(6).standard_normal((2, 512)).astype(np.float32)
    outputs = []
    for emit in ("portable", "packed"):
        run_tool(tool, "quantize", model, "-o", tmp_path / f"{emit}.onnx", "--recipe", "mxfp4", "--emit", emit)
        outputs.append(Executor(str(tmp_path / f"{emit}.onnx")).run({"x": x})[0])
    assert not onnx.load(tmp_path / "packed.onnx").functions
    np.testing.assert_array_equal(*outputs)


@pytest.mark.parametrize("weights, emit", [
    ("mxfp4_e2m1", "portable"), ("mxfp4_e2m1", "packed"), ("mxint8", "qdq"), ("int4 sym block 32", "portable"),
    ("uint4 asym block 64", "portable"), ("int8 sym block 32", "qdq")])
def test_compute_int8_quantizes_activations_and_stays_near_float(tool, tmp_path, weights, emit):
    model = matrix(tmp_path, 1100, 1024)
    x = np.random.default_rng(7).standard_normal((2, 1100)).astype(np.float32)
    outputs = []
    for recipe in (f"global: {{weights: {weights}}}", f"global: {{weights: {weights}, compute: int8}}"):
        (tmp_path / "recipe.yaml").write_text(recipe)
        run_tool(tool, "quantize", model, "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe.yaml", "--emit", emit)
        outputs.append(Executor(str(tmp_path / "q.onnx")).run({"x": x})[0])
    exact, rounded = outputs
    assert 0 < np.linalg.norm(rounded - exact) <= 0.015 * np.linalg.norm(exact)
    peer = in_onnxruntime(tmp_path / "q.onnx", {"x": x})[0] if emit != "packed" else exact
    assert decibels(exact, peer) > 60  # runtimes that do not know the attribute compute in float


@pytest.mark.parametrize("parts", ["weights: int8 sym channel, compute: int8", "weights: int4 sym block 32, compute: float16"])
def test_compute_without_effect_is_reported(tool, tmp_path, parts):
    (tmp_path / "recipe.yaml").write_text(f"global: float\ntype: {{MatMul: {{{parts}}}}}")
    said = run_tool(tool, "quantize", matrix(tmp_path, 64, 32), "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe.yaml").stdout
    assert f"{parts.split(', ')[1]} does not apply to weights of {parts.split(', ')[0].split(': ')[1]}" in said


def layers(tmp_path, sizes=(96, 130, 70), seed=4):
    """A Gemm with a bias, Tanh, and a MatMul."""
    rng = np.random.default_rng(seed)
    first, middle, last = sizes
    constants = {"w1": rng.standard_normal((middle, first)), "b1": rng.standard_normal(middle),
                 "w2": rng.standard_normal((middle, last))}
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], transB=1), helper.make_node("Tanh", ["h"], ["t"]),
             helper.make_node("MatMul", ["t", "w2"], ["y"])]
    graph = helper.make_graph(nodes, "layers", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", first])],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", last])],
                              [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "layers.onnx")
    return tmp_path / "layers.onnx"


@pytest.mark.parametrize("emit", ["portable", "packed"])
def test_binary_layers_run_as_binary_gemm_and_give_the_same(tool, tmp_path, emit):
    run_tool(tool, "quantize", layers(tmp_path), "-o", tmp_path / "q.onnx", "--recipe", "binary", "--emit", emit)
    x = np.random.default_rng(8).standard_normal((9, 96)).astype(np.float32)
    fused = Executor(str(tmp_path / "q.onnx"))
    assert fused.steps() == ["ai.anybit:BinaryMatMul", ":Tanh", "ai.anybit:BinaryMatMul"]
    ours, = fused.run({"x": x})
    others = [Executor(str(tmp_path / "q.onnx"), fuse=False).run({"x": x})[0]]
    if emit == "portable":
        others += in_onnxruntime(tmp_path / "q.onnx", {"x": x})
    for other in others:
        np.testing.assert_allclose(ours, other, rtol=1e-4, atol=1e-4 * np.abs(other).max())


def test_a_modified_function_is_run_as_written(tool, tmp_path):
    run_tool(tool, "quantize", matrix(tmp_path), "-o", tmp_path / "q.onnx", "--recipe", "mxint8-weights")
    model = onnx.load(tmp_path / "q.onnx")
    function, = model.functions
    last = function.output[0]
    for node in function.node:
        node.output[:] = [f"{name}_before" if name == last else name for name in node.output]
    function.node.append(helper.make_node("Neg", [f"{last}_before"], [last]))
    onnx.save(model, tmp_path / "changed.onnx")
    x = np.random.default_rng(7).standard_normal((1, 512)).astype(np.float32)
    before, after = (Executor(str(tmp_path / f"{name}.onnx")).run({"x": x})[0] for name in ("q", "changed"))
    np.testing.assert_allclose(after, -before, rtol=1e-5, atol=1e-5)


def spoil(model, change):
    spoiled = onnx.ModelProto()
    spoiled.CopyFrom(model)
    change(spoiled)
    return spoiled


def shorten(model):
    codes = next(one for one in model.graph.initializer if one.name.endswith("_codes"))
    codes.dims[-1] -= 1
    codes.raw_data = codes.raw_data[:codes.dims[0] * codes.dims[1]]


def spoil_scale(model):
    scale = next(one for one in model.graph.initializer if one.name.endswith("_scale"))
    scale.raw_data = np.full(int(np.prod(scale.dims)), np.nan, np.float32).tobytes()


@pytest.mark.parametrize("recipe, change, words", [("mxfp4-weights", shorten, "bytes of packed data"),
                                                   ("ternary-weights", spoil_scale, "scale")])
def test_corrupt_packed_data_is_rejected(tool, tmp_path, recipe, change, words):
    run_tool(tool, "quantize", matrix(tmp_path), "-o", tmp_path / "q.onnx", "--recipe", recipe)
    onnx.save(spoil(onnx.load(tmp_path / "q.onnx"), change), tmp_path / "bad.onnx")
    with pytest.raises(Exception, match=words):
        Executor(str(tmp_path / "bad.onnx")).run({"x": np.zeros((1, 512), np.float32)})


@pytest.mark.parametrize("recipe, words", [
    ("global: {weights: mxfp4_e2m1 block 0}", "line 1: block size 0"),
    ("{'bfp_method': 'to_bfp', 'axis': 1, 'bit_width': 16, 'block_size': 0}", "line 1: block size 0"),
    ("global: {weights: mxfp4_e2m1 axis 7}", "(MatMul): axis 7 of 'w' of rank 2"),
    ("global: {weights: mxfp4}", "mxfp4_e2m1"),
    ("global: {weights: {format: block_fp, widht: 8}}", "width"),
    ("global: {data_in: mxint8 rounding stochastic, weights: mxint8}", "stochastic"),
    ("global: {weights: mxint8, compute: int9}", "int8"),
])
def test_impossible_recipes_are_rejected(tool, tmp_path, recipe, words):
    (tmp_path / "recipe.yaml").write_text(recipe)
    told = run_tool(tool, "quantize", matrix(tmp_path), "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe.yaml",
                    code="error").stderr
    assert words in told
    assert not (tmp_path / "q.onnx").exists()


def test_a_model_in_any_format_is_unchanged_and_can_be_inspected(tool, tmp_path):
    model = matrix(tmp_path)
    run_tool(tool, "quantize", model, "-o", tmp_path / "mx.onnx", "--recipe", "mxint8")
    again = run_tool(tool, "quantize", tmp_path / "mx.onnx", "-o", tmp_path / "same.onnx", "--recipe", "w8")
    assert "quantized already" in again.stdout
    run_tool(tool, "quantize", tmp_path / "mx.onnx", "-o", tmp_path / "w8.onnx", "--recipe", "w8", "--requantize")
    made = onnx.load(tmp_path / "w8.onnx")
    assert not made.functions
    assert [node.op_type for node in made.graph.node] == ["DequantizeLinear", "MatMul"]


MASE = {"by": "type", "default": {"config": {"name": None}},
        "linear": {"config": {"name": "integer", "data_in_width": 8, "data_in_frac_width": 4, "weight_width": 8,
                              "weight_frac_width": 4, "bias_width": 8, "bias_frac_width": 4}}}
QUARK = {"element_dtype": "int8", "axis": 1, "block_size": 8, "rounding_mode": 2}


@pytest.mark.parametrize("dictionary, types", [(MASE, {"fixed", "integer"}), (QUARK, {"mxint8"}),
                                               ({**MASE, "by": "regex_name", ".*matmul": MASE["linear"]}, {"integer"})])
def test_configurations_of_other_tools_are_read_unchanged(tool, tmp_path, dictionary, types):
    if dictionary.get("by") == "regex_name":
        dictionary = {key: value for key, value in dictionary.items() if key != "linear"}
    (tmp_path / "recipe").write_text(repr(dictionary))
    onnx.save(net(), tmp_path / "net.onnx")
    run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe")
    told = json.loads(run_tool(tool, "inspect", tmp_path / "q.onnx", "--json").stdout)
    assert {one["type"] for one in told["quantized"]} <= types and told["quantized"]


def test_other_options_of_mase_are_understood(tool, tmp_path):
    blocks = {"name": "block_fp", "is_ptq": True, "bypass": False}
    for part in ("data_in", "weight"):
        blocks.update({f"{part}_width": 8, f"{part}_exponent_width": 8, f"{part}_exponent_bias": "NA",
                       f"{part}_block_size": [1, 16], f"{part}_skip_first_dim": True})
    dictionary = {"by": "type", "report": True, "default": {"config": {"name": None}}, "linear": {"config": blocks},
                  "conv2d": {"config": {**blocks, "bypass": True}}}
    (tmp_path / "recipe").write_text(repr(dictionary))
    onnx.save(net(), tmp_path / "net.onnx")
    run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe")
    told = json.loads(run_tool(tool, "inspect", tmp_path / "q.onnx", "--json").stdout)
    assert sum(one["elements"] for one in told["quantized"] if one["role"] == "weight") == 10 * 8 + 10 * 6  # no Conv's


def test_a_typo_in_a_configuration_suggests_the_right_spelling(tool, tmp_path):
    config = {**MASE["linear"]["config"], "weight_frac_wdth": 4}
    (tmp_path / "recipe").write_text(repr({**MASE, "linear": {"config": config}}))
    onnx.save(net(), tmp_path / "net.onnx")
    told = run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe",
                    code="error").stderr
    assert "weight_frac_wdth" in told and "weight_frac_width" in told
