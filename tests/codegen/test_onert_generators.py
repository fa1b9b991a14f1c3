"""Generators made for onert: create_codegen and destroy_codegen, in the folder where onert's plugins are installed."""

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path

import onnx
import pytest
from support.devices import DIGITS, ROOT, sanitizers

HERE = Path(__file__).parent


def compiled(folder, build, *defines, name="abc-gen"):
    folder.mkdir(parents=True, exist_ok=True)
    command = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", ROOT / "include" / "nnfw" / "odc",
               HERE / "onert_gen.cpp", "-o", folder / f"lib{name}.so", *(f"-D{one}" for one in defines), *sanitizers(build)]
    subprocess.run([str(word) for word in command], check=True)
    return folder


@pytest.fixture(scope="module")
def generators(build, tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("generators"), build)


@pytest.fixture
def model(tmp_path):
    (tmp_path / "m").mkdir()
    return Path(shutil.copy(DIGITS / "digits.onnx", tmp_path / "m" / "digits.onnx"))


def parts(path):
    """(the path that the generator was given, the bytes that it read there)."""
    given, _, read = path.read_bytes().partition(b"\n")
    return given.decode(), read


def test_a_generator_gets_the_path_of_the_model_and_its_file_has_the_extension_of_its_name(anybit, generators, model):
    assert anybit("codegen", model, "--target", "abc-gen", "--plugins", generators).stdout == f"{model.with_suffix('.abc')}\n"
    assert parts(model.with_suffix(".abc")) == (str(model), model.read_bytes())
    assert sorted(file.name for file in model.parent.iterdir()) == ["digits.abc", "digits.onnx"]


def test_a_relative_path_is_made_absolute(tool, generators, model):
    subprocess.run([tool("anybit"), "codegen", "digits.onnx", "-t", "abc-gen", "--plugins", generators], cwd=model.parent, check=True)
    assert parts(model.with_suffix(".abc"))[0] == str(model)


@pytest.mark.parametrize("how, message", [("3", "codegen failed with 3"), ("throws", "it threw an exception: not for me")])
def test_a_failure_is_an_error_and_leaves_no_half_written_file(anybit, generators, model, monkeypatch, how, message):
    monkeypatch.setenv("ONERT_FAILS", how)
    model.with_suffix(".abc").write_text("old")
    said = anybit("codegen", model, "--target", "abc-gen", "--plugins", generators, code=1).stderr
    assert "abc-gen" in said and message in said
    assert model.with_suffix(".abc").read_text() == "old"
    assert sorted(file.name for file in model.parent.iterdir()) == ["digits.abc", "digits.onnx"]


def test_a_generator_that_cannot_be_created_is_an_error(anybit, generators, model, monkeypatch):
    monkeypatch.setenv("ONERT_NOTHING", "1")
    assert "create_codegen returned nothing" in anybit("codegen", model, "-t", "abc-gen", "--plugins", generators, code=1).stderr


@pytest.mark.parametrize("define, message", [
    ("RENAMED=make", "it has no symbol anybit_codegen_entry"),
    ("NO_DESTROY=remove_it", "it has create_codegen, but no destroy_codegen")])
def test_a_library_without_both_functions_is_rejected(anybit, build, tmp_path, model, define, message):
    folder = compiled(tmp_path / "generators", build, define)
    assert message in anybit("codegen", model, "-t", "abc-gen", "--plugins", folder, code=1).stderr


def test_a_setting_is_rejected_since_such_a_generator_takes_none(anybit, generators, model):
    said = anybit("codegen", model, "-t", "abc-gen", "--plugins", generators, "--set", "a=b", code=2).stderr
    assert "a setting 'a' for a generator made for onert" in said


def test_a_model_with_a_constant_in_place_of_an_input_is_handed_over_as_a_file(anybit, generators, tmp_path):
    x, y, z = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xyz")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "y"], ["z"])], "sum", [x, y], [z])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    anybit("codegen", tmp_path / "m.onnx", "-t", "abc-gen", "--plugins", generators, "--constant", "y=1.0,2.0")
    given, read = parts(tmp_path / "m.abc")
    assert [one.name for one in onnx.load_from_string(read).graph.input] == ["x"]
    assert not os.path.exists(given) and sorted(file.name for file in tmp_path.iterdir()) == ["m.abc", "m.onnx"]


def test_a_session_writes_the_file_and_runs_the_model_itself(build, generators, model):
    library, session = ctypes.CDLL(str(build / "lib" / "libanybit.so")), ctypes.c_void_p()
    library.anybit_last_error.restype = ctypes.c_char_p
    x, kind = (ctypes.c_float * 784)(), ctypes.c_int(-1)
    assert library.anybit_create_session(ctypes.byref(session)) == 0
    assert library.anybit_set_plugin_directory(session, str(generators).encode()) == 0
    assert library.anybit_load_model_from_file(session, str(model).encode()) == 0
    assert library.anybit_codegen(session, b"abc-gen", 0) == 0, library.anybit_last_error(session)
    assert library.anybit_prepare(session) == 0
    assert library.anybit_set_input(session, ctypes.c_size_t(0), 1, x, ctypes.c_size_t(784 * 4)) == 0
    assert library.anybit_run(session) == 0 and library.anybit_model_in_use(session, ctypes.byref(kind)) == 0
    assert kind.value == 0 and parts(model.with_suffix(".abc"))[0] == str(model)
    assert library.anybit_set_available_backends(session, b"abc") != 0
    assert b"there is no backend 'abc'" in library.anybit_last_error(session)
    assert library.anybit_close_session(session) == 0


@pytest.fixture
def installation(build, tmp_path):
    """A copy of the program and its library, with the folder where onert's plugins are installed."""
    lib = tmp_path / "prefix" / "lib"
    (tmp_path / "prefix" / "bin").mkdir(parents=True)
    shutil.copytree(build / "lib" / "anybit", lib / "anybit")
    for name in ("libanybit.so", "libanybit.so.0"):
        shutil.copy((build / "lib" / name).resolve(), lib / name)
    program = shutil.copy(build / "bin" / "anybit", tmp_path / "prefix" / "bin" / "anybit")
    compiled(lib / "nnfw" / "codegen", build)
    return program, lib


def test_plugins_are_found_in_the_folder_where_onert_installs_them(installation, model):
    program, lib = installation
    subprocess.run([program, "codegen", model, "-t", "abc-gen"], check=True)
    assert model.with_suffix(".abc").exists()
    listed = json.loads(subprocess.run([program, "codegen", "--list", "--json"], check=True, capture_output=True, text=True).stdout)
    found = {one["name"]: one for one in listed}
    assert found["abc-gen"] == {"name": "abc-gen", "extension": ".abc", "summary": "a generator made for onert", "runs": False,
                                "backend": "", "library": f"{lib}/nnfw/codegen/libabc-gen.so"}
    assert found["so-gen"]["backend"] == "so" and found["c-gen"]["backend"] == ""


def test_a_library_there_that_everybody_may_write_to_is_not_loaded(installation, model):
    program, lib = installation
    (lib / "nnfw" / "codegen").chmod(0o777)
    done = subprocess.run([program, "codegen", model, "-t", "abc-gen"], capture_output=True, text=True)
    assert done.returncode == 1 and "everybody may write to it" in done.stderr
    assert not model.with_suffix(".abc").exists()


@pytest.mark.parametrize("folder", ["nnfw/codegen", "."])
def test_no_plugin_is_looked_for_from_the_current_folder(tool, build, tmp_path, model, folder):
    compiled(model.parent / folder, build)
    done = subprocess.run([tool("anybit"), "codegen", model, "-t", "abc-gen"], cwd=model.parent, capture_output=True, text=True)
    assert done.returncode == 2 and "there is no generator 'abc-gen'" in done.stderr
