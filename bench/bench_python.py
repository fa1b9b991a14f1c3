"""Quantizing the digits model from Python, in turns with the command line: the overhead of the bindings.

    python bench/bench_python.py [--samples 100 2000] [--turns 15]

Both load the model, calibrate on the same images, quantize to int8 and write the file. The time of the command
line is that of the whole process. The time of Python is that of the calls in a running process: from the same file, from an
array, and from an iterator of arrays; starting Python and importing the package has its own line. Medians of wall-clock time,
and of CPU time, which does not depend on other processes.
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
    """Milliseconds of wall-clock time, and of CPU time of this process and its children."""
    begin, before = time.perf_counter(), os.times()
    work()
    after = os.times()
    return 1000 * (time.perf_counter() - begin), 1000 * (sum(after[:4]) - sum(before[:4]))


def medians(measured):
    return tuple(statistics.median(column) for column in zip(*measured))


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
    start = medians([timed(imported) for _ in range(options.turns)])
    print(f"starting Python and importing anybit: {start[0]:.0f} ms, {start[1]:.0f} ms of CPU time\n")
    print("| samples | | ms | | CPU ms | |\n|---|---|---|---|---|---|")
    for count in options.samples:
        images = ((pixels[:count].astype(np.float32) / 255 - 0.1307) / 0.3081).astype(np.float32)
        path = WORK / f"images_{count}.npy"
        np.save(path, images)
        jobs = {"command line": lambda: by_program(path), "Python, the same file": lambda: by_python(path),
                "Python, an array": lambda: by_python(images), "Python, an iterator": lambda: by_python(iter(images))}
        turns = [[timed(job) for job in jobs.values()] for _ in range(options.turns)]
        found = [medians(column) for column in zip(*turns)]
        for name, (wall, work) in zip(jobs, found):
            print(f"| {count} | {name} | {wall:.0f} | {wall / found[0][0] - 1:+.0%} | {work:.0f} | {work / found[0][1] - 1:+.0%} |")


if __name__ == "__main__":
    main()
