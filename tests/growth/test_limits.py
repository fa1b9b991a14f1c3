"""Limits from the command line hold for every step of a command: loading, preparation, folding and running."""
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

PROGRAM = pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")) / "bin/anybit"
WIDTH = 512
COMMANDS = {
    "inspect": "inspect {m}",
    "prepare": "prepare {m} -o {o}.onnx",
    "convert-opset": "convert-opset {m} -o {o}.onnx --opset 21",
    "codegen": "codegen {m} -t c-gen -o {o}.c",
    "w4": "quantize {m} -o {o}.onnx --recipe w4",
    "int8": "quantize {m} -o {o}.onnx --recipe int8 --calib {c} --no-prepare",
    "means": "quantize {m} -o {o}.onnx --recipe int8 --refine means --calib {c} --ranges {r} --no-prepare",
    "evaluate": "quantize {m} -o {o}.onnx --recipe w8 --calib {c} --evaluate --no-prepare",
    "calibrate": "calibrate {m} --data {c} -o {o}.json",
    "compare": "compare {m} {m} --data {c}",
    "compare-report": "compare {m} {m} --data {c} --report {o}.html",
    "sensitivity": "sensitivity {m} --calib {c}",
    "sweep": "sweep {m} --calib {c} --recipes w8 --no-speed",
    "run": "run {m}",
    "run-device": "run {m} --quantize int8",
    "bench": "bench {m} --seconds 0.01",
}
# Commands that compile the model for the runtime and run it.
BUILDS = ["int8", "means", "evaluate", "calibrate", "compare", "compare-report", "run", "run-device", "bench"]


def value(name, dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model with a Gemm, a function and a sparse initializer, which is expanded when the model is compiled; samples; ranges."""
    folder = tmp_path_factory.mktemp("limits")
    sparse = helper.make_sparse_tensor(numpy_helper.from_array(np.float32([1]), "k"),
                                       helper.make_tensor("i", TensorProto.INT64, [1], [0]), [WIDTH * WIDTH])
    function = helper.make_function("f", "F", ["a"], ["b"], [
        helper.make_node("Relu", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["u"]), helper.make_node("Abs", ["u"], ["b"])],
        [helper.make_opsetid("", 17)])
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["m"]), helper.make_node("F", ["m"], ["h"], domain="f"),
             helper.make_node("ReduceMax", ["k"], ["t"], keepdims=0), helper.make_node("Add", ["h", "t"], ["y"])]
    constants = [numpy_helper.from_array(np.eye(8, dtype=np.float32), "w"), numpy_helper.from_array(np.ones(8, np.float32), "b")]
    graph = helper.make_graph(nodes, "g", [value("x", [1, 8])], [value("y", [1, 8])], constants, sparse_initializer=[sparse])
    onnx.save(helper.make_model(graph, ir_version=8, functions=[function],
                                opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]), folder / "m.onnx")
    (folder / "samples").mkdir()
    for i in range(3):
        np.save(folder / "samples" / f"{i}.npy", np.random.default_rng(i).normal(size=(1, 8)).astype(np.float32))
    called(f"calibrate {folder}/m.onnx --data {folder}/samples -o {folder}/ranges.json")
    return folder


def called(command):
    done = subprocess.run([PROGRAM, *command.split()], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def limited(command, files, tmp_path, limits=""):
    text = COMMANDS[command].format(m=files / "m.onnx", c=files / "samples", r=files / "ranges.json", o=tmp_path / "o")
    if command == "run-device":
        text += f" --qpath {tmp_path}/q.onnx"
    return called(f"{text} {limits}")


@pytest.mark.parametrize("command", COMMANDS)
def test_without_limits_every_command_succeeds(command, files, tmp_path):
    code, said = limited(command, files, tmp_path)
    assert code == 0, said


@pytest.mark.parametrize("limit", ["--max-nodes 2", "--max-records 5", "--max-elements 10", "--max-rank 0"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_rejects_a_file_above_a_limit(command, limit, files, tmp_path):
    code, said = limited(command, files, tmp_path, limit)
    assert code == 1 and "hint: raise the limit" in said, said


@pytest.mark.parametrize("command", BUILDS)
def test_every_command_that_compiles_the_model_obeys_the_limit_of_bytes(command, files, tmp_path):
    """The sparse weight alone takes a megabyte, and the constants of the model add less than 16 kB to the limit."""
    code, said = limited(command, files, tmp_path, "--max-work-bytes 1000")
    assert code == 1 and "--max-work-bytes" in said, said


@pytest.mark.parametrize("command", BUILDS)
def test_every_command_that_compiles_the_model_obeys_the_limit_of_nodes(command, files, tmp_path):
    code, said = limited(command, files, tmp_path, "--max-work-nodes 2")
    assert code == 1 and "--max-work-nodes" in said, said


@pytest.mark.parametrize("command", BUILDS)
def test_every_command_that_runs_the_model_obeys_the_limit_of_memory(command, files, tmp_path):
    code, said = limited(command, files, tmp_path, "--max-memory 100kB")
    assert code == 1 and "memory" in said, said
