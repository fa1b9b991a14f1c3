"""Quantizing the digits model from Python, in turns with the command line: what the bindings cost.

    python bench/bench_python.py [--samples 100 2000] [--turns 15]

Both load the model, calibrate on the same file of images, quantize to int8 and write the file. The command line's time is
that of the whole process; Python's is that of the work in a process that has started, from a file and from an iterator of
arrays; starting Python and importing the package come once, and have a row of their own. Medians.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / os.environ.get("ANYBIT_BUILD", "build/release")
WORK = ROOT / "build" / "bench_python"
DIGITS = ROOT / "examples" / "digits"
sys.path.insert(0, str(BUILD / "python"))

import anybit  # noqa: E402


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def by_program(path):
    subprocess.run([BUILD / "bin" / "anybit", "quantize", DIGITS / "digits.onnx", "-o", WORK / "cli.onnx", "--calib", path],
                   check=True, capture_output=True)


def by_python(source):
    anybit.quantize(anybit.load(DIGITS / "digits.onnx"), "int8", source).save(WORK / "python.onnx")


def imported():
    subprocess.run([sys.executable, "-c", "import anybit"], check=True, env={**os.environ, "PYTHONPATH": str(BUILD / "python")})


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--samples", type=int, nargs="+", default=[100, 2000])
    arguments.add_argument("--turns", type=int, default=15)
    options = arguments.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    pixels = np.load(DIGITS / "test_images.npy")
    print(f"starting Python and importing anybit: {1000 * statistics.median(timed(imported) for _ in range(options.turns)):.0f} ms\n")
    print("| samples | command line, ms | Python, the same file, ms | | Python, an iterator, ms | |\n|---|---|---|---|---|---|")
    for count in options.samples:
        images = ((pixels[:count].astype(np.float32) / 255 - 0.1307) / 0.3081).astype(np.float32)
        path = WORK / f"images_{count}.npy"
        np.save(path, images)
        jobs = [lambda: by_program(path), lambda: by_python(path), lambda: by_python(iter(images))]
        turns = [[timed(job) for job in jobs] for _ in range(options.turns)]
        program, file, iterator = (1000 * statistics.median(column) for column in zip(*turns))
        print(f"| {count} | {program:.1f} | {file:.1f} | {file / program - 1:+.1%} | {iterator:.1f} | {iterator / program - 1:+.1%} |")


if __name__ == "__main__":
    main()
