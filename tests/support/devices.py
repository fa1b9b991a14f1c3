"""C programs that use the library on the digits model, and their inputs."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "device"
DIGITS = ROOT / "examples" / "digits"
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]


def sanitizers(build: Path) -> list[str]:
    """The sanitizers of the library's build: a program that links it needs them, too."""
    found = re.search(r"^ANYBIT_SANITIZE:STRING=(.+)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    return [f"-fsanitize={found[1]}"] if found else []


def compiled(build: Path, folder: Path, name: str, *flags) -> Path:
    """The program of tests/device/NAME.c, built against the library as strict C99."""
    library = (build / "lib").resolve()
    program = folder / name
    command = ["gcc", *STRICT, f"-I{ROOT}/include", str(SOURCES / f"{name}.c"), "-o", str(program), *flags,
               *sanitizers(build), f"-L{library}", "-lanybit", f"-Wl,-rpath,{library}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def generator(folder: Path, *defines) -> Path:
    """A folder with the generator abc-gen."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["gcc", *STRICT, "-fPIC", "-shared", f"-I{ROOT}/include", str(SOURCES / "abc_gen.c"), "-o",
                           str(folder / "libabc-gen.so"), *(f"-D{one}" for one in defines)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def run(*words, code=0, **environment) -> str:
    """Runs a program and returns its output; `stdin` is its input."""
    text = environment.pop("stdin", "")
    done = subprocess.run([str(word) for word in words], input=text, capture_output=True, text=True, timeout=300,
                          env=os.environ | {key: str(value) for key, value in environment.items()})
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr


def image_data(path: Path, count=100) -> Path:
    """Test images as raw floats, normalized for the network."""
    pixels = np.load(DIGITS / "test_images.npy")[:count].astype(np.float32)
    ((pixels / np.float32(255) - np.float32(0.1307)) / np.float32(0.3081)).tofile(path)
    return path
