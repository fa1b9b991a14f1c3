"""Refinements with calibration data (gptq, range-search, equalize, smooth) on whole models, and `--auto`."""
import json
import re

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.quantizing import Executor, in_onnxruntime, net, run_tool, samples
from support.tree import ROOT

FORMATS = ("int4 sym block 16", "int4 asym channel", "uint8 asym tensor", "int2 sym block 8", "mxfp4_e2m1", "nvfp4", "mx4", "mx6",
           "ternary channel", "fp4_e2m1 channel", "bfp16", "block_minifloat", "fp8_e4m3", "log", "fixed frac auto")


def correlated(folder, count=24, seed=5):
    """Images that are smooth and never negative, so that inputs depend on each other."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    arrays = []
    for k in range(count):
        coarse = np.abs(rng.standard_normal((1, 3, 4, 4)))
        arrays.append((coarse.repeat(4, 2).repeat(4, 3) + 0.05 * rng.standard_normal((1, 3, 16, 16))).astype(np.float32))
        np.save(folder / f"{k:03}.npy", arrays[-1])
    return np.concatenate(arrays)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refinements")
    path = folder / "net.onnx"
    onnx.save(net(), path)
    x = correlated(folder / "samples")
    return path, folder / "samples", x, in_onnxruntime(path, {"x": x})[0]


def quantized(tool, model, folder, recipe, *more, data=True):
    path, calibration = model[:2]
    made = folder / "made.onnx"
    if not isinstance(recipe, str):
        (folder / "recipe.json").write_text(json.dumps(recipe))
        recipe = folder / "recipe.json"
    done = run_tool(tool, "quantize", path, "-o", made, "--recipe", recipe, "--json", *(["--calib", calibration] if data else []), *more)
    return made, json.loads(done.stdout)


def noise(made, model):
    """The squared error of the outputs relative to them."""
    x, expected = model[2:4]
    got = Executor(str(made)).run({"x": x})[0]
    return float(((got - expected) ** 2).sum() / (expected ** 2).sum())


@pytest.mark.parametrize("weights", FORMATS)
def test_gptq_has_less_error_than_rounding_to_nearest(tool, model, tmp_path, weights):
    recipe = {"global": {"weights": weights, "activations": "float", "refine": "none"}}
    nearest = noise(quantized(tool, model, tmp_path, recipe)[0], model)
    recipe["global"]["refine"] = "gptq"
    made, report = quantized(tool, model, tmp_path, recipe)
    assert noise(made, model) < nearest
    assert any(one["rounded_for_sums"] > 0 for one in report["weights"])


def test_gptq_is_the_same_for_any_number_of_threads_and_order_of_samples(tool, model, tmp_path):
    files = []
    reversed_samples = tmp_path / "reversed"
    reversed_samples.mkdir()
    for k, one in enumerate(reversed(sorted(model[1].iterdir()))):
        (reversed_samples / f"{k:03}.npy").write_bytes(one.read_bytes())
    for threads, data in ((1, model[1]), (2, model[1]), (3, reversed_samples)):
        made, _ = quantized(tool, (model[0], data), tmp_path, "w4", "--threads", threads)
        files.append(made.read_bytes())
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("preset", ("w4", "w2", "int8x4", "mxfp4-weights", "mxfp4", "nvfp4-weights", "mx4-weights"))
def test_presets_of_few_bits_are_better_with_data(tool, model, tmp_path, preset):
    before = noise(quantized(tool, model, tmp_path, preset, "--refine", "none")[0], model)
    assert noise(quantized(tool, model, tmp_path, preset)[0], model) < before


@pytest.mark.parametrize("preset", ("w4", "mxfp4-weights"))
def test_presets_of_few_bits_need_no_data(tool, model, tmp_path, preset):
    made, report = quantized(tool, model, tmp_path, preset, data=False)
    plain = quantized(tool, model, tmp_path, preset, "--refine", "none" if preset == "w4" else "sums", data=False)[0].read_bytes()
    assert not any("gptq" in one or "bias-correction" in one for one in report["remarks"])
    made, _ = quantized(tool, model, tmp_path, preset, data=False)
    assert made.read_bytes() == plain


def test_gptq_without_data_is_skipped_with_a_remark(tool, model, tmp_path):
    made, report = quantized(tool, model, tmp_path, "w8", "--refine", "gptq", data=False)
    assert any("gptq is skipped: it needs calibration data (--calib)" in one for one in report["remarks"])
    refined = made.read_bytes()
    assert quantized(tool, model, tmp_path, "w8", data=False)[0].read_bytes() == refined


def test_one_sample_is_enough(tool, model, tmp_path):
    nearest = noise(quantized(tool, model, tmp_path, "w4", "--refine", "none")[0], model)
    made, _ = quantized(tool, model, tmp_path, "w4", "--refine", "gptq", "--samples", "1")
    assert np.isfinite(noise(made, model))
    assert noise(made, model) < 2 * nearest


def test_samples_of_zeros_leave_the_nearest_values(tool, model, tmp_path):
    zeros = tmp_path / "zeros"
    zeros.mkdir()
    np.save(zeros / "0.npy", np.zeros((1, 3, 16, 16), np.float32))
    path = tmp_path / "plain.onnx"
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv")], "conv",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3, 16, 16])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    files = [quantized(tool, (path, zeros), tmp_path, "w4", "--refine", refine)[0].read_bytes() for refine in ("gptq", "none")]
    assert files[0] == files[1]


@pytest.mark.parametrize("weights", ("int4 sym channel", "int4 sym tensor", "int2 sym block 8", "mxfp4_e2m1", "nvfp4"))
def test_range_search_has_weights_with_less_error(tool, model, tmp_path, weights):
    reports = [quantized(tool, model, tmp_path, {"global": {"weights": weights, "activations": "float", "refine": refine}},
                         data=False)[1] for refine in ("none", "mse")]
    plain, searched = ({one["name"]: one["sqnr_db"] for one in report["weights"]} for report in reports)
    assert all(searched[name] >= plain[name] - 1e-3 for name in plain)
    assert any(searched[name] > plain[name] + 0.1 for name in plain)


def test_equalization_helps_weights_with_one_scale(tool, tmp_path):
    rng = np.random.default_rng(2)
    uneven = np.exp2(rng.uniform(-4, 4, 16)).astype(np.float32)
    node, weights = helper.make_node, {
        "w1": rng.standard_normal((16, 3, 3, 3)).astype(np.float32) * uneven.reshape(-1, 1, 1, 1), "b1": np.zeros(16, np.float32),
        "w2": rng.standard_normal((6, 16, 1, 1)).astype(np.float32) / uneven.reshape(1, -1, 1, 1)}
    graph = helper.make_graph(
        [node("Conv", ["x", "w1", "b1"], ["c"], name="first"), node("Relu", ["c"], ["r"]), node("Conv", ["r", "w2"], ["y"], name="second")],
        "pair", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3, 16, 16])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], [numpy_helper.from_array(v, k) for k, v in weights.items()])
    path = tmp_path / "pair.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    x = np.concatenate(samples(tmp_path / "samples"))
    case = path, tmp_path / "samples", x, in_onnxruntime(path, {"x": x})[0]
    plain = noise(quantized(tool, case, tmp_path, "int8-per-tensor", "--refine", "none")[0], case)
    made, report = quantized(tool, case, tmp_path, "int8-per-tensor", "--refine", "equalize")
    assert noise(made, case) < 0.1 * plain
    assert [one["layers"] for one in report["refinements"] if one["name"] == "equalize"] == [2]


def outliers(path, folder):
    """A MatMul whose input has two channels that are a hundred times as large as the others."""
    rng = np.random.default_rng(4)
    scale = np.ones(32, np.float32)
    scale[[3, 17]] = 100
    constants = {"scale": scale, "shift": np.zeros(32, np.float32), "w": rng.standard_normal((32, 24)).astype(np.float32) / 6}
    graph = helper.make_graph(
        [helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["n"], name="norm"),
         helper.make_node("MatMul", ["n", "w"], ["y"], name="linear")], "outliers",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 8, 32])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], [numpy_helper.from_array(v, k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    x = np.concatenate(samples(folder, 16, (1, 8, 32)))
    return path, folder, x, in_onnxruntime(path, {"x": x})[0]


def test_smoothing_moves_outliers_into_the_weights(tool, tmp_path):
    case = outliers(tmp_path / "model.onnx", tmp_path / "samples")
    plain = noise(quantized(tool, case, tmp_path, "int8", "--refine", "none")[0], case)
    made, report = quantized(tool, case, tmp_path, "int8", "--refine", "smooth")
    assert noise(made, case) < 0.7 * plain
    assert not any(one.op_type == "Mul" for one in onnx.load(made).graph.node)  # the normalization takes the factors
    assert [one["layers"] for one in report["refinements"] if one["name"] == "smooth"] == [1]
    assert report["samples"] == 16  # those that were read ahead count


def test_smoothing_inserts_a_multiplication_if_the_value_has_other_uses(tool, tmp_path):
    case = outliers(tmp_path / "model.onnx", tmp_path / "samples")
    changed = onnx.load(case[0])
    changed.graph.output.append(helper.make_tensor_value_info("n", onnx.TensorProto.FLOAT, None))
    onnx.save(changed, case[0])
    made, _ = quantized(tool, case, tmp_path, "int8", "--refine", "smooth")
    assert any(one.op_type == "Mul" for one in onnx.load(made).graph.node)
    made, report = quantized(tool, case, tmp_path, "int8", "--refine", "smooth:insert=false")
    assert not any(one.op_type == "Mul" for one in onnx.load(made).graph.node)


def test_auto_reaches_its_bound_and_writes_the_recipe(tool, model, tmp_path):
    path, calibration = model[:2]
    made, recipe = tmp_path / "made.onnx", tmp_path / "auto.yaml"
    common = ("quantize", path, "-o", made, "--recipe", "int8x4", "--calib", calibration)
    done = run_tool(tool, *common, "--auto", "--min-snr", "30", "--recipe-out", recipe)
    found = re.search(r"Auto +([0-9.]+) dB, then ([0-9.]+) dB: (\d+) layers as", done.stdout)
    assert found and float(found[1]) < 30 <= float(found[2])
    assert len(re.findall(r'^  "[^"]+": ', recipe.read_text(), re.M)) == int(found[3])
    assert -10 * np.log10(noise(made, model)) > 27
    first = made.read_bytes()
    run_tool(tool, *common[:5], recipe, *common[6:])
    assert made.read_bytes() == first


def test_auto_that_cannot_reach_its_bound_says_the_best(tool, model, tmp_path):
    done = run_tool(tool, "quantize", model[0], "-o", tmp_path / "made.onnx", "--calib", model[1], "--auto", "--min-snr", "199.5", code="error")
    assert "--auto: 199.5 dB cannot be reached; the best is" in done.stderr
    assert not (tmp_path / "made.onnx").exists()


@pytest.mark.parametrize("flags, message", [
    (["--auto"], "--auto needs data to measure the model on"),
    (["--min-snr", "20"], "--min-snr and --recipe-out belong to --auto"),
    (["--auto", "--min-snr", "-1"], "--min-snr"),
    (["--max-drop", "1"], "--max-drop and --metric belong to --auto"),
    (["--auto", "--calib", "DATA", "--max-drop", "1"], "--max-drop has nothing to measure"),
    (["--auto", "--calib", "DATA", "--metric", "true"], "--metric has no bound"),
    (["--auto", "--calib", "DATA", "--metric", "true", "--max-drop", "1"], "--metric: '' is not a number"),
    (["--auto", "--calib", "DATA", "--metric", "exit 3 #", "--max-drop", "1"], "--metric: the command fails with status 3"),
    (["--auto", "--calib", "DATA", "--min-snr", "3", "--max-drop", "1"], "--min-snr excludes --max-drop"),
])
def test_auto_with_missing_options_is_an_error(tool, model, tmp_path, flags, message):
    flags = [model[1] if one == "DATA" else one for one in flags]
    done = run_tool(tool, "quantize", model[0], "-o", tmp_path / "made.onnx", "--recipe", "w4", *flags, code="error")
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def digits_data(folder, count=60):
    images = ((np.load(ROOT / "examples/digits/test_images.npy")[:count].astype(np.float32) / 255 - 0.1307) / 0.3081)
    labels = np.load(ROOT / "examples/digits/test_labels.npy")[:count]
    folder.mkdir()
    for k, image in enumerate(images):
        np.save(folder / f"{k:04}.npy", image[None])
    np.save(folder.parent / "labels.npy", labels.astype(np.int64))
    return images.astype(np.float32), labels


def top_1(path, images, labels):
    return 100 * float((Executor(str(path)).run({"image": images})[0].argmax(1) == labels).mean())


def test_auto_keeps_the_accuracy_on_labels(tool, tmp_path):
    images, labels = digits_data(tmp_path / "data")
    digits, made = ROOT / "examples/digits/digits.onnx", tmp_path / "made.onnx"
    common = ("quantize", digits, "-o", made, "--recipe", "binary", "--calib", tmp_path / "data", "--labels", tmp_path / "labels.npy")
    run_tool(tool, *common)
    wanted = top_1(digits, images, labels) - 4
    assert top_1(made, images, labels) < wanted
    done = run_tool(tool, *common, "--auto", "--max-drop", "4")
    assert re.search(r"Auto +[-0-9.]+ dB, then [0-9.]+ %: \d+ layers as", done.stdout)
    assert top_1(made, images, labels) >= wanted


def test_auto_keeps_a_metric_of_the_callers_own(tool, model, tmp_path):
    """The command is a script that counts quantized values: a drop of nothing is out of reach, for the float model is no answer."""
    script, made = tmp_path / "metric.sh", tmp_path / "it's made.onnx"
    script.write_text('#!/bin/sh\necho "file: $1"\necho -$(grep -ao DequantizeLinear "$1" | wc -l)\n')
    script.chmod(0o755)
    common = ("quantize", model[0], "-o", made, "--recipe", "w8", "--calib", model[1])
    run_tool(tool, *common)
    most = made.read_bytes().count(b"DequantizeLinear")
    assert most > 2
    done = run_tool(tool, *common, "--auto", "--metric", script, "--max-drop", most - 1)
    assert re.search(r"Auto +[-0-9.]+ dB, then -\d+: \d+ layers as float", done.stdout)
    assert 0 < made.read_bytes().count(b"DequantizeLinear") < most
    done = run_tool(tool, *common, "--auto", "--metric", script, "--max-drop", "0", code="error")
    assert "cannot be reached; the best is -" in done.stderr
    assert not list(tmp_path.glob("*.trial.onnx"))
