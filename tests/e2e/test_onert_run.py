"""The program onert_run: options of onert's program are honoured, or refused by name."""

import os
import shutil
import subprocess

import numpy as np
import pytest
from support.devices import DIGITS
from support.tflite_cases import CASES
from support.tflite_files import as_circle, litert

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
    anybit("run", MODEL, "--input", tmp_path / "x.npy", "-o", tmp_path / "expected")
    expected = np.load(tmp_path / "expected" / "logits.npy")
    for inputs in (["--load:raw", "in", "--shape_run", "[0, [5, 1, 28, 28]]"], ["--load:raw=in", "--shape_prepare=[0,[5,1,28,28]]"],
                   ["--load", "x.npy"], ["-l", "x.npy", "-w", "2", "-r", "3", "--fixed_input", "--force_float", "-v", "0"]):
        onert_run(MODEL, *inputs, "--dump:raw", "out")
        np.testing.assert_array_equal(np.fromfile(tmp_path / "out.0", np.float32).reshape(5, 10), expected)
        (tmp_path / "out.0").unlink()


def test_the_shape_of_random_inputs_is_set_by_index(onert_run, tmp_path):
    assert "float32[7, 1, 28, 28]" in onert_run(MODEL, "--shape_prepare", "[0, [7, 1, 28, 28]]", "--num_runs", "2", "--warmup_runs", "1")


def test_a_package_folder_is_a_model(onert_run, model, tmp_path):
    (tmp_path / "package" / "metadata").mkdir(parents=True)
    (tmp_path / "package" / "metadata" / "MANIFEST").write_text('{"models": ["net.onnx"]}')
    shutil.move(model, tmp_path / "package" / "net.onnx")
    onert_run("-q", "int8_wo", "package")
    assert (tmp_path / "package" / "net.q.onnx").exists()
    (tmp_path / "package" / "metadata" / "MANIFEST").write_text('{"models": ["net.gguf"]}')
    assert "it has 'net.gguf' (gguf); one model of a known type (onnx, circle, tflite)" in onert_run("package", code=1)


def test_a_circle_file_is_a_model(onert_run, tmp_path):
    content, (x,), _ = CASES["CONV_2D"]()
    (tmp_path / "net.circle").write_bytes(as_circle(content))
    np.save(tmp_path / "x.npy", x)
    onert_run("net.circle", "--load", "x.npy", "--dump:raw", "out")
    np.testing.assert_allclose(np.fromfile(tmp_path / "out.0", np.float32), litert(content, [x])[0].ravel(), rtol=1e-4, atol=1e-5)
    onert_run("-q", "int8_wo", "net.circle")
    assert (tmp_path / "net.q.onnx").exists()


def test_the_number_of_threads_is_a_variable(onert_run):
    onert_run(MODEL, NUM_THREADS="1")
    assert "NUM_THREADS" in onert_run(MODEL, NUM_THREADS="many", code=2)


@pytest.mark.parametrize("words", [
    ["--dump", "x.h5"], ["-d", "x.h5"], ["--dump_input:raw", "x"], ["--output_sizes", "[0, 4]"], ["--output_shape", "[0, [4]]"],
    ["--run_delay", "5"], ["--t", "5"], ["--gpumem_poll"], ["-g"], ["--mem_poll"], ["-m"], ["--write_report"], ["-p"],
    ["--signature", "x"], ["-v", "1"]], ids=" ".join)
def test_an_option_that_cannot_be_honoured_is_refused_by_name(onert_run, words):
    said = onert_run(*words, MODEL, code=2)
    assert "cannot be honoured" in said or "--verbose_level" in said


@pytest.mark.parametrize("words, message", [
    ([], "PATH is required"), (["nothing.onnx"], "cannot open 'nothing.onnx'"), (["--nothing", MODEL], "--nothing"),
    ([MODEL, "--shape_run", "h5"], "--shape_run"), ([MODEL, "--shape_run", "[0]"], "--shape_run"),
    ([MODEL, "--shape_run", "[0, [-1]]"], "--shape_run"), ([MODEL, "--shape_run", "[0, [1e99]]"], "--shape_run"),
    ([MODEL, "--shape_run", "[1, [1]]"], "there is no input 1"), ([MODEL, "--shape_run", "[0, [1, 1, 28, 27]]"], "28"),
    ([MODEL, "--load:raw", "nothing"], "cannot open 'nothing.0'"), ([MODEL, "--load", "x.h5"], "x.h5"),
    ([MODEL, "--quantize", "uint9"], "uint9"), ([MODEL, "--qpath", "x"], "--qpath"), ([MODEL, "--cpath", "x"], "--cpath"),
    ([MODEL, "--minmax_run", "0"], "--minmax_run"), ([MODEL, "--minmax_run", "5"], "--quantize"), ([MODEL, "--quantize", ""], "is empty"),
    ([MODEL, "--load", "x.npy", "--load:raw", "x"], "--load"), ([MODEL, "--load", "x.npy", "--shape_run", "[]"], "--load"), ([MODEL, "--codegen", "nothing-gen"], "nothing-gen")])
def test_a_wrong_call_is_an_error(onert_run, words, message):
    done = onert_run(*words, code=1 if message.startswith("cannot open") or message == "x.h5" else 2)
    assert done.startswith("onert_run: ") and message in done


def test_raw_files_of_a_wrong_size_are_an_error(onert_run, tmp_path):
    np.zeros(783, np.float32).tofile(tmp_path / "in.0")
    assert "in.0" in onert_run(MODEL, "--load:raw", "in", code=2)


def test_help_and_version_go_to_standard_output(onert_run):
    assert "--quantize" in onert_run("--help") and onert_run("--version").startswith("onert_run of anybit ")
