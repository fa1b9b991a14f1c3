"""The on-device flow of `anybit run`: quantization and code generation before the run, separately and together."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
from support.devices import generator


@pytest.fixture
def model(tmp_path):
    return Path(shutil.copy(DIGITS / "digits.onnx", tmp_path / "digits.onnx"))


@pytest.fixture(scope="module")
def generators(tmp_path_factory):
    return generator(tmp_path_factory.mktemp("generators"))


def image(number=3):
    return f"image={DIGITS / 'samples' / f'{number}.npy'}"


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int8_wo", "int16_wo", "w4"])
def test_a_model_is_quantized_and_run(anybit, model, tmp_path, kind):
    anybit("run", model, "--quantize", kind, "--qpath", tmp_path / "q.onnx", "--minmax-run", 3, "--input", image(),
           "--output", tmp_path / "out")
    assert np.load(tmp_path / "out" / "logits.npy").argmax() == 3
    assert (tmp_path / "q.onnx").stat().st_size < model.stat().st_size
    assert {path.name for path in tmp_path.iterdir()} == {"digits.onnx", "q.onnx", "out"}


def test_random_inputs_are_reported(anybit, model, tmp_path):
    said = anybit("run", model, "--quantize", "uint8", "--minmax_run", 4).stdout
    assert "Ranges  of 4 runs on random values" in said and "random: no file was given" in said
    assert (tmp_path / "digits.q.onnx").is_file()
    first = (tmp_path / "digits.q.onnx").read_bytes()
    anybit("run", model, "--quantize", "uint8", "--minmax_runs", 4)  # onert_run accepts both spellings
    assert (tmp_path / "digits.q.onnx").read_bytes() == first  # calls are independent
    assert "(random" not in anybit("run", model, "--quantize", "uint8", "--input", image()).stdout


def test_code_is_generated_and_run_by_its_backend(anybit, model, tmp_path, generators):
    x = np.load(DIGITS / "samples" / "3.npy")
    done = json.loads(anybit("run", model, "--codegen", "abc-gen", "--cpath", tmp_path / "m.abc", "--plugins", generators,
                             "--input", image(), "--output", tmp_path / "out", "--repeat", 3, "--json").stdout)
    assert done["by_backend"] and done["generated"] == str(tmp_path / "m.abc") and len(done["milliseconds"]) == 3
    np.testing.assert_allclose(np.load(tmp_path / "out" / "logits.npy")[0], x.sum() + np.arange(10), rtol=1e-4)
    done = json.loads(anybit("run", model, "--codegen", "abc-gen", "--plugins", generators, "--backend", "cpu", "--input",
                             image(), "--output", tmp_path / "out", "--json").stdout)
    assert not done["by_backend"] and done["generated"] == str(tmp_path / "digits.abc")
    assert np.load(tmp_path / "out" / "logits.npy").argmax() == 3


def test_calibration_and_runs_use_all_samples(anybit, model, tmp_path, generators):
    call = ["run", model, "--input", DIGITS / "samples", "--output", tmp_path / "out", "--json"]
    for more, runs in [([], 10), (["--minmax-run", 13], 13), (["--samples", 4], 4)]:
        done = json.loads(anybit(*call, "--quantize", "uint8", "--qpath", tmp_path / "q.onnx", *more).stdout)
        assert done["ranges_runs"] == runs
        assert [np.load(one["written"][0]).argmax() for one in done["samples"]] == list(range(len(done["samples"])))
    done = json.loads(anybit(*call, "--codegen", "abc-gen", "--plugins", generators).stdout)
    assert done["by_backend"] and len(done["samples"]) == 10
    for i, one in enumerate(done["samples"]):
        x = np.load(DIGITS / "samples" / f"{i}.npy")
        np.testing.assert_allclose(np.load(one["written"][0])[0], x.sum() + np.arange(10), rtol=1e-4)


def test_quantization_and_code_generation_go_together(tool, model, tmp_path, generators):
    done = subprocess.run(
        [tool("anybit"), "run", "--quantize", "uint8", "--qpath", tmp_path / "q.onnx", "--minmax_run", "2", "--codegen",
         "abc-gen", "--cpath", tmp_path / "q.abc", "--plugins", generators, "--json", model],
        capture_output=True, text=True, env=os.environ | {"BACKENDS": "abc"})
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["by_backend"] and said["ranges_runs"] == 2
    assert (tmp_path / "q.onnx").is_file() and (tmp_path / "q.abc").is_file()


@pytest.mark.parametrize("words, part, code", [
    (["--quantize", "int9"], "int9", 2),
    (["--codegen", "no-gen"], "no-gen", 2),
    (["--backend", "xyz"], "there is no backend 'xyz'", 2),
    (["--qpath", "q.onnx"], "--qpath requires --quantize", 2),
    (["--minmax-run", "5"], "--minmax-run requires --quantize", 2),
    (["--cpath", "m.abc"], "--cpath requires --codegen", 2),
    (["--prefer", "memory"], "--prefer requires --codegen", 2),
    (["--plugins", "/tmp"], "--codegen NAME-gen, or --backend NAME", 2),
    (["--backend", "so"], "none of the backends so can run the model", 1),
    (["--backend", "so", "--codegen", "c-gen"], "none of the backends so can run the model", 1),
    (["--codegen", "abc-gen", "--prefer", "beauty"], "beauty", 2),
    (["--quantize", "int8_wo", "--qpath", "no/such/folder/q.onnx"], "digits.onnx: cannot write 'no/such/folder/q.onnx'", 1),
    (["--quantize", ""], "'' is not a type", 2),
    (["--quantize", "int8_wo", "--qpath", ""], "'' is not a path", 2),
    (["--codegen", ""], "'' is not a generator", 2),
    (["--codegen", "c-gen", "--cpath", ""], "'' is not a path", 2),
    (["--codegen", "c-gen", "--plugins", ""], "'' is not a folder", 2),
])
def test_impossible_requests_are_reported(anybit, model, words, part, code):
    said = anybit("run", model, *words, code=code).stderr
    assert part in said and "\\n" not in said


def test_the_hint_is_on_its_own_line(anybit, model):
    assert "int9'\n  hint: did you mean 'int8'" in anybit("run", model, "--quantize", "int9", code=2).stderr
    error = json.loads(anybit("run", model, "--quantize", "int9", "--json", code=2).stdout)["error"]
    assert error["message"] == "no recipe 'int9'" and error["hint"].startswith("did you mean 'int8'")
