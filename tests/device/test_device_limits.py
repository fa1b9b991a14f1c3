"""Sessions under limits, and reproducible files of a session."""

import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.devices import DIGITS, compiled, image_data, run

OK, LIMIT_EXCEEDED = 0, 8
RANK, ELEMENTS, NODES, DEPTH, RECORDS, WORK_BYTES, WORK_ELEMENTS, WORK_NODES, MEMORY = range(1, 10)
# glibc's functions exist with and without fused multiply-adds, too: the narrowest cap uses the ones without.
CAPS = {"sse4": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-FMA4_Usable"}, "avx2": {}, "avx512": {}}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tmp_path_factory.mktemp("made")


def files_under(cap, build, made, tmp_path, wanted):
    """The bytes of the ranges and the quantized model of a session under a CPU cap."""
    folder = tmp_path / f"{cap}-{wanted}"
    folder.mkdir()
    model = shutil.copy(DIGITS / "digits.onnx", folder / "digits.onnx")
    run(compiled(build, made, "reproducible"), model, image_data(made / "images.bin"), 20, folder / "q.onnx", wanted,
        ANYBIT_CPU=cap, **CAPS[cap])
    return (folder / "digits.ranges.json").read_bytes(), (folder / "q.onnx").read_bytes()


def test_reproducible_files_are_the_same_under_every_cap(build, made, tmp_path):
    files = {cap: files_under(cap, build, made, tmp_path, 1) for cap in CAPS}
    assert files["avx2"] == files["sse4"] and files["avx512"] == files["sse4"]


def test_reproducible_files_equal_those_of_the_command_line(build, anybit, made, tmp_path):
    ranges, quantized = files_under("avx2", build, made, tmp_path, 1)
    np.save(tmp_path / "x.npy", np.fromfile(image_data(made / "images.bin"), np.float32).reshape(-1, 1, 28, 28)[:20])
    model = DIGITS / "digits.onnx"
    anybit("calibrate", model, "--data", tmp_path / "x.npy", "-o", tmp_path / "ranges.json", "--reproducible")
    anybit("quantize", model, "-o", tmp_path / "cli.onnx", "--recipe", "int8", "--ranges", tmp_path / "ranges.json",
           "--reproducible")
    assert quantized == (tmp_path / "cli.onnx").read_bytes()


def test_without_reproducible_ranges_depend_on_the_cpu(build, made, tmp_path):
    assert files_under("sse4", build, made, tmp_path, 0)[0] != files_under("avx2", build, made, tmp_path, 0)[0]


def value(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8])


EYE = numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")


def sparse_model(path):
    """A sparse constant of a few bytes that takes four megabytes when it is made dense before the run."""
    sparse = helper.make_sparse_tensor(numpy_helper.from_array(np.float32([1]), "k"),
                                       helper.make_tensor("i", TensorProto.INT64, [1], [0]), [1024 * 1024])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("ReduceMax", ["k"], ["t"], keepdims=0),
             helper.make_node("Add", ["m", "t"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")], [EYE], sparse_initializer=[sparse])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def function_model(path):
    """A linear operator, and a function with three nodes."""
    function = helper.make_function("f", "F", ["a"], ["b"], [
        helper.make_node("Relu", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["u"]), helper.make_node("Abs", ["u"], ["b"])],
        [helper.make_opsetid("", 17)])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("F", ["m"], ["y"], domain="f")]
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")], [EYE])
    onnx.save(helper.make_model(graph, ir_version=8, functions=[function],
                                opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]), path)
    return path


def statuses(build, made, tmp_path, model, limit=0, value=0):
    said = run(compiled(build, made, "limits"), model, limit, value, tmp_path / "q.onnx")
    return {line.split()[0]: int(line.split()[1]) for line in said.splitlines()}


def test_without_limits_the_models_of_these_tests_are_quantized(build, made, tmp_path):
    for model in (sparse_model(tmp_path / "s.onnx"), function_model(tmp_path / "f.onnx")):
        assert set(statuses(build, made, tmp_path, model).values()) == {OK}


@pytest.mark.parametrize("limit, value", [(RANK, 1), (ELEMENTS, 10), (NODES, 1), (RECORDS, 5)])
def test_a_model_above_a_limit_is_not_loaded(build, made, tmp_path, limit, value):
    assert statuses(build, made, tmp_path, function_model(tmp_path / "f.onnx"), limit, value) == {"load": LIMIT_EXCEEDED}


def test_the_limit_on_folded_bytes_holds_in_every_step(build, made, tmp_path):
    found = statuses(build, made, tmp_path, sparse_model(tmp_path / "s.onnx"), WORK_BYTES, 1000)
    assert found["prepare"] == LIMIT_EXCEEDED and found["run"] != OK and found["quantize"] != OK


def test_the_memory_limit_holds_in_every_step(build, made, tmp_path):
    found = statuses(build, made, tmp_path, sparse_model(tmp_path / "s.onnx"), MEMORY, 100_000)
    assert found["prepare"] == LIMIT_EXCEEDED and found["run"] != OK


def test_functions_that_expand_to_too_many_nodes_are_rejected(build, made, tmp_path):
    found = statuses(build, made, tmp_path, function_model(tmp_path / "f.onnx"), WORK_NODES, 2)
    assert OK not in {found.get("prepare", found["load"])}
