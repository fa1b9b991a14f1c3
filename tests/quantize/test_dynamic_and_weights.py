"""Quantization without calibration data: dynamic, or weights only."""
import itertools

import numpy as np
import onnx
import pytest
from support.quantizing import decibels, in_anybit, in_onnxruntime, net, ops, report_of, run_tool, samples


@pytest.fixture
def files(tmp_path):
    onnx.save(net(), tmp_path / "net.onnx")
    return tmp_path, {"x": np.concatenate(samples(tmp_path / "data"))}


def quantize(tool, folder, *arguments, code=0):
    return run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "net.q.onnx", *arguments, code=code)


def check(folder, feeds, least):
    reference = in_onnxruntime(folder / "net.onnx", feeds)[0]
    peer, ours = in_onnxruntime(folder / "net.q.onnx", feeds)[0], in_anybit(folder / "net.q.onnx", feeds)[0]
    assert decibels(reference, peer) > least and decibels(reference, ours) > least
    assert decibels(peer, ours) > 40
    onnx.checker.check_model(onnx.load(folder / "net.q.onnx"), full_check=True)


@pytest.mark.parametrize("activation, weight", list(itertools.product(["symActivation", "asymActivation"],
                                                                      ["symWeight", "asymWeight"])))
def test_dynamic_in_all_four_combinations(tool, files, activation, weight):
    folder, feeds = files
    quantize(tool, folder, f"--dynamic={activation},{weight}")
    check(folder, feeds, 24)
    written = ops(onnx.load(folder / "net.q.onnx"))
    assert written.count("ConvInteger") == 3 and written.count("MatMulInteger") == 2
    assert ("DynamicQuantizeLinear" in written) == (activation == "asymActivation")


@pytest.mark.parametrize("how", ["asymActivation,symWeight", "asymActivation,asymWeight", "symActivation"])
def test_nnpa_multiplies_int8_with_per_tensor_scales(tool, files, how):
    folder, feeds = files
    quantize(tool, folder, f"--nnpa-quant-dynamic={how}", "-maccel=NNPA")
    check(folder, feeds, 24)
    model = onnx.shape_inference.infer_shapes(onnx.load(folder / "net.q.onnx"))
    types = {one.name: one.type.tensor_type.elem_type for one in model.graph.value_info}
    types |= {one.name: one.data_type for one in model.graph.initializer}
    sizes = {one.name: list(one.dims) for one in model.graph.initializer}
    matmuls = [node for node in model.graph.node if node.op_type == "MatMulInteger"]
    assert len(matmuls) == 2
    for node in matmuls:
        assert {types[name] for name in node.input if name} == {onnx.TensorProto.INT8}
        assert all(sizes.get(name, []) == [] for name in node.input[2:])


@pytest.mark.parametrize("values", [np.zeros((2, 6)), np.full((2, 6), 3.0), np.full((2, 6), -3.0),
                                    np.linspace(-1, 4, 12).reshape(2, 6)])
def test_dynamic_int8_has_the_real_values_of_uint8(tool, tmp_path, values):
    """ONNX's DynamicQuantizeLinear gives uint8; int8 is 128 lower and has the same real value."""
    helper, made = onnx.helper, {}
    weight = np.random.default_rng(5).standard_normal((6, 4)).astype(np.float32)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", 1, [2, 6])], [helper.make_tensor_value_info("y", 1, [2, 4])],
                              [onnx.numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "net.onnx")
    for kind in ("int8", "uint8"):
        (tmp_path / "recipe.yaml").write_text(f"global: {{weights: int8 sym, activations: {kind} asym dynamic}}")
        quantize(tool, tmp_path, "--recipe", tmp_path / "recipe.yaml")
        feeds = {"x": values.astype(np.float32)}
        made[kind] = in_anybit(tmp_path / "net.q.onnx", feeds)[0]
        np.testing.assert_allclose(in_onnxruntime(tmp_path / "net.q.onnx", feeds)[0], made[kind], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(made["int8"], made["uint8"], rtol=1e-5, atol=1e-6)


def test_dynamic_alone_selects_a_recipe_and_says_which(tool, files):
    folder, feeds = files
    report = report_of(quantize(tool, folder, "--dynamic", "--json"))
    check(folder, feeds, 24)
    layers = [one for one in report["nodes"] if one["op"] in ("Conv", "Gemm", "MatMul")]
    assert "dynamic" in {one["outcome"] for one in layers} <= {"dynamic", "float"}
    assert all(" dB at " in one["reason"] and "of the cost of float" in one["reason"] for one in layers)


def test_only_the_operators_that_are_named(tool, files):
    folder, feeds = files
    quantize(tool, folder, "--dynamic", "--op-types", "MatMul")
    check(folder, feeds, 30)
    written = ops(onnx.load(folder / "net.q.onnx"))
    assert written.count("MatMulInteger") == 2 and "ConvInteger" not in written


@pytest.mark.parametrize("recipe, least, smaller", [("w8", 30, 2.5), ("w16", 70, 1.5), ("w4", 12, 1.9)])
def test_weights_only(tool, files, recipe, least, smaller):
    folder, feeds = files
    report = report_of(quantize(tool, folder, "--recipe", recipe, "--json"))
    check(folder, feeds, least)
    before = sum(one["bytes_before"] for one in report["weights"])
    assert before / sum(one["bytes_after"] for one in report["weights"]) > smaller
    assert "QuantizeLinear" not in ops(onnx.load(folder / "net.q.onnx"))


@pytest.mark.parametrize("more, weights", [([], 5), (["--op-types", "Conv"], 3), (["--op-types", "MatMul"], 2)])
def test_weight_only_leaves_the_activations_of_any_preset_in_float(tool, files, more, weights):
    folder, feeds = files
    report = report_of(quantize(tool, folder, "--recipe", "int8x4", "--weight-only", *more, "--json"))
    check(folder, feeds, 10)
    assert [one["outcome"] for one in report["nodes"]].count("weights only") == weights
    assert "QuantizeLinear" not in ops(onnx.load(folder / "net.q.onnx"))


@pytest.mark.parametrize("recipe", ["w4", "w2"])
def test_blocks_of_a_convolution_run_along_its_whole_kernel(tool, files, recipe):
    """Along the channels only, every value of a depthwise kernel would have its own scale."""
    folder, feeds = files
    bytes_after = {one: report_of(quantize(tool, folder, "--recipe", one, "--json"))["weight_bytes"]["after"] for one in ("w8", recipe)}
    assert bytes_after[recipe] < 0.8 * bytes_after["w8"]
    held = {one.name: list(one.dims) for one in onnx.load(folder / "net.q.onnx").graph.initializer}
    assert [held[name] for name in ("w1_quantized", "w1_scale")] == [[8, 27], [8, 1]]
    assert [held[name] for name in ("w2_quantized", "w2_scale")] == [[8, 9], [8, 1]]
    assert [held[name] for name in ("w3_quantized", "w3_scale")] == [[8, 8, 1, 1], [8, 1, 1, 1]]
    check(folder, feeds, 12 if recipe == "w4" else -3)


@pytest.mark.parametrize("shape, group", [((6, 4, 5), 1), ((8, 1, 3), 8), ((6, 2, 2, 3, 2), 2), ((6, 4, 1, 1, 1), 1)])
def test_blocks_of_convolutions_of_any_rank(tool, tmp_path, shape, group):
    helper, rng = onnx.helper, np.random.default_rng(1)
    x = rng.standard_normal((1, shape[1] * group, *[7] * (len(shape) - 2))).astype(np.float32)
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], group=group, name="conv")], "net",
                              [helper.make_tensor_value_info("x", 1, x.shape)], [helper.make_tensor_value_info("y", 1, None)],
                              [onnx.numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    quantize(tool, tmp_path, "--recipe", "w4")
    reference = in_onnxruntime(tmp_path / "net.onnx", {"x": x})[0]
    for run in (in_onnxruntime, in_anybit):
        assert decibels(reference, run(tmp_path / "net.q.onnx", {"x": x})[0]) > 13
