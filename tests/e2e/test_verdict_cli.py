"""The verdict at the end of `quantize` and `compare`: docs/verdict.md."""
import json
import shlex
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

SEED = 7
CLASSES, ANCHORS = 12, 64


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A detector whose one output has box coordinates in pixels beside scores, and samples of which some anchors hold an object."""
    random = np.random.default_rng(SEED)
    path = tmp_path_factory.mktemp("detector")
    boxes = random.normal(0, 0.3, (4, 8, 1)).astype(np.float32)
    scores = np.zeros((CLASSES, 8, 1), np.float32)
    scores[np.arange(CLASSES), np.arange(CLASSES) % 8] = 3
    constants = {"w_boxes": boxes, "w_scores": scores, "b_scores": np.full(CLASSES, -6, np.float32), "pixels": np.float32(640)}
    nodes = [
        helper.make_node("Conv", ["x", "w_boxes"], ["raw"], name="head/boxes"),
        helper.make_node("Sigmoid", ["raw"], ["unit"], name="head/unit"),
        helper.make_node("Mul", ["unit", "pixels"], ["boxes"], name="head/decode"),
        helper.make_node("Conv", ["x", "w_scores", "b_scores"], ["logits"], name="head/scores"),
        helper.make_node("Sigmoid", ["logits"], ["scores"], name="head/sigmoid"),
        helper.make_node("Concat", ["boxes", "scores"], ["found"], axis=1, name="head/concat"),
    ]
    graph = helper.make_graph(
        nodes, "detector", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, ANCHORS])],
        [helper.make_tensor_value_info("found", TensorProto.FLOAT, [1, 4 + CLASSES, ANCHORS])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path / "detector.onnx")
    (path / "samples").mkdir()
    for i in range(6):
        sample = random.normal(0, 0.5, (1, 8, ANCHORS)).astype(np.float32)
        for anchor in random.choice(ANCHORS, 5, replace=False):
            sample[0, random.integers(8), anchor] = 3
        np.save(path / "samples" / f"{i}.npy", sample)
    return path


def run(tool, folder, *words):
    done = subprocess.run([tool("anybit"), *words], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"seed {SEED}: {done.stderr}"
    return done.stdout


# Coordinates of some hundred pixels share a scale with scores below 1: 8 bits leave nothing of the scores, and the SQNR of the whole
# output is fine.
def test_lost_detections_are_broken_and_the_suggested_command_mends_them(tool, folder):
    (folder / "int8.yaml").write_text("global: {weights: int8 sym channel, activations: int8 asym}\ntype: {Concat: int8, Mul: int8, Sigmoid: int8}\n")
    words = ["quantize", "detector.onnx", "-o", "q.onnx", "--recipe", "int8.yaml"]
    result = json.loads(run(tool, folder, *words, "--calib", "samples", "--evaluate", "--json"))
    assert result["comparison"]["outputs"][0]["sqnr_db"] > 25, f"seed {SEED}"
    verdict = result["verdict"]
    assert verdict["level"] == "broken", verdict
    worst = verdict["parts"][0]
    assert worst["kind"] == "probabilities" and worst["channels"] == [4, 3 + CLASSES] and worst["decisions"]["after"] == 0
    next_words = shlex.split(verdict["next"])
    assert next_words[0] == "anybit" and "int16x8" in next_words
    text = run(tool, folder, *next_words[1:])
    assert text.rstrip().splitlines()[-1].startswith("Verdict   ok"), text


def test_a_model_that_is_the_same_is_ok(tool, folder):
    verdict = json.loads(run(tool, folder, "compare", "detector.onnx", "detector.onnx", "--data", "samples", "--json"))["verdict"]
    assert verdict["level"] == "ok" and "next" not in verdict and "recipe" not in verdict


def test_without_data_there_is_no_verdict(tool, folder):
    assert "Verdict" not in run(tool, folder, "quantize", "detector.onnx", "-o", "w8.onnx", "--recipe", "w8")


def test_labels_take_the_place_of_guesses(tool, tmp_path, request):
    root = request.config.rootpath
    pixels = np.load(root / "examples/digits/test_images.npy")[:200]
    np.save(tmp_path / "images.npy", (pixels.astype(np.float32) / 255 - 0.1307) / 0.3081)
    np.save(tmp_path / "labels.npy", np.load(root / "examples/digits/test_labels.npy")[:200])
    digits = str(root / "examples/digits/digits.onnx")
    for recipe, level in [("int8", "ok"), ("ternary", "broken")]:
        words = ["quantize", digits, "-o", "q.onnx", "--recipe", recipe, "--calib", "images.npy", "--labels", "labels.npy", "--json"]
        verdict = json.loads(run(tool, tmp_path, *words))["verdict"]
        assert verdict["level"] == level and verdict["reason"].startswith("top-1 accuracy"), verdict
