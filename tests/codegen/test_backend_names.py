"""The name of a backend is its own: BACKENDS=abc_back lets the backend of abc-gen run."""

import json
import os
import subprocess

import numpy as np
import pytest
from support.devices import DIGITS, generator

NAMED = 'ABC_BACKEND="abc_back"'
MODEL = DIGITS / "digits.onnx"


def run(tool, folder, tmp_path, backends, *, code=0, **environment):
    done = subprocess.run([tool("anybit"), "run", MODEL, "--codegen", "abc-gen", "--cpath", tmp_path / "m.abc", "--plugins", folder,
                           "-o", tmp_path / "out"], capture_output=True, text=True,
                          env=os.environ | {"BACKENDS": backends} | environment)
    assert done.returncode == code, done.stderr
    return done.stderr


def test_a_backend_is_allowed_by_its_own_name(tool, tmp_path):
    folder = generator(tmp_path / "generators", NAMED)
    run(tool, folder, tmp_path, "abc_back")
    scores = np.load(tmp_path / "out" / "logits.npy").reshape(-1)
    np.testing.assert_allclose(np.diff(scores), 1, atol=1e-3)  # what the backend of the test computes
    said = run(tool, folder, tmp_path, "abc", code=2)
    assert "there is no backend 'abc'" in said and "cpu, abc_back, so" in said


def test_without_a_name_it_is_that_of_the_generator(tool, tmp_path):
    run(tool, generator(tmp_path / "generators"), tmp_path, "abc")
    assert (tmp_path / "out" / "logits.npy").exists()


def test_a_plugin_of_the_first_version_has_no_field_for_it(tool, anybit, tmp_path):
    folder = generator(tmp_path / "generators", "ABC_ABI=1", "ABC_BACKEND=(const char*)1")
    run(tool, folder, tmp_path, "abc")
    listed = json.loads(anybit("codegen", "--list", "--json", "--plugins", folder).stdout)
    assert {one["name"]: one["backend"] for one in listed}["abc-gen"] == "abc"


@pytest.mark.parametrize("name", ["cpu", "", "a b", "A", "a;b"])
def test_a_name_that_cannot_be_written_or_is_anybits_own_is_rejected(anybit, tmp_path, name):
    folder = generator(tmp_path / "generators", f'ABC_BACKEND="{name}"')
    listed = json.loads(anybit("codegen", "--list", "--json", "--plugins", folder).stdout)
    assert f"its backend is called '{name}'" in {one["name"]: one["summary"] for one in listed}["abc-gen"]
