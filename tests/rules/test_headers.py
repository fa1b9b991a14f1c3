"""Every header compiles alone, and when included twice, without a warning: it needs no other include before it."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.tree import ROOT, tracked

STRICT = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
CXX = {"g++": ["g++"], "clang++": ["clang++-14"]}
C = {"gcc": ["gcc"], "clang": ["clang-14"]}


def headers_below(folder):
    return [path for path in tracked(".hpp", ".h") if path.startswith(f"{folder}/")]


def cases():
    """(header, compiler, command line) for every header and each compiler that must accept it."""
    for path in headers_below("include"):
        for name, compiler in CXX.items():
            yield path, name, [*compiler, "-x", "c++", "-std=c++20", *STRICT, "-Iinclude"]
        if path.endswith(".h"):
            for name, compiler in C.items():
                yield path, name, [*compiler, "-x", "c", "-std=c99", "-pedantic", *STRICT, "-Iinclude"]
    # Internal headers take minutes: `make check-all` compiles them.
    for path in headers_below("src") if os.environ.get("ANYBIT_ALL_HEADERS") else []:
        yield path, "g++", ["g++", "-x", "c++", "-std=c++20", "-fPIC", *STRICT, "-Iinclude", "-Isrc"]


CASES = {(path, name): command for path, name, command in cases()}


def compile_alone(case, generated):
    path = case[0].split("/", 1)[1]
    # C requires a declaration; a header may have only macros.
    text = f'#include "{path}"\n#include "{path}"\nstruct nothing;\n'
    done = subprocess.run([*CASES[case], "-isystem", generated, "-"], input=text, text=True, capture_output=True, cwd=ROOT)
    return "" if done.returncode == 0 else done.stderr or f"exit code {done.returncode}"


@pytest.fixture(scope="module")
def complaints(build):
    """All compilations at once, on all cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda case: compile_alone(case, os.path.abspath(f"{build}/generated")), CASES)
        return dict(zip(CASES, found))


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_a_header_compiles_alone(case, complaints):
    assert complaints[case] == ""
