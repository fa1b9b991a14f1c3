"""What tests in Python share: where the build is, and its programs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# The Python package as the build made it.
sys.path.insert(0, str(ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "python"))


@pytest.fixture(scope="session")
def build() -> Path:
    """The build folder: ANYBIT_BUILD, relative to the root of the repository."""
    folder = ROOT / os.environ.get("ANYBIT_BUILD", "build/release")
    assert folder.is_dir(), f"no build in {folder}: set ANYBIT_BUILD, or build with the preset of that name"
    return folder


@pytest.fixture(scope="session")
def tool(build):
    """tool(name): the path of a program of the build."""
    def find(name: str) -> Path:
        path = build / "bin" / name
        assert path.is_file(), f"no program {path}: build it first"
        return path
    return find


@pytest.fixture(scope="session")
def anybit(tool):
    """anybit(word, …): runs the program, which must end with `code`, or with one of them."""
    def run(*words, code=0):
        done = subprocess.run([tool("anybit"), *map(str, words)], capture_output=True, text=True, timeout=300)
        assert done.returncode in (code if isinstance(code, tuple) else (code,)), f"{words}\n{done.stdout}{done.stderr}"
        return done
    return run
