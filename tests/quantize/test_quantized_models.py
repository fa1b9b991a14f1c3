"""Real models, quantized by anybit: the files run in ONNX Runtime, give equal results in both, and stay near the float model."""

import numpy as np
import onnx
import pytest
from support.peer_models import IMAGES, MODELS, image, quantized
from support.quantizing import decibels, in_anybit, in_onnxruntime, report_of, run_tool

DETECTOR, READER, CLASSIFIER = IMAGES


@pytest.fixture(scope="module")
def calibration(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calib")
    for stem, shape in IMAGES.items():
        (folder / stem).mkdir()
        for seed in range(3):
            np.save(folder / stem / f"{seed}.npy", image(shape, seed))
    return folder


def output(path, feeds):
    return in_onnxruntime(path, feeds)[0]


@pytest.mark.parametrize("stem", IMAGES)
def test_int8_is_as_accurate_as_the_peers_tool(tool, tmp_path, calibration, stem):
    model, path = MODELS / f"{stem}.onnx", tmp_path / "q.onnx"
    run_tool(tool, "quantize", model, "-o", path, "--calib", calibration / stem)
    feeds = {onnx.load(model).graph.input[0].name: image(IMAGES[stem], 100)}
    reference, peers = output(model, feeds), output(quantized(stem, "channel"), feeds)
    # 6 dB are one bit, about the difference that samples make between two ways to round.
    assert decibels(reference, output(path, feeds)) > min(40, decibels(reference, peers) - 6)
    assert decibels(reference, in_anybit(path, feeds)[0]) > min(40, decibels(reference, peers) - 6)
    assert path.stat().st_size < 0.55 * model.stat().st_size


@pytest.mark.parametrize("recipe, least", [("w8", 25), ("w16", 50), ("dynamic-int8", 20)])
def test_recipes_without_samples(tool, tmp_path, recipe, least):
    model, path = MODELS / f"{CLASSIFIER}.onnx", tmp_path / "q.onnx"
    run_tool(tool, "quantize", model, "-o", path, "--recipe", recipe)
    feeds = {"x": image(IMAGES[CLASSIFIER], 100)}
    reference, peer, ours = output(model, feeds), output(path, feeds), in_anybit(path, feeds)[0]
    assert decibels(reference, peer) > least and decibels(reference, ours) > least


def test_branches_of_the_speech_detector_are_quantized_like_the_rest(tool, tmp_path):
    model, path = MODELS / "silero_vad_v5.onnx", tmp_path / "q.onnx"
    rng = np.random.default_rng(1)
    folder = tmp_path / "calib"
    folder.mkdir()
    for i in range(4):
        np.savez(folder / f"{i}.npz", input=(0.1 * rng.standard_normal((1, 512))).astype(np.float32),
                 state=np.zeros((2, 1, 128), np.float32), sr=np.array(16000, np.int64))
    report = report_of(run_tool(tool, "quantize", model, "-o", path, "--calib", folder, "--json"))
    inside = [one for one in report["nodes"] if one["graph"] and one["outcome"] == "quantized"]
    assert len(inside) >= 4
    assert any("no sample reached" in remark for remark in report["remarks"])  # 8 kHz
    feeds = {"input": (0.1 * rng.standard_normal((1, 512))).astype(np.float32), "state": np.zeros((2, 1, 128), np.float32),
             "sr": np.array(16000, np.int64)}
    reference, peer, ours = (run(feeds) for run in (lambda f: in_onnxruntime(model, f), lambda f: in_onnxruntime(path, f),
                                                    lambda f: in_anybit(path, f)))
    assert abs(reference[0] - peer[0]).max() < 0.1 and abs(reference[0] - ours[0]).max() < 0.1
