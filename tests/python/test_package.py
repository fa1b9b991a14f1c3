"""The wheel: built, installed with numpy into a fresh environment, and used there."""

import ast
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.packaged import ROOT


def run(*words, **options):
    done = subprocess.run([str(one) for one in words], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(build, tmp_path_factory):
    """From the existing build; `make wheel` builds the same from scratch."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", ROOT, "-w", folder, "-q", "--no-build-isolation", "--no-deps", "--no-index",
        "--config-settings=cmake.source-dir=python/built", f"--config-settings=cmake.define.ANYBIT_BUILT={build}",
        f"--config-settings=build-dir={folder / 'tree'}")
    return next(folder.glob("anybit-*.whl"))


@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory):
    """The programs of a new environment. numpy is linked from the test environment, without network access."""
    folder = tmp_path_factory.mktemp("fresh")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    site = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    ours = Path(np.__file__).parents[1]
    for one in ours.glob("numpy*"):
        (site / one.name).symlink_to(one)
    run(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "-q", "--no-index", "--no-deps", wheel)
    return folder / "bin"


@pytest.fixture
def alone(fresh, tmp_path):
    """Runs Python there, in a folder with only the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_"))}

    def python(*words):
        return run(fresh / "python", *words, cwd=tmp_path, env=environment)
    return python


def test_the_python_example_of_the_readme_runs_with_the_wheel_alone(alone, tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    said = alone("-c", example)
    assert "top-1" in said and "logits" in said
    assert (tmp_path / "digits.int8.onnx").stat().st_size < 80_000


def test_the_command_line_is_in_the_wheel(fresh, alone):
    said = run(fresh / "anybit", "--version")
    assert said.startswith("anybit 0.1.0")
    assert alone("-m", "anybit", "--version") == said
    missing = subprocess.run([fresh / "anybit", "inspect", "no-such-file.onnx"], capture_output=True, text=True)
    assert missing.returncode == 1 and "no-such-file.onnx" in missing.stderr


def test_the_code_generators_are_in_the_wheel_and_are_found_beside_the_library(fresh, alone, tmp_path):
    ours = {one.name for one in (ROOT / "plugins").glob("*-gen")}
    listed = alone("-c", "import anybit; print(*[one.name for one in anybit.generators() if 'anybit/lib' in one.library])")
    assert set(listed.split()) == ours
    assert all(name in run(fresh / "anybit", "codegen", "--list") for name in ours)
    alone("-c", "import anybit; anybit.codegen('examples/digits/digits.onnx', 'c-gen', 'digits.c', shapes={'image': (1, 1, 28, 28)})")
    assert (tmp_path / "digits.c").stat().st_size > 10_000


def test_the_operators_for_onnx_runtime_are_in_the_wheel(alone):
    """Loaded by their path alone, as ONNX Runtime does it; libanybit.so is beside them."""
    program = "import anybit, ctypes; path = anybit.get_library_path(); ctypes.CDLL(path).RegisterCustomOps; print(path)"
    assert alone("-c", program).strip().endswith("/site-packages/anybit/lib/libanybit_ort.so")


def test_the_wheel_has_no_build_paths(wheel, build, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    programs = [one for one in tmp_path.rglob("*") if one.is_file() and one.read_bytes()[:4] == b"\x7fELF"]
    assert {one.name.split(".")[0] for one in programs} >= {"_anybit", "anybit", "libanybit"}
    for one in programs:
        paths = re.findall(r"(?:RUNPATH|RPATH).*\[(.*)\]", run("readelf", "-d", one, env={**os.environ, "LC_ALL": "C"}))
        assert all(path.startswith("$ORIGIN") for path in paths), f"{one}: {paths}"


def test_the_wheel_has_types_for_every_module(wheel):
    archive = zipfile.ZipFile(wheel)
    assert "anybit/py.typed" in archive.namelist()
    stub = ast.parse(archive.read("anybit/_anybit.pyi"))
    told = {one.name for one in stub.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
    used = {name for one in archive.namelist() if one.startswith("anybit/") and one.endswith(".py")
            for name in re.findall(r"\b_anybit\.(\w+)", archive.read(one).decode())}
    assert used <= told


def test_the_interfaces_of_other_tools_are_in_the_wheel(wheel):
    files = {one for one in zipfile.ZipFile(wheel).namelist() if one.startswith("anybit/compat/")}
    assert files == {str(one.relative_to(ROOT / "python")) for one in (ROOT / "python" / "anybit" / "compat").glob("*.py")}


def test_the_package_is_imported_in_a_fifth_of_a_second(alone):
    program = "import time; begin = time.process_time(); import anybit; print(time.process_time() - begin)"
    assert min(float(alone("-c", program)) for _ in range(5)) < 0.2
