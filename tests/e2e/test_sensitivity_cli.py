"""`anybit sensitivity`: docs/sensitivity.md. The reference is brute force: one quantized file per layer, run by ONNX Runtime."""
import json
import shlex
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from support.made_detector import SEED, write_detector
from support.reports import data_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sensitivity")
    write_detector(path)
    (path / "int8.yaml").write_text("global: {weights: int8 sym channel, activations: int8 asym}\ntype: {Concat: int8, Mul: int8, Sigmoid: int8}\n")
    return path


def run(tool, folder, *words, code=0):
    done = subprocess.run([tool("anybit"), *words], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"seed {SEED}: {done.stderr}"
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def found(tool, folder):
    return json.loads(run(tool, folder, "sensitivity", "detector.onnx", "--calib", "samples", "--recipe", "int8.yaml", "--measure", "6", "--json"))


# Coordinates of some hundred pixels share a scale with scores below 1: the loss is broken, the node through which the scores are lost is
# first, and the suggested command leaves it in float.
def test_the_node_that_loses_the_detections_is_named_and_leaving_it_in_float_mends_them(tool, folder, found):
    assert found["all"]["level"] == "broken" and "(scores)" in found["all"]["reason"], found["all"]
    assert found["layers"][0]["node"] == "head/concat", [layer["node"] for layer in found["layers"]]
    words = shlex.split(found["next"])
    assert "head/concat" in words[words.index("--exclude") + 1].split(",") and found["excluded"]["level"] == "ok"
    text = run(tool, folder, *words[1:])
    assert text.rstrip().splitlines()[-1].startswith("Verdict   ok"), text


def noise_by_onnxruntime(folder, path):
    """Noise relative to signal of the boxes and of the scores."""
    sums = np.zeros((2, 2))
    for sample in sorted((folder / "samples").glob("*.npy")):
        feeds = {"x": np.load(sample)}
        a, b = (onnxruntime.InferenceSession(str(folder / name)).run(None, feeds)[0] for name in ("detector.onnx", path))
        for part, channels in enumerate((slice(0, 4), slice(4, None))):
            sums[part] += ((a - b)[:, channels] ** 2).sum(), (a[:, channels] ** 2).sum()
    return sums[:, 0] / sums[:, 1]


# The values before the layer are kept, and only the nodes after it run: the results are those of whole models.
def test_the_loss_of_each_layer_is_that_of_a_file_in_which_it_alone_is_quantized(tool, folder, found):
    for layer in found["layers"]:
        (folder / "alone.yaml").write_text(f"global: float\nname: {{{layer['node']}: {{weights: int8 sym channel, activations: int8 asym}}}}\n")
        run(tool, folder, "quantize", "detector.onnx", "-o", "alone.onnx", "--recipe", "alone.yaml", "--calib", "samples")
        with np.errstate(divide="ignore"):
            worst = -10 * np.log10(noise_by_onnxruntime(folder, "alone.onnx"))
        assert np.abs(worst - layer["alone"]["sqnr_db"]).min() < 0.3 or layer["alone"]["sqnr_db"] == 200, f"seed {SEED}: {layer}, {worst}"


def test_the_loss_without_each_layer_is_that_of_a_file_that_leaves_it_in_float(tool, folder, found):
    for layer in found["layers"]:
        run(tool, folder, "quantize", "detector.onnx", "-o", "left.onnx", "--recipe", "int8.yaml", "--exclude", layer["node"], "--calib", "samples")
        rest = -10 * np.log10(noise_by_onnxruntime(folder, "left.onnx"))
        assert np.abs(rest - layer["left"]["sqnr_db"]).min() < 0.3, f"seed {SEED}: {layer}, {rest}"


def test_at_most_two_runs_of_each_layer_and_sample(tool, folder, found):
    layers, samples = len(found["layers"]), found["samples"]
    assert samples == 6 and 2 * layers * samples <= found["runs"] <= 2 * layers * samples + 8 * samples + 1


# With almost no memory each layer is a batch of its own, and the values before it are computed again.
def test_less_memory_gives_the_same_numbers(tool, folder, found):
    words = ["sensitivity", "detector.onnx", "--calib", "samples", "--recipe", "int8.yaml", "--measure", "6", "--max-kept", "1", "--json"]
    little = json.loads(run(tool, folder, *words))
    assert little["runs"] > found["runs"]
    assert [layer["harm"] for layer in little["layers"]] == [layer["harm"] for layer in found["layers"]]


def test_layers_bounds_what_is_measured_to_the_largest_estimates(tool, folder, found):
    some = json.loads(run(tool, folder, "sensitivity", "detector.onnx", "--calib", "samples", "--recipe", "int8.yaml", "--layers", "2", "--json"))
    measured = {layer["node"] for layer in some["layers"] if "harm" in layer}
    expected = sorted(found["layers"], key=lambda layer: -layer["estimate"])[:2]
    assert measured == {layer["node"] for layer in expected} and len(some["layers"]) == len(found["layers"])


def test_names_are_complete_when_the_output_is_no_terminal(tool, folder, tmp_path):
    model = onnx.load(folder / "detector.onnx")
    model.graph.node[0].name = "a/" * 60 + "convolution"
    onnx.save(model, tmp_path / "long.onnx")
    text = run(tool, tmp_path, "sensitivity", "long.onnx", "--calib", str(folder / "samples"), "--measure", "2")
    assert model.graph.node[0].name in text and "…" not in text


def test_a_verdict_without_a_wider_recipe_leads_to_the_measurement(tool, folder):
    (folder / "rough.yaml").write_text("global: {weights: int8 sym channel, activations: int16 asym}\nname: {head/scores: {weights: int8 sym tensor scale 8, activations: float}}\n")
    verdict = json.loads(run(tool, folder, "quantize", "detector.onnx", "-o", "rough.onnx", "--recipe", "rough.yaml", "--calib", "samples", "--json"))["verdict"]
    assert verdict["level"] == "broken" and "recipe" not in verdict, verdict
    assert verdict["next"].startswith("anybit sensitivity detector.onnx --recipe rough.yaml") and "--calib samples" in verdict["next"], verdict


def test_the_page_has_the_measured_layers(tool, folder, found):
    run(tool, folder, "sensitivity", "detector.onnx", "--calib", "samples", "--recipe", "int8.yaml", "--measure", "6", "--report", "s.html")
    data = data_of(folder / "s.html")
    assert {row["node"]: row["alone_quantized_sqnr_db"] for row in data["sensitivity"]} == {
        layer["node"]: layer["alone"]["sqnr_db"] for layer in found["layers"]}
    assert {row["node"] for row in data["sensitivity"]} <= {node["name"] for node in data["nodes"]}


def test_without_data_the_error_names_the_option(tool, folder):
    assert "--calib" in run(tool, folder, "sensitivity", "detector.onnx", code=2)
