"""The result of `make install` suffices to run anybit and to build against it, outside of this tree."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
#include <anybit/result.hpp>

#include <iostream>

int main() {
  anybit::Error error{anybit::Code::invalid_model, "no such thing", "node 'a'", ""};
  std::cout << anybit::name_of(error.code) << ": " << error.text() << "\\n";
}
"""

C_PROGRAM = """
#include <anybit/anybit.h>
#include <stdio.h>

int main(void) {
  anybit_session* session = NULL;
  if (anybit_create_session(&session) != ANYBIT_OK) return 1;
  const int status = (int)anybit_load_model_from_file(session, "nothing.onnx");
  printf("%s %d: %s\\n", anybit_version(), status, anybit_last_error(session));
  return (int)anybit_close_session(session);
}
"""

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(anybit 0.1 REQUIRED)
add_executable(user user.cpp)
add_executable(device device.c)
set_target_properties(device PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
target_link_libraries(user PRIVATE anybit::anybit)
target_link_libraries(device PRIVATE anybit::anybit)
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    """Installed once, then moved: no file may depend on the original path."""
    made = tmp_path_factory.mktemp("made") / "usr"
    run("cmake", "--install", build, "--prefix", made)
    return made.rename(tmp_path_factory.mktemp("moved") / "usr")


@pytest.fixture
def source(tmp_path):
    (tmp_path / "user.cpp").write_text(PROGRAM)
    (tmp_path / "device.c").write_text(C_PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    return tmp_path


def test_the_installed_program_runs_and_prints_its_version(prefix):
    assert run(prefix / "bin" / "anybit", "--version").startswith("anybit 0.1.0")


def test_a_program_builds_with_the_flags_of_pkg_config(prefix, source):
    environment = {"PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "anybit", env=environment).split()
    run("g++", "-std=c++20", source / "user.cpp", "-o", source / "user", *flags)
    said = run(source / "user", env={"LD_LIBRARY_PATH": str(prefix / "lib")})
    assert said == "invalid_model: node 'a': no such thing\n"
    run("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", source / "device.c", "-o", source / "device", *flags)
    assert run(source / "device", env={"LD_LIBRARY_PATH": str(prefix / "lib")}).startswith("0.1.0 2: cannot open 'nothing.onnx'")


def test_a_program_builds_with_find_package(prefix, source):
    run("cmake", "-G", "Ninja", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", source / "build")
    assert run(source / "build" / "user") == "invalid_model: node 'a': no such thing\n"
    assert run(source / "build" / "device").startswith("0.1.0 2: ")


def test_the_library_has_a_versioned_soname(prefix):
    library = prefix / "lib" / "libanybit.so"
    assert library.resolve().name == "libanybit.so.0.1.0"
    told = run("readelf", "--dynamic", library, env={"PATH": "/usr/bin", "LC_ALL": "C"})
    assert "Library soname: [libanybit.so.0]" in told and "libhwy" not in told  # libhwy would take milliseconds to load


def test_the_operators_for_onnx_runtime_are_installed_beside_the_library(prefix):
    program = f"import ctypes; ctypes.CDLL('{prefix / 'lib' / 'libanybit_ort.so'}').RegisterCustomOps"
    run("python3", "-c", program, env={"PATH": "/usr/bin:/bin"})


def test_the_manual_page_and_the_completion_of_shells_are_installed(prefix):
    for path in ("man/man1/anybit.1", "bash-completion/completions/anybit", "zsh/site-functions/_anybit"):
        assert "anybit" in (prefix / "share" / path).read_text(), path


def test_every_public_header_is_installed_and_no_other(prefix):
    ours = {file.relative_to(ROOT / "include") for file in (ROOT / "include").rglob("*")}
    assert {file.relative_to(prefix / "include") for file in (prefix / "include").rglob("*")} == ours


def test_a_program_of_onert_builds_with_the_flags_of_pkg_config_or_find_package(prefix, tmp_path):
    example = ROOT / "examples" / "from-onert"
    flags = run("pkg-config", "--cflags", "--libs", "nnfw-anybit", env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}).split()
    run("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", example / "weight_only.c", "-o", tmp_path / "by_flags", *flags)
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(anybit 0.1 REQUIRED)
add_executable(by_cmake {example}/weight_only.c)
target_link_libraries(by_cmake PRIVATE anybit::nnfw)
""")
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "build")
    model = ROOT / "examples" / "digits" / "digits.onnx"
    for program in (tmp_path / "by_flags", tmp_path / "build" / "by_cmake"):
        said = run(program, model, tmp_path / "q.onnx", env={"LD_LIBRARY_PATH": str(prefix / "lib")})
        assert len(said.split()) == 10 and (tmp_path / "q.onnx").exists()
        (tmp_path / "q.onnx").unlink()
    assert "Written" in run(prefix / "bin" / "onert_run", "-q", "int8_wo", "--qpath", tmp_path / "q.onnx", model)


@pytest.mark.parametrize("way", ["cmake", "pkg-config"])
def test_the_example_in_cpp_builds_and_runs(prefix, tmp_path, way):
    example = ROOT / "examples" / "cpp"
    if way == "cmake":
        run("cmake", "-G", "Ninja", "-S", example, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", tmp_path)
    else:
        flags = run("pkg-config", "--cflags", "--libs", "anybit", env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}).split()
        run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", example / "main.cpp", "-o", tmp_path / "quantize_and_run", *flags)
    digits = ROOT / "examples" / "digits"
    said = run(tmp_path / "quantize_and_run", digits / "digits.onnx", digits / "samples", tmp_path / "q.onnx", env={"LD_LIBRARY_PATH": str(prefix / "lib")})
    assert "weights: 156328 -> " in said and "logits: SQNR " in said and "output float32[batch, 10]" in said
    assert (tmp_path / "q.onnx").stat().st_size < digits.joinpath("digits.onnx").stat().st_size
