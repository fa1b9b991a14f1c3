"""Bias correction (`refine: means`): biases compensate the shift of output means, measured on calibration data."""
import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.aliases import RENAMED, aliases_in
from support.quantizing import Executor, in_onnxruntime, report_of, run_tool

CHANNELS, SIDE = 12, 14
LINEAR = ("c1", "c2", "t", "g", "m")


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value, np.float32), name)


def stack(path, seed=3):
    """Convolutions with and without a bias, a transposed one, a Gemm, and a MatMul followed by an Add."""
    rng = np.random.default_rng(seed)
    constants = [constant("w1", rng.standard_normal((CHANNELS, 3, 3, 3)) / 5), constant("b1", rng.standard_normal(CHANNELS) / 3),
                 constant("w2", rng.standard_normal((CHANNELS, CHANNELS, 3, 3)) / 10),
                 constant("wt", rng.standard_normal((CHANNELS, 4, 2, 2)) / 6),
                 constant("wg", rng.standard_normal((4, 10)) / 2), constant("bg", rng.standard_normal(10)),
                 constant("wm", rng.standard_normal((10, 6)) / 3), constant("bm", rng.standard_normal(6))]
    node = helper.make_node
    nodes = [node("Conv", ["x", "w1", "b1"], ["c1"], name="first", pads=[1] * 4), node("Relu", ["c1"], ["r1"]),
             node("Conv", ["r1", "w2"], ["c2"], name="second", pads=[1] * 4), node("HardSwish", ["c2"], ["h2"]),
             node("ConvTranspose", ["h2", "wt"], ["t"], name="up", strides=[2, 2]),
             node("GlobalAveragePool", ["t"], ["p"]), node("Flatten", ["p"], ["f"]),
             node("Gemm", ["f", "wg", "bg"], ["g"], name="gemm"), node("Relu", ["g"], ["rg"]),
             node("Unsqueeze", ["rg", "axis"], ["u"]),
             node("MatMul", ["u", "wm"], ["m"], name="matmul"), node("Add", ["m", "bm"], ["y"], name="bias")]
    constants.append(numpy_helper.from_array(np.array([1]), "axis"))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "stack", [info("x", onnx.TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
                              [info("y", onnx.TensorProto.FLOAT, None)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def image_data(folder, count, seed=0):
    """Uniform gray images with a little noise: rounding errors are equal at every position."""
    rng = np.random.default_rng(seed)
    folder.mkdir()
    arrays = [(rng.uniform(0.2, 1) + 0.02 * rng.standard_normal((1, 3, SIDE, SIDE))).astype(np.float32) for _ in range(count)]
    for k, array in enumerate(arrays):
        np.save(folder / f"{k:03}.npy", array)
    return np.concatenate(arrays)


def values(path, names, x):
    model = onnx.load(path)
    del model.graph.output[:]
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    seen = path.with_name("seen.onnx")
    onnx.save(model, seen)
    return Executor(str(seen)).run({"x": x})


def means(path, x):
    """Means per output channel of the linear operators; of the MatMul after its Add."""
    names = [*LINEAR[:-1], "y"]
    return [value.mean((0, 2, 3) if value.ndim == 4 else tuple(range(value.ndim - 1)))
            for value in values(path, names, x)]


def quantized(tool, tmp_path, refine, *options, model=None, recipe="int8"):
    made = tmp_path / f"{refine}.onnx"
    done = run_tool(tool, "quantize", model or stack(tmp_path / "stack.onnx"), "-o", made, "--recipe", recipe, "--refine", refine,
                    "--json", *options)
    return made, report_of(done)


@pytest.mark.parametrize("recipe", ["int8", "uint8", "int8-per-tensor", "int8x4", "int16x8", "mxfp4", "bfp16", "w4"])
def test_outputs_keep_their_means(tool, tmp_path, recipe):
    x = image_data(tmp_path / "calib", 24)
    wanted = means(stack(tmp_path / "stack.onnx"), x)
    errors = {}
    for refine in ("sums", "means"):
        made, report = quantized(tool, tmp_path, refine, "--calib", tmp_path / "calib", recipe=recipe)
        errors[refine] = [float(np.abs(a - b).mean()) for a, b in zip(means(made, x), wanted)]
        assert report["bias_corrected_layers"] == (len(LINEAR) if refine == "means" else 0)
    assert sum(errors["means"]) < 0.5 * sum(errors["sums"]), errors


def test_renamed_keys_stay_as_aliases(tool, tmp_path):
    image_data(tmp_path / "calib", 8)
    stack(tmp_path / "stack.onnx")
    _, report = quantized(tool, tmp_path, "means", "--calib", tmp_path / "calib", "--evaluate")
    assert aliases_in(report) == set(RENAMED.values()) and aliases_in(report["comparison"]) == {"sqnr_db"}
    assert report["means_kept"] == len(LINEAR) and sum(one["moved_for_sums"] for one in report["weights"]) > 0
    done = run_tool(tool, "compare", tmp_path / "stack.onnx", tmp_path / "stack.onnx", "--data", tmp_path / "calib", "--json")
    assert aliases_in(report_of(done)) == {"sqnr_db"}


def test_static_presets_use_it_and_it_helps_on_other_images(tool, tmp_path):
    image_data(tmp_path / "calib", 32)
    x = image_data(tmp_path / "other", 64, seed=9)
    model = stack(tmp_path / "stack.onnx")
    wanted = Executor(str(model)).run({"x": x})[0]
    noise = {refine: np.mean((Executor(str(quantized(tool, tmp_path, refine, "--calib", tmp_path / "calib")[0])).run({"x": x})[0]
                              - wanted) ** 2) for refine in ("none", "sums", "means")}
    assert noise["means"] < 0.8 * noise["sums"] and noise["means"] < 0.8 * noise["none"], noise
    run_tool(tool, "quantize", model, "-o", tmp_path / "q.onnx", "--calib", tmp_path / "calib")
    assert (tmp_path / "q.onnx").read_bytes() == (tmp_path / "means.onnx").read_bytes()


def test_the_file_runs_in_onnx_runtime_and_biases_keep_their_names(tool, tmp_path):
    x = image_data(tmp_path / "calib", 4)
    made, _ = quantized(tool, tmp_path, "means", "--calib", tmp_path / "calib")
    ours, theirs = Executor(str(made)).run({"x": x})[0], in_onnxruntime(made, {"x": x})[0]
    assert np.abs(ours - theirs).max() <= 0.02 * np.abs(theirs).max()
    names = {one.name for one in onnx.load(made).graph.initializer}
    assert not any("shifted" in name for name in names) and {"bm"} <= {name.split("_")[0] for name in names}


def test_a_shared_bias_is_unchanged_for_other_nodes(tool, tmp_path):
    model = onnx.load(stack(tmp_path / "stack.onnx"))
    model.graph.node.append(helper.make_node("Identity", ["b1"], ["told"]))
    model.graph.output.append(helper.make_tensor_value_info("told", onnx.TensorProto.FLOAT, [CHANNELS]))
    onnx.save(model, tmp_path / "shared.onnx")
    x = image_data(tmp_path / "calib", 4)
    made, _ = quantized(tool, tmp_path, "means", "--calib", tmp_path / "calib", model=tmp_path / "shared.onnx")
    before = {one.name: one for one in model.graph.initializer}["b1"]
    np.testing.assert_array_equal(Executor(str(made)).run({"x": x})[1], numpy_helper.to_array(before))


def test_the_same_file_for_any_number_of_threads_and_any_order(tool, tmp_path):
    x = image_data(tmp_path / "calib", 40)
    (tmp_path / "backwards").mkdir()
    for k, array in enumerate(reversed(x)):
        np.save(tmp_path / "backwards" / f"{k:03}.npy", array[None])
    files = [quantized(tool, tmp_path, "means", "--calib", tmp_path / folder, "--threads", threads)[0].read_bytes()
             for folder, threads in (("calib", 1), ("calib", 2), ("calib", 3), ("backwards", 2))]
    assert len(set(files)) == 1


def test_one_sample_gives_no_correction(tool, tmp_path):
    image_data(tmp_path / "calib", 1)
    _, report = quantized(tool, tmp_path, "means", "--calib", tmp_path / "calib")
    assert report["bias_corrected_layers"] == 0


@pytest.mark.parametrize("recipe", ["bfp16", "w8"])
def test_without_samples_there_is_a_remark(tool, tmp_path, recipe):
    made, report = quantized(tool, tmp_path, "means", recipe=recipe)
    assert any("it needs calibration data" in remark for remark in report["remarks"]) and report["bias_corrected_layers"] == 0
    model = stack(tmp_path / "stack.onnx")
    run_tool(tool, "quantize", model, "-o", tmp_path / "q.onnx", "--recipe", recipe, "--refine", "sums")
    assert made.read_bytes() == (tmp_path / "q.onnx").read_bytes()


def test_unused_samples_beside_ranges_are_remarked_on(tool, tmp_path):
    image_data(tmp_path / "calib", 4)
    model = stack(tmp_path / "stack.onnx")
    run_tool(tool, "calibrate", model, "--data", tmp_path / "calib", "-o", tmp_path / "ranges.json")
    _, report = quantized(tool, tmp_path, "sums", "--calib", tmp_path / "calib", "--ranges", tmp_path / "ranges.json", "--no-prepare")
    assert any("samples are not used" in remark for remark in report["remarks"])
    _, report = quantized(tool, tmp_path, "means", "--ranges", tmp_path / "ranges.json", "--no-prepare")
    assert any("beside the ranges" in remark for remark in report["remarks"])


def test_nan_in_a_sample_is_an_error_or_skips_its_channel(tool, tmp_path):
    x = image_data(tmp_path / "calib", 4)
    x[2, 0, 3, 3] = np.nan
    np.save(tmp_path / "calib" / "002.npy", x[2:3])
    done = run_tool(tool, "quantize", stack(tmp_path / "stack.onnx"), "-o", tmp_path / "q.onnx", "--calib", tmp_path / "calib",
                    code="error")
    assert "NaN" in done.stderr
    made, report = quantized(tool, tmp_path, "means", "--calib", tmp_path / "calib", "--allow-nan")
    assert report["bias_corrected_layers"] == 0 and np.isfinite(Executor(str(made)).run({"x": x[:2]})[0]).all()


def test_constants_are_not_layers(tool, tmp_path):
    """Where weights and biases are Constant nodes, too: only biases are changed."""
    model = onnx.load(stack(tmp_path / "stack.onnx"))
    nodes = [helper.make_node("Constant", [], [one.name], value=one) for one in model.graph.initializer] + list(model.graph.node)
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    onnx.save(model, tmp_path / "nodes.onnx")
    image_data(tmp_path / "calib", 4)
    _, report = quantized(tool, tmp_path, "means", "--calib", tmp_path / "calib", "--evaluate", model=tmp_path / "nodes.onnx")
    layers = {one["name"]: one["op"] for one in report["comparison"]["layers"]}
    assert report["bias_corrected_layers"] == len(LINEAR) and {"c1", "c2", "t"} <= layers.keys()
    assert "Constant" not in layers.values()


def test_parameters_of_refinements_are_the_same_in_options_and_recipes(tool, tmp_path):
    image_data(tmp_path / "data", 12)
    model, data = stack(tmp_path / "float.onnx"), tmp_path / "data"
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("global: {weights: int8 sym channel, activations: int8 asym,\n"
                      "         refine: [{means: {samples: 3}}, {sums: {mean: 2, trims: 4}}]}\n")
    written = {}
    for name, words in {"options": ["--refine", "bias-correction:samples=3,sums:mean=2:trims=4"],
                        "recipe": ["--recipe", recipe], "defaults": ["--refine", "means:samples=8,sums:mean=4"],
                        "preset": []}.items():
        done = run_tool(tool, "quantize", model, "-o", tmp_path / f"{name}.onnx", "--calib", data, "--json", *words)
        written[name] = (tmp_path / f"{name}.onnx").read_bytes()
        shown = json.loads(done.stdout)["refinements"]
        assert [one.get("parameters", "") for one in shown] == ["samples=3" if name in ("options", "recipe") else ""]
    assert written["options"] == written["recipe"] != written["preset"] == written["defaults"]


@pytest.mark.parametrize("refine,message", [
    ("means: {samples: 1}", "line 3: refinement bias-correction: samples = 1 is not possible\n  hint: from 2 to 1024"),
    ("means: {sample: 4}", "line 3: refinement bias-correction has no parameter 'sample'\n  hint: did you mean 'samples'?"),
    ("sums: {mean: much}", "line 3: mean = much is not possible\n  hint: mean is a number"),
])
def test_wrong_parameters_are_an_error_with_their_line(tool, tmp_path, refine, message):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(f"global:\n  weights: int8\n  refine: {{{refine}}}\n")
    done = run_tool(tool, "quantize", stack(tmp_path / "float.onnx"), "-o", tmp_path / "q.onnx", "--recipe", recipe, code=2)
    assert message in done.stderr


# Values that the activation function flattens have a large mean error, which harms nothing.
FLAT = {"Relu": [helper.make_node("Relu", ["c"], ["y"])],
        "SiLU": [helper.make_node("Sigmoid", ["c"], ["s"]), helper.make_node("Mul", ["c", "s"], ["y"])],
        "Clip": [helper.make_node("Clip", ["c", "low", "high"], ["y"])]}


@pytest.mark.parametrize("function", FLAT)
def test_errors_in_the_flat_part_of_a_function_do_not_move_the_others(tool, tmp_path, function):
    rng = np.random.default_rng(7)
    constants = [constant("w", rng.uniform(1, 2, (8, 1, 1, 1))), constant("b", np.zeros(8)), constant("low", 0), constant("high", 6)]
    info = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv"), *FLAT[function]], "flat",
                              [info("x", onnx.TensorProto.FLOAT, [1, 1, SIDE, SIDE])], [info("y", onnx.TensorProto.FLOAT, None)],
                              constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "flat.onnx")
    (tmp_path / "calib").mkdir()
    data = rng.uniform(-30, 3, (24, 1, 1, SIDE, SIDE)).astype(np.float32)
    for k, x in enumerate(data[:16]):
        np.save(tmp_path / "calib" / f"{k:02}.npy", x)
    wanted = [Executor(str(tmp_path / "flat.onnx")).run({"x": x})[0] for x in data[16:]]
    noise = {}
    for refine in ("sums", "means"):
        recipe, made = tmp_path / f"{refine}.yaml", tmp_path / f"{refine}.onnx"
        recipe.write_text(f"global: {{weights: int8 sym channel, activations: int8 asym, refine: {refine}}}\n"
                          "tensor: {x: {range: [-8, 3]}}\n")
        run_tool(tool, "quantize", tmp_path / "flat.onnx", "-o", made, "--recipe", recipe, "--calib", tmp_path / "calib")
        session = Executor(str(made))
        noise[refine] = np.mean([(session.run({"x": x})[0] - y) ** 2 for x, y in zip(data[16:], wanted)])
    assert noise["means"] < 1.1 * noise["sums"], noise
