"""The story of a detector, on YOLO11n-seg and photos: int8 loses some detections, the tools say so, and what they suggest mends it."""
import json
import os
import pathlib
import shlex
import subprocess

import numpy as np
import pytest
import verdict_tasks
from fetch_real_models import models

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "bin/anybit"
pytestmark = pytest.mark.detector


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("detector")
    (path / "calib").mkdir()
    for k, photo in enumerate(verdict_tasks.photos(640)):
        np.save(path / "calib" / f"{k:02}.npy", photo)
    model = next(one.path for one in models() if one.file.endswith("yolo11n-seg.onnx"))
    (path / "model.onnx").write_bytes(model.read_bytes())
    return path


def run(folder, *words):
    done = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def verdict(folder):
    return run(folder, "quantize", "model.onnx", "-o", "q.onnx", "--calib", "calib", "--json")["verdict"]


def test_the_verdict_names_the_scores_and_most_detections_are_kept(verdict):
    worst = verdict["parts"][0]
    assert verdict["level"] == "degraded" and worst["kind"] == "probabilities", verdict
    assert worst["decisions"]["both"] > 0.8 * worst["decisions"]["before"]


def test_the_suggested_command_mends_it(folder, verdict):
    mended = run(folder, *shlex.split(verdict["next"])[1:], "--json")["verdict"]
    assert mended["level"] == "ok", mended


# Plain mean errors are corrected to the benefit of values that SiLU flattens, and to the harm of all detections.
def test_bias_correction_does_no_harm(folder):
    found = run(folder, "sensitivity", "model.onnx", "--calib", "calib", "--layers", "12", "--json")
    assert not found["refinements_harm"] and found["all"]["harm"] < found["plain"]["harm"], (found["all"], found["plain"])
