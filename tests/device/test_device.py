"""The C API: the examples of the workflow, and the table of states, call by call."""

import re
import shutil
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from support.devices import DIGITS, ROOT, compiled, generator, image_data, run

HEADER = ROOT / "include" / "anybit" / "anybit.h"


@pytest.fixture
def model(tmp_path):
    """The digits model in a folder of its own."""
    (tmp_path / "m").mkdir()
    return shutil.copy(DIGITS / "digits.onnx", tmp_path / "m" / "digits.onnx")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tmp_path_factory.mktemp("made")


@pytest.fixture(scope="module")
def images(made):
    return image_data(made / "image_data.bin")


def by_onnx_runtime(path, images, image):
    x = np.fromfile(images, np.float32).reshape(-1, 1, 28, 28)[image:image + 1]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options).run(None, {"image": x})[0].reshape(-1)


@pytest.mark.parametrize("kind, bits", [(4, 8), (5, 16)], ids=["int8", "int16"])
def test_the_example_of_weight_only_quantization_runs_in_its_order(build, made, images, model, tmp_path, kind, bits):
    program = compiled(build, made, "example_weight_only")
    said = run(program, model, images, kind, tmp_path / "q.onnx")
    types = {tensor.data_type for tensor in onnx.load(tmp_path / "q.onnx").graph.initializer if len(tensor.dims) > 1}
    assert types & {onnx.TensorProto.INT8 if bits == 8 else onnx.TensorProto.INT16, onnx.TensorProto.UINT8}
    expected = by_onnx_runtime(tmp_path / "q.onnx", images, 0)
    np.testing.assert_allclose(np.array(said.split(), np.float32), expected, rtol=1e-4, atol=1e-4)


def test_the_example_of_full_quantization_runs_in_its_order(build, made, images, model, tmp_path):
    program = compiled(build, made, "example_full")
    integers = np.array(run(program, model, images, 20, tmp_path / "q.onnx").split(), int)
    quantized = onnx.load(tmp_path / "q.onnx")
    last = next(node for node in quantized.graph.node if node.output[0] == quantized.graph.output[0].name)
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in quantized.graph.initializer}
    scale, zero = (constants[name] for name in last.input[1:])
    expected = np.rint(by_onnx_runtime(tmp_path / "q.onnx", images, 19) / scale) + zero
    assert np.abs(integers - expected).max() <= 1


def test_the_quantized_file_equals_that_of_the_command_line(build, anybit, made, images, model, tmp_path):
    run(compiled(build, made, "example_full"), model, images, 20, tmp_path / "q.onnx")
    np.save(tmp_path / "x.npy", np.fromfile(images, np.float32).reshape(-1, 1, 28, 28)[:20])
    anybit("calibrate", model, "--data", tmp_path / "x.npy", "-o", tmp_path / "ranges.json")
    anybit("quantize", model, "-o", tmp_path / "cli.onnx", "--recipe", "uint8", "--ranges", tmp_path / "ranges.json")
    assert (tmp_path / "q.onnx").read_bytes() == (tmp_path / "cli.onnx").read_bytes()


@pytest.mark.parametrize("named", [False, True], ids=["beside the model", "at a path"])
def test_the_example_of_code_generation_runs_in_its_order(build, made, images, model, tmp_path, named):
    program = compiled(build, made, "example_codegen")
    path = tmp_path / "other.abc" if named else tmp_path / "m" / "digits.abc"
    said = run(program, model, images, "abc-gen", generator(made / "generators"), *[path] * named)
    x = np.fromfile(images, np.float32)[:28 * 28]
    np.testing.assert_allclose(np.array(said.split(), float), x.sum() + np.arange(10), rtol=1e-4)
    assert path.read_text().startswith("abc ")


def test_compiled_code_replaces_the_model_and_gives_the_same_results(build, made, images, model, tmp_path):
    program = compiled(build, made, "example_codegen")
    said = run(program, model, images, "so-gen", (build / "lib" / "anybit" / "codegen").resolve(), tmp_path / "digits.so")
    np.testing.assert_allclose(np.array(said.split(), np.float32), by_onnx_runtime(model, images, 0), rtol=1e-4, atol=1e-4)


def test_a_variable_is_read_and_written_between_runs(build, made, model, tmp_path):
    run(compiled(build, made, "variables", "-lm"), model, QUANTIZED=tmp_path / "q.onnx")


def table():
    """The rows of the header's table."""
    rows = {}
    for line in HEADER.read_text().splitlines():
        found = re.fullmatch(r"//   (\w+)((?: +(?:·|-|loaded|prepared|run)){4})", line)
        if found:
            rows[found[1]] = found[2].replace("·", "allowed").split()
    return rows


def test_every_call_in_every_state_returns_the_status_in_the_table(build, made, model, tmp_path):
    rows = table()
    declared = set(re.findall(r"\banybit_(\w+)\(", "\n".join(
        line for line in HEADER.read_text().splitlines() if not line.startswith("//"))))
    assert set(rows) == declared - {"version", "create_session"}
    program = compiled(build, made, "states")
    said = run(program, model, (tmp_path / "m" / "digits.onnx").stat().st_size,
               stdin="\n".join(f"{name} {' '.join(answers)}" for name, answers in rows.items()),
               GENERATORS=generator(made / "generators"), GENERATOR="abc-gen", GENERATED=tmp_path / "x.abc")
    assert said == f"{len(rows)} calls\n"
    assert {file.name for file in (tmp_path / "m").iterdir()} == {"digits.onnx"}


def exported(build):
    """The demangled symbols that the library exports."""
    said = subprocess.run(["nm", "-DC", "--defined-only", build / "lib" / "libanybit.so"], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return [line.split(" ", 2)[2] for line in said.stdout.splitlines()]


def test_the_library_exports_exactly_the_calls_of_the_header_and_of_symbols_txt(build):
    """A new call is added to symbols.txt; removing one breaks programs."""
    found = sorted(name for name in exported(build) if name.startswith("anybit_"))
    assert found == (ROOT / "tests" / "device" / "symbols.txt").read_text().split()
    assert found == sorted(set(re.findall(r"\b(anybit_\w+)\(", re.sub("//.*", "", HEADER.read_text()))))


def test_every_other_export_is_declared_in_a_public_header(build):
    text = "\n".join(path.read_text() for path in sorted((ROOT / "include" / "anybit").glob("*.hpp")))
    public = set(re.findall(r"\b(operator=|\w+)\(", text))
    for name in exported(build):
        if name.startswith("anybit_"):
            continue
        table = re.fullmatch(r"(?:typeinfo|typeinfo name|vtable) for anybit::(\w+)", name)
        if table:  # of a class that users derive from
            assert re.search(rf"\bclass ANYBIT_API {table[1]}\b", text), name
            continue
        found = re.match(r"anybit::(?:\w+::)*(~?\w+|operator=)(?:\[abi:\w+\])?\(", name)
        assert found, name
        assert found[1].lstrip("~") in public, name
