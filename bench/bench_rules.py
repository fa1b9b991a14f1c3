"""Rules by operator type on complete real networks: each type alone, then all types, in stock ONNX Runtime.

    python bench/bench_rules.py [--write docs/accuracy.md]

The networks are a recurrent denoiser (NSNet2: MatMul, GRU, Sigmoid, …) on noisy tones and a detector with its head (YOLO11n:
Conv, Sigmoid, Mul, Concat, Split, Resize, MaxPool, Softmax, …) on random images; they must be in build/real
(`scripts/setup real-models`).
SQNR of all outputs is against the float model in ONNX Runtime. Calibration and measurement see different samples.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from fetch_real_models import models

PROGRAM = ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "bin" / "anybit"
SCHEMES = {"int8": {"weights": "int8 sym channel", "activations": "int8 asym"}, "int16": {"weights": "int8 sym channel", "activations": "int16 sym"}}
CALIBRATION, MEASURED = 8, 4


def noisy_tones(seed):
    """The input of the denoiser: log power of frames of 20 ms at 16 kHz that overlap by half."""
    rng = np.random.default_rng(seed)
    time = np.arange(16000) / 16000
    pitch = rng.uniform(90, 250) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(1, 4) * time))
    phase = 2 * np.pi * np.cumsum(pitch) / 16000
    voice = sum(np.sin(k * phase) / k for k in range(1, 12)) * (np.sin(2 * np.pi * rng.uniform(1, 3) * time) > -0.3)
    sound = 0.1 * voice + rng.uniform(0.005, 0.05) * rng.standard_normal(16000)
    frames = np.lib.stride_tricks.sliding_window_view(sound, 320)[::160] * np.sqrt(np.hanning(321)[:-1])
    power = np.abs(np.fft.rfft(frames)) ** 2
    return {"input": np.log10(np.maximum(power, 1e-12)).astype(np.float32)[None]}


def image(seed):
    """Noise at many spatial scales, as in photographs."""
    rng = np.random.default_rng(seed)
    sizes = [5, 10, 20, 40, 80, 160, 320]
    layers = [np.kron(rng.uniform(0, 1, (3, size, size)), np.ones((320 // size, 320 // size))) for size in sizes]
    return {"images": (sum(layers) / len(layers)).astype(np.float32)[None]}


NETS = {"denoiser": ("nsnet2-20ms-baseline.onnx", noisy_tones), "detector": ("models/yolo11n.onnx", image)}


def in_onnxruntime(path, feeds, optimised=False):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [np.concatenate([one.ravel() for one in session.run(None, feed)]) for feed in feeds]


def decibels(right, found):
    signal, noise = sum(float((one.astype(float) ** 2).sum()) for one in right), sum(
        float(((one.astype(float) - other) ** 2).sum()) for one, other in zip(right, found))
    return 10 * np.log10(signal / noise) if noise else float("inf")


def shown(ratio):
    return f"{ratio:.1f} dB" if np.isfinite(ratio) else "exact"


def quantized(model, rules, data, out):
    recipe = out.with_suffix(".json")
    recipe.write_text(json.dumps({"global": "float", "type": rules}))
    done = subprocess.run([PROGRAM, "quantize", model, "-o", out, "--recipe", recipe, "--calib", data, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, [line for line in done.stderr.splitlines() if line.startswith("anybit: ")][0]
    return json.loads(done.stdout), ""


def rows_of(net, folder):
    """(scheme, types, quantized nodes, all nodes, outcome, SQNR without and with ONNX Runtime's optimizations)."""
    file, make = NETS[net]
    model = next(one for one in models() if one.file.endswith(file))
    data = folder / "data"
    data.mkdir(parents=True)
    for seed in range(CALIBRATION):
        np.savez(data / f"{seed}.npz", **make(seed))
    feeds = [make(1000 + seed) for seed in range(MEASURED)]
    right = in_onnxruntime(model.path, feeds)
    prepared = folder / "prepared.onnx"
    subprocess.run([PROGRAM, "prepare", model.path, "-o", prepared], check=True, capture_output=True)
    types = collections.Counter(node.op_type for node in onnx.load(prepared).graph.node)
    left = {}  # types that stay in float, and why
    for scheme, parts in SCHEMES.items():
        taken = {}
        for kind in sorted(types):
            report, why = quantized(model.path, {kind: parts}, data, folder / "q.onnx")
            if report is None:
                left.setdefault(kind, why.rpartition(": ")[2])
                continue
            took = [one for one in report["nodes"] if one["op"] == kind and one["outcome"] != "float"]
            if not took:
                continue
            taken[kind] = parts
            sound = [decibels(right, in_onnxruntime(folder / "q.onnx", feeds, optimised)) for optimised in (False, True)]
            yield scheme, kind, len(took), types[kind], took[0]["outcome"], *sound
        report, why = quantized(model.path, taken, data, folder / "q.onnx")
        assert report, why
        took = [one for one in report["nodes"] if one["outcome"] != "float"]
        sound = [decibels(right, in_onnxruntime(folder / "q.onnx", feeds, optimised)) for optimised in (False, True)]
        yield scheme, "all of these", len(took), sum(types[kind] for kind in taken), "", *sound
    for kind, why in left.items():
        print(f"{net}: {kind} stays in float: {why}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    lines = ["| model | scheme | type | nodes | outcome | SQNR in ONNX Runtime | with its optimizations |", "|---|---|---|--:|---|--:|--:|"]
    print("\n".join(lines))
    for net in NETS:
        with tempfile.TemporaryDirectory() as name:
            for scheme, kind, count, of, how, plain, optimised in rows_of(net, pathlib.Path(name)):
                lines.append(f"| {net} | {scheme} | {kind} | {count} of {of} | {how} | {shown(plain)} | {shown(optimised)} |")
                print(lines[-1], flush=True)
    if options.write:
        document.put(options.write, "rules", lines)


if __name__ == "__main__":
    main()
