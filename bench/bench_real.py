"""Real models from npm and PyPI packages in ONNX Runtime and in anybit: which commands work, and the SQNR between the results.

    python bench/bench_real.py [--only TEXT] [--write docs/real-models.md]

scripts/real_models.txt lists the models, which are in build/real. Inputs are random: the SQNR shows that a quantized file works,
not how accurate the model is. Exits with 1 if ONNX Runtime runs a file that anybit does not.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from fetch_real_models import FOLDER, models

PROGRAM = ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "bin/anybit"
SAMPLES = 6
SECONDS = 600  # for one command; a longer run counts as a failure
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float16)": np.float16,
         "tensor(string)": object}


def value(text, kind, seed):
    """An input as scripts/real_models.txt describes it."""
    name, shape, values = text.rsplit(":", 2)
    shape = () if shape == "scalar" else tuple(map(int, shape.split(",")))
    if values.startswith("="):
        given = np.array([float(one) for one in values[1:].split(",")])
        return name, np.resize(given, shape).astype(kind)
    rng = np.random.default_rng([seed, *name.encode()])
    low, high = map(float, values.split(".."))
    if np.issubdtype(kind, np.integer):
        return name, rng.integers(int(low), int(high) + 1, shape).astype(kind)
    return name, rng.uniform(low, high, shape).astype(kind)


def session(path, optimized=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def decibels(got, wanted):
    """The lowest SQNR of all numeric outputs; None if shapes differ, as they may if lengths depend on the data."""
    least = np.inf
    for a, b in zip(got, wanted):
        if not np.issubdtype(np.asarray(b).dtype, np.number):
            continue
        if a.shape != b.shape:
            return None
        a, b = a.astype(np.float64), b.astype(np.float64)
        same = ~np.isfinite(b) & ((a == b) | (np.isnan(a) & np.isnan(b)))
        noise = np.sum(np.square(np.where(same, 0, a - b), where=~same, out=np.zeros_like(b)))
        signal = np.sum(np.square(np.where(same, 0, b)))
        least = min(least, np.inf if noise == 0 else -np.inf if not np.isfinite(noise) or signal == 0
                    else 10 * np.log10(signal / noise))
    return least


def told(db):
    return "shapes differ" if db is None else "equal" if db == np.inf else f"{db:.0f} dB"


class Failed(Exception):
    """The error of a program."""


class Examined:
    """One model: the result of each command."""

    def __init__(self, model, folder):
        self.model, self.folder = model, folder
        self.row = {}
        peer = session(model.path)
        kinds = {one.name: TYPES[one.type] for one in peer.get_inputs()}
        self.feeds = []
        for seed in range(SAMPLES):
            feed = dict(value(text, kinds[text.rsplit(":", 2)[0]], seed) for text in model.inputs)
            self.feeds.append(feed)
        self.data = folder / "data"
        self.data.mkdir()
        for i, feed in enumerate(self.feeds):
            np.savez(self.data / f"{i}.npz", **feed)
        self.outputs = [one.name for one in peer.get_outputs()]
        self.wanted = [peer.run(None, feed) for feed in self.feeds[:2]]

    def anybit(self, *words):
        try:
            done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"more than {SECONDS} s")
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.startswith("anybit: ")]
            raise Failed(re.sub(r"^anybit: |/\S*/", "", said[-1])[:160] if said else f"exit code {done.returncode}")
        return done.stdout

    def in_anybit(self, path):
        """The outputs for the first two samples."""
        results = []
        for i in range(2):
            out = self.folder / f"out{i}"
            said = json.loads(self.anybit("run", path, "--input", self.data / f"{i}.npz", "-o", out, "--json"))
            results.append([np.load(file) for file in said["written"]])
        return results

    def in_peer(self, path):
        peer = session(path)
        return [peer.run(self.outputs, feed) for feed in self.feeds[:2]]

    def least(self, got, wanted):
        all_of_them = [decibels(a, b) for a, b in zip(got, wanted)]
        return None if None in all_of_them else min(all_of_them)

    def step(self, name, work):
        try:
            self.row[name] = work()
        except Failed as failed:
            nothing = "nothing to quantize" in str(failed)
            self.row[name] = "nothing to quantize" if nothing else f"**no**: {failed}"
        except Exception as problem:  # ONNX Runtime has its own exception types
            self.row[name] = f"ONNX Runtime: {str(problem).splitlines()[0][:120]}"

    def quantized(self, recipe):
        path = self.folder / f"{recipe}.onnx"
        self.anybit("quantize", self.model.path, "-o", path, "-r", recipe, *(["--calib", self.data] if recipe == "int8" else []))
        theirs = self.in_peer(path)
        return f"{told(self.least(theirs, self.wanted))}, both {told(self.least(self.in_anybit(path), theirs))}"

    def compared(self):
        path = self.folder / "int8.onnx"
        if not path.exists():
            return "-"
        said = json.loads(self.anybit("compare", self.model.path, path, "--data", self.data, "--json", "--no-layers"))
        return "yes" if not said["remarks"] else "in part"

    def inspected(self):
        problems = json.loads(self.anybit("inspect", self.model.path, "--json"))["problems"]
        return f"{len(problems)} remarks" if problems else "yes"

    def prepared(self):
        path = self.folder / "prepared.onnx"
        self.anybit("prepare", self.model.path, "-o", path)
        return told(self.least(self.in_peer(path), self.wanted))

    def generated(self):
        shapes = [f"--shape={name}={','.join(map(str, x.shape))}" for name, x in self.feeds[0].items() if x.ndim > 0]
        constants = [f"--constant={name}={x}" for name, x in self.feeds[0].items() if x.ndim == 0 and x.dtype != object]
        try:
            self.anybit("codegen", self.model.path, "-t", "c-gen", "-o", self.folder / "c", *shapes, *constants)
            return "yes"
        except Failed as failed:
            return f"rejected: {failed}"

    def by_itself(self):
        """The SQNR between ONNX Runtime with and without optimizations: a bound for any other runtime."""
        plain = session(self.model.path, optimized=False)
        return told(self.least([plain.run(None, feed) for feed in self.feeds[:2]], self.wanted))

    def everything(self):
        self.step("peer", self.by_itself)
        self.step("inspect", self.inspected)
        self.step("prepare", self.prepared)
        self.step("run", lambda: told(self.least(self.in_anybit(self.model.path), self.wanted)))
        for recipe in ("int8", "w8", "dynamic-int8"):
            self.step(recipe, lambda: self.quantized(recipe))
        self.step("compare", self.compared)
        self.step("C", self.generated)
        return self.row


TITLES = ["peer", "inspect", "prepare", "run", "int8", "w8", "dynamic-int8", "compare", "C"]


def row_of(model):
    opset = next((one.version for one in onnx.load(model.path, load_external_data=False).opset_import
                  if one.domain in ("", "ai.onnx")), 0)
    head = [f"{model.package} {model.file.rsplit('/', 1)[-1]}", model.what, f"{model.path.stat().st_size / 1e6:.1f}", str(opset)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            examined = Examined(model, pathlib.Path(folder))
        except Exception as problem:
            return head + [f"ONNX Runtime does not run it: {str(problem).splitlines()[0][:100]}"] + [""] * (len(TITLES) - 1)
        row = examined.everything()
    return head + [row[title] for title in TITLES]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models with this in their line of scripts/real_models.txt")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    lines = ["| package, file | model | MB | opset | " + " | ".join(TITLES) + " |", "|---|---|--:|--:|" + "---|" * len(TITLES)]
    print("\n".join(lines), flush=True)
    for model in models():
        if options.only not in model.line:
            continue
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row_of(model)) + " |")
        print(lines[-1], flush=True)
    if options.write:
        document.put(options.write, "real models", lines)
    return 1 if any("**no**" in line for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
