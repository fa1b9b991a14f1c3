"""The verdict at the end of `quantize` and `compare`: docs/verdict.md."""
import json
import shlex
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.made_detector import CLASSES, SEED, write_detector

@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("detector")
    write_detector(path)
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


def test_a_verdict_can_be_left_out(tool, folder):
    words = ["quantize", "detector.onnx", "-o", "int8.onnx", "--recipe", "int8", "--calib", "samples"]
    assert "Verdict" in run(tool, folder, *words)
    file = (folder / "int8.onnx").read_bytes()
    assert "Verdict" not in run(tool, folder, *words, "--no-verdict")
    assert "verdict" not in json.loads(run(tool, folder, *words, "--no-verdict", "--json"))
    assert (folder / "int8.onnx").read_bytes() == file
    for other in ("--evaluate", "--report=r.html", "--labels=l.npy"):
        done = subprocess.run([tool("anybit"), *words, "--no-verdict", other], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 2 and "--no-verdict" in done.stderr, done.stderr


# The verdict of `quantize` takes the float model's outputs from calibration, where there was one.
@pytest.mark.parametrize("recipe", ["int8", "w4", "dynamic-int8"])
def test_quantize_and_compare_judge_alike(tool, folder, recipe):
    made = json.loads(run(tool, folder, "quantize", "detector.onnx", "-o", "j.onnx", "--recipe", recipe, "--calib", "samples", "--json"))["verdict"]
    compared = json.loads(run(tool, folder, "compare", "detector.onnx", "j.onnx", "--data", "samples", "--samples", "8", "--json"))["verdict"]
    assert made["level"] == compared["level"] and len(made["parts"]) == len(compared["parts"]) > 0
    for one, other in zip(made["parts"], compared["parts"]):
        assert one["output"] == other["output"] and one["channels"] == other["channels"]
        assert abs(one["sqnr_db"] - other["sqnr_db"]) < 0.01


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


# The output of a recurrent model that it takes as its input next: only what it does to the other outputs counts.
def test_a_state_does_not_decide(tool, tmp_path):
    random = np.random.default_rng(SEED)
    for name, scale in (("a", 1), ("b", -1)):
        weights = {"v": np.eye(8, 3, dtype=np.float32), "w": scale * np.eye(4, dtype=np.float32)}
        nodes = [helper.make_node("MatMul", ["x", "v"], ["y"]), helper.make_node("MatMul", ["h", "w"], ["next"])]
        ports = {"x": [1, 8], "h": [1, 4], "y": [1, 3], "next": [1, 4]}
        infos = [helper.make_tensor_value_info(port, TensorProto.FLOAT, dims) for port, dims in ports.items()]
        graph = helper.make_graph(nodes, "state", infos[:2], infos[2:], [numpy_helper.from_array(value, key) for key, value in weights.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / f"{name}.onnx")
    np.savez(tmp_path / "s.npz", x=random.normal(size=(1, 1, 8)).astype(np.float32), h=random.normal(size=(1, 1, 4)).astype(np.float32))
    verdict = json.loads(run(tool, tmp_path, "compare", "a.onnx", "b.onnx", "--data", "s.npz", "--json"))["verdict"]
    assert verdict["level"] == "ok", verdict
    assert {(part["output"], part["level"]) for part in verdict["parts"]} == {("y", "ok"), ("next", "unknown")}
    lost = [part for part in verdict["parts"] if part["output"] == "next"]
    assert all(part["kind"] == "state" and part["sqnr_db"] < 0 for part in lost)


# An output without declared sizes is a state by the runs: its input gives it its name, or is zero before the first step.
@pytest.mark.parametrize("dims", [None, ["a", "b"]], ids=["no shape", "no sizes"])
@pytest.mark.parametrize("output, zeros, extra, state", [
    ("hN", False, True, True), ("later", True, True, True), ("later", False, True, False), ("hN", True, False, False)],
    ids=["named after its input", "starts from zeros", "neither", "the only output"])
def test_a_state_without_a_declared_shape_does_not_decide_either(tool, tmp_path, output, zeros, extra, state, dims):
    random = np.random.default_rng(SEED)
    for name, scale in (("a", 1), ("b", -1)):
        weights = {"v": np.eye(8, 3, dtype=np.float32), "w": scale * np.ones((8, 4), np.float32)}
        nodes = [helper.make_node("MatMul", ["x", "w"], ["moved"]), helper.make_node("Add", ["moved", "h"], [output]),
                 *([helper.make_node("MatMul", ["x", "v"], ["y"])] if extra else [])]
        ports = {"x": [1, 8], "h": ["n", 4], "y": [1, 3], output: dims}
        infos = {port: helper.make_tensor_value_info(port, TensorProto.FLOAT, sizes) for port, sizes in ports.items()}
        graph = helper.make_graph(nodes, "state", [infos["x"], infos["h"]], [*([infos["y"]] if extra else []), infos[output]],
                                  [numpy_helper.from_array(value, key) for key, value in weights.items() if extra or key != "v"])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / f"{name}.onnx")
    states = np.zeros((3, 1, 4)) if zeros else random.normal(size=(3, 1, 4))
    np.savez(tmp_path / "s.npz", x=random.normal(size=(3, 1, 8)).astype(np.float32), h=states.astype(np.float32))
    verdict = json.loads(run(tool, tmp_path, "compare", "a.onnx", "b.onnx", "--data", "s.npz", "--json"))["verdict"]
    assert verdict["level"] == ("ok" if state else "broken"), verdict
    assert {part["kind"] for part in verdict["parts"] if part["output"] == output} == {"state" if state else "values"}


# Everything is ok: the sentence is about the output that is closest to the limit, not about the first.
def test_the_least_of_several_good_outputs_is_named(tool, tmp_path):
    def write(name, first, second):
        nodes = [helper.make_node("Mul", ["x", f"c{i}"], [f"y{i}"]) for i in (0, 1)]
        factors = [numpy_helper.from_array(np.float32(factor), f"c{i}") for i, factor in enumerate((first, second))]
        values = [helper.make_tensor_value_info(one, TensorProto.FLOAT, [8, 16]) for one in ("x", "y0", "y1")]
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:], factors), ir_version=8,
                                    opset_imports=[helper.make_opsetid("", 17)]), tmp_path / name)
    write("a.onnx", 1, 1)
    write("b.onnx", 1.001, 1.05)
    (tmp_path / "samples").mkdir()
    np.save(tmp_path / "samples/x.npy", np.random.default_rng(1).normal(size=(8, 16)).astype(np.float32))
    verdict = json.loads(run(tool, tmp_path, "compare", "a.onnx", "b.onnx", "--data", "samples", "--json"))["verdict"]
    assert verdict["level"] == "ok" and verdict["parts"][0]["output"] == "y1", verdict
    assert "the least y1: 26" in verdict["reason"], verdict
