"""Instruction counts of six fixed runs, measured by callgrind on one thread with the AVX2 kernels. None may grow by more than 3 %
over instructions.json, unless that file changes in the same commit.

    python tests/growth/test_instructions.py    # measures again and writes instructions.json
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "bin/anybit"
RECORD = pathlib.Path(__file__).with_name("instructions.json")
DIGITS = ROOT / "examples/digits"
MOST = 1.03
RUNS = {
    "load": "inspect {digits}/digits.onnx",
    "run float32": "run {digits}/digits.onnx --threads 1 --repeat 3",
    "run int8": "run {folder}/int8.onnx --threads 1 --repeat 3",
    "calibrate": "calibrate {digits}/digits.onnx --data {folder}/images -o {folder}/ranges.json --threads 1",
    "quantize": "quantize {digits}/digits.onnx -r int8 --calib {folder}/images -o {folder}/int8.onnx --threads 1",
    "codegen": "codegen {folder}/int8.onnx -t c-gen -o {folder}/digits.c --shape image=1,1,28,28",
}


def command(name, folder):
    return [str(PROGRAM), *RUNS[name].format(digits=DIGITS, folder=folder).split()]


def made(folder):
    """Writes the inputs of the runs: eight images and an int8 model."""
    images = np.load(DIGITS / "test_images.npy").reshape(-1, 1, 28, 28)[:8].astype(np.float32) / 255
    (folder / "images").mkdir()
    for i, image in enumerate(images):
        np.save(folder / f"images/{i}.npy", image[None])
    subprocess.run(command("quantize", folder), check=True, capture_output=True)
    return folder


def instructions(name, folder):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command(name, folder)],
                          capture_output=True, text=True, env={**os.environ, "ANYBIT_CPU": "avx2"})
    assert done.returncode == 0, done.stderr[-2000:]
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made(tmp_path_factory.mktemp("runs"))


@pytest.mark.skipif("avx2" not in pathlib.Path("/proc/cpuinfo").read_text(), reason="the counts are for the AVX2 kernels")
@pytest.mark.parametrize("name", RUNS)
def test_no_run_costs_more_than_recorded(folder, name):
    before, now = json.loads(RECORD.read_text())[name], instructions(name, folder)
    assert now <= MOST * before, f"{now:,} instructions, {now / before:.3f} of {before:,}: make it cheaper, or measure again (see the top of this file)"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        counts = {run: instructions(run, made_folder) for made_folder in [made(pathlib.Path(name))] for run in RUNS}
    RECORD.write_text(json.dumps(counts, indent=1) + "\n")
    sys.stdout.write(RECORD.read_text())
