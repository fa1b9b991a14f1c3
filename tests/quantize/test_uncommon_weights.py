"""Weights that are shared, of recurrent and transposed layers, or with extreme values."""
import collections

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.quantizing import in_anybit, in_onnxruntime, net, report_of, run_tool, samples


def save(path, nodes, inputs, outputs, constants, opset=17):
    """Ports are (name, shape) of float32, or (name, shape, type)."""
    ports = [[helper.make_tensor_value_info(name, *(rest[1:] or [TensorProto.FLOAT]), rest[0]) for name, *rest in some]
             for some in (inputs, outputs)]
    graph = helper.make_graph(nodes, "net", *ports, [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)],
                                ir_version=8), path)
    return path


def normal(*shape, scale=1.0, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def quantize(tool, model, *options):
    made = model.with_suffix(".q.onnx")
    return made, report_of(run_tool(tool, "quantize", model, "-o", made, "--json", *options))


@pytest.mark.parametrize("op,gates,directions", [("LSTM", 4, 1), ("LSTM", 4, 2), ("GRU", 3, 1)])
@pytest.mark.parametrize("recipe,share", [("w4", 0.17), ("w2", 0.11), ("mxfp4-weights", 0.14)])
def test_blocks_of_recurrent_weights_run_along_the_reduction_axis(tool, tmp_path, op, gates, directions, recipe, share):
    node = helper.make_node(op, ["x", "W", "R"], ["y"], hidden_size=64, direction="bidirectional" if directions == 2 else "forward")
    model = save(tmp_path / "net.onnx", [node], [("x", [5, 1, 96])], [("y", [5, directions, 1, 64])],
                 {"W": normal(directions, gates * 64, 96), "R": normal(directions, gates * 64, 64)})
    _, report = quantize(tool, model, "--recipe", recipe)
    assert all(one["bytes_after"] < share * one["bytes_before"] for one in report["weights"])


@pytest.mark.parametrize("turned", [0, 1])
def test_blocks_of_batched_matrices_run_along_the_reduction_axis(tool, tmp_path, turned):
    shape = (3, 48, 64) if turned else (3, 64, 48)
    model = save(tmp_path / "net.onnx", [helper.make_node("FusedMatMul", ["x", "w"], ["y"], domain="com.microsoft", transB=turned)],
                 [("x", [3, 4, 64])], [("y", [3, 4, 48])], {"w": normal(*shape)})
    made, report = quantize(tool, model, "--recipe", "w4")
    assert report["weights"][0]["bytes_after"] < 0.17 * report["weights"][0]["bytes_before"]
    x = {"x": normal(3, 4, 64, seed=1)}
    assert np.allclose(in_anybit(made, x)[0], in_onnxruntime(made, x)[0], atol=1e-4)


@pytest.mark.parametrize("shape", [(64, 32, 4), (64, 32, 1), (64, 32, 2, 2)])
def test_transposed_convolutions_have_blocks_over_their_inputs(tool, tmp_path, shape):
    spatial = [8] * (len(shape) - 2)
    model = save(tmp_path / "net.onnx", [helper.make_node("ConvTranspose", ["x", "w"], ["y"])], [("x", [1, 64, *spatial])],
                 [("y", [1, 32, *(None for _ in spatial)])], {"w": normal(*shape)})
    _, report = quantize(tool, model, "--recipe", "mxfp4-weights")
    assert report["weights"][0]["bytes_after"] <= 0.1328125 * report["weights"][0]["bytes_before"]


@pytest.mark.parametrize("recipe", ["int8", "mxint8-weights", "mxfp4-weights", "fp8-weights"])
def test_tied_weights_are_stored_once(tool, tmp_path, recipe):
    nodes = [helper.make_node("Gather", ["w", "i"], ["e"]), helper.make_node("Gemm", ["e", "w"], ["y"], transB=1)]
    model = save(tmp_path / "net.onnx", nodes, [("i", [4], TensorProto.INT64)], [("y", [4, 512])], {"w": normal(512, 64, scale=0.02)})
    np.save(tmp_path / "i.npy", np.arange(4))
    calib = ["--calib", tmp_path / "i.npy"] if recipe == "int8" else []
    _, report = quantize(tool, model, "--recipe", recipe, *calib)
    assert len(report["weights"]) == 1 and report["weights"][0]["rounded_for_sums"] > 0


@pytest.mark.parametrize("first", ["a", "b"])
def test_shared_weights_in_blocks_run_elsewhere_whichever_node_comes_first(tool, tmp_path, first):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="a"), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("MatMul", ["r", "w"], ["y"], name="b")]
    model = save(tmp_path / "net.onnx", nodes, [("x", [4, 64])], [("y", [4, 64])], {"w": normal(64, 64, scale=0.1)})
    (tmp_path / "recipe.yaml").write_text("global: {weights: int8 sym block 32, activations: int8 asym}\n"
                                          f"name: {{{first}: {{weights: int8 sym block 32, activations: float}}}}")
    x = normal(4, 64, seed=2)
    np.save(tmp_path / "x.npy", x)
    made, _ = quantize(tool, model, "--recipe", tmp_path / "recipe.yaml", "--calib", tmp_path / "x.npy")
    assert np.allclose(in_onnxruntime(made, {"x": x})[0], in_anybit(made, {"x": x})[0], atol=0.1)


def test_only_nodes_with_compute_int8_compute_in_int8(tool, tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="a"), helper.make_node("MatMul", ["h", "w"], ["y"], name="b")]
    model = save(tmp_path / "net.onnx", nodes, [("x", [1, 64])], [("y", [1, 64])], {"w": normal(64, 64, scale=0.1)})
    for asks in "ab":
        (tmp_path / "recipe.yaml").write_text(f"global: {{weights: int4 sym block 32}}\nname: {{{asks}: {{compute: int8}}}}")
        made, _ = quantize(tool, model, "--recipe", tmp_path / "recipe.yaml")
        graph = onnx.load(made).graph
        rounded = {node.output[0]: any(prop.value == "int8" for prop in node.metadata_props) for node in graph.node
                   if node.op_type == "DequantizeLinear"}
        assert [rounded[node.input[1]] for node in graph.node if node.op_type == "MatMul"] == [asks == "a", asks == "b"]


@pytest.mark.parametrize("weights,scale", [("{format: ternary}", 2), ("{format: nvfp4, rounding: floor}", 2),
                                           ("{format: binary, scale: mean, rounding: stochastic}", 0.2)])
def test_sums_are_not_preserved_where_encoding_is_not_idempotent(tool, tmp_path, weights, scale):
    model = save(tmp_path / "net.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", [1, 64])], [("y", [1, 32])],
                 {"w": normal(64, 32, scale=scale)})
    losses = {}
    for refine in ("none", "sums"):
        (tmp_path / "recipe.yaml").write_text(f"global: {{weights: {weights}, refine: {refine}}}")
        _, report = quantize(tool, model, "--recipe", tmp_path / "recipe.yaml")
        losses[refine] = report["weights"][0]
    assert losses["sums"] == losses["none"]


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_bias_with_nan_or_infinity_is_rejected(tool, tmp_path, bad):
    bias = normal(8, seed=3)
    bias[7] = bad
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="head"), helper.make_node("Relu", ["h"], ["y"])]
    model = save(tmp_path / "net.onnx", nodes, [("x", [2, 16])], [("y", [2, 8])], {"w": normal(16, 8), "b": bias})
    np.save(tmp_path / "x.npy", normal(2, 16, seed=4))
    done = run_tool(tool, "quantize", model, "-o", tmp_path / "q.onnx", "--calib", tmp_path / "x.npy", "--allow-nan", code="error")
    assert "'head' (Gemm)" in done.stderr and "initializer 'b'" in done.stderr and "element 7 of a bias" in done.stderr
    assert not (tmp_path / "q.onnx").exists()


@pytest.mark.parametrize("scale", [1e-40, 1e-25, 1e-10, 1e10, 1e22, 1e30])
def test_errors_of_tiny_and_huge_weights_are_reported(tool, tmp_path, scale):
    w = (normal(64, 32).astype(np.float64) * scale).astype(np.float32)
    model = save(tmp_path / "net.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", [1, 64])], [("y", [1, 32])], {"w": w})
    made, report = quantize(tool, model, "--recipe", "w8")
    graph = onnx.load(made).graph
    constants = {one.name: numpy_helper.to_array(one).astype(np.float64) for one in graph.initializer}
    dequantize = next(node for node in graph.node if node.op_type == "DequantizeLinear")
    decoded = constants[dequantize.input[0]] * constants[dequantize.input[1]]
    signal, noise = np.sum(w.astype(np.float64) ** 2), np.sum((w - decoded) ** 2)
    told = report["weights"][0]["sqnr_db"]
    assert told == pytest.approx(10 * np.log10(signal / noise), abs=0.1)


@pytest.mark.parametrize("emit", ["portable", "qoperator"])
def test_a_bias_leaves_room_for_the_accumulator(tool, tmp_path, emit):
    bias = np.array([800, -900, 1000, 0.5], np.float32)
    model = save(tmp_path / "net.onnx", [helper.make_node("Conv", ["x", "w", "b"], ["y"])], [("x", [1, 8, 4, 4])], [("y", [1, 4, 4, 4])],
                 {"w": normal(4, 8, 1, 1, scale=1e-4), "b": bias})
    x = normal(1, 8, 4, 4, seed=5)
    np.save(tmp_path / "x.npy", x)
    made, _ = quantize(tool, model, "--calib", tmp_path / "x.npy", "--emit", emit)
    ours = in_anybit(made, {"x": x})[0]
    for optimised in (False, True):  # its accumulators have 32 bits and wrap
        assert np.allclose(in_onnxruntime(made, {"x": x}, optimised=optimised)[0], ours, atol=10)


@pytest.mark.parametrize("recipe", ["w8", "w16", "int8", "uint8", "int16x8"])
def test_weights_at_the_end_of_float32_stay_finite(tool, tmp_path, recipe):
    w = normal(16, 8, scale=0.1)
    w[3, 2] = np.finfo(np.float32).min
    model = save(tmp_path / "net.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", [1, 16])], [("y", [1, 8])], {"w": w})
    np.save(tmp_path / "x.npy", np.zeros((1, 16), np.float32))
    made, _ = quantize(tool, model, "--recipe", recipe, *([] if recipe.startswith("w") else ["--calib", tmp_path / "x.npy"]))
    for run in (in_anybit, in_onnxruntime):
        assert np.isfinite(run(made, {"x": np.zeros((1, 16), np.float32)})[0]).all()


def test_a_rule_for_gemm_is_not_for_a_matmul_with_a_bias(tool, tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="matmul"), helper.make_node("Add", ["h", "b"], ["y"], name="bias")]
    model = save(tmp_path / "net.onnx", nodes, [("x", [4, 64])], [("y", [4, 64])], {"w": normal(64, 64), "b": normal(64)})
    for rule, to in (("type: {Gemm: {weights: int4 sym channel}}", "int8 sym channel"), ("type: {MatMul: {weights: int4 sym channel}}", "int4 sym channel"),
                     ("type: {linear: {weights: int4 sym channel}}", "int4 sym channel")):
        (tmp_path / "recipe.yaml").write_text(f"global: w8\n{rule}")
        _, report = quantize(tool, model, "--recipe", tmp_path / "recipe.yaml")
        assert [one["to"] for one in report["weights"]] == [to], rule


def test_symmetric_ranges_have_the_zero_point_of_the_format(tool, tmp_path):
    model = save(tmp_path / "net.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", [1, 16])], [("y", [1, 8])], {"w": normal(16, 8)})
    for most in (1.5, 0.7, 3.3, 1.0):
        np.save(tmp_path / "x.npy", np.linspace(-most, most, 16, dtype=np.float32)[None])
        _, report = quantize(tool, model, "--recipe", "int8", "--calib", tmp_path / "x.npy")
        scale = np.float32(2 * np.float64(np.float32(most)) / 255)  # divided in float32, as docs/formats.md defines
        wanted = np.rint(-128 - np.float64(np.float32(-most) / scale))
        assert next(one for one in report["tensors"] if one["name"] == "x")["zero_point"] == wanted


@pytest.mark.parametrize("recipe,told", [("global: int8\nio: float", "float"), ("global: {activations: int8 asym}", "weights float")])
def test_a_target_supports_certain_pairs_only(tool, tmp_path, recipe, told):
    model = save(tmp_path / "net.onnx", [helper.make_node("Conv", ["x", "w"], ["y"])], [("x", [1, 3, 8, 8])], [("y", [1, 4, 6, 6])],
                 {"w": normal(4, 3, 3, 3)})
    (tmp_path / "recipe.yaml").write_text(recipe)
    np.save(tmp_path / "x.npy", normal(1, 3, 8, 8))
    done = run_tool(tool, "quantize", model, "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe.yaml", "--target", "ethos-u55-128",
                    "--calib", tmp_path / "x.npy", code=2)
    assert "target ethos-u55-128 does not support" in done.stderr and told in done.stderr


@pytest.mark.parametrize("recipe", ["w8", "int8"])
def test_weights_that_are_inputs_with_a_default_become_constants(tool, tmp_path, recipe):
    """Exporters once listed weights as inputs, here all but one constant; a caller cannot replace a quantized weight by floats."""
    model = net()
    onnx.save(model, tmp_path / "plain.onnx")
    listed = [helper.make_tensor_value_info(one.name, one.data_type, one.dims) for one in model.graph.initializer]
    model.graph.input.extend(listed[:-1])
    onnx.save(model, tmp_path / "listed.onnx")
    samples(tmp_path / "calib")
    for name in ("plain", "listed"):
        done = run_tool(tool, "quantize", tmp_path / f"{name}.onnx", "-o", tmp_path / f"{name}.q.onnx", "-r", recipe, "--calib", tmp_path / "calib")
        assert ("weights that the model lists among its inputs are constants now" in done.stdout + done.stderr) == (name == "listed")
    plain, found = (onnx.load(tmp_path / f"{name}.q.onnx").graph for name in ("plain", "listed"))
    weights = {node.input[i] for node in found.node for i in (1, 2) if node.op_type in ("Conv", "Gemm", "MatMul") and len(node.input) > i}
    assert not weights & {one.name for one in found.input}
    assert collections.Counter(node.op_type for node in found.node) == collections.Counter(node.op_type for node in plain.node)
