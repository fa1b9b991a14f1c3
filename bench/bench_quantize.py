"""Time and peak memory of `anybit quantize` and of ONNX Runtime's quantize_static: real models, 8 to 128 samples.

    python bench/bench_quantize.py [--weights] [--only TEXT] [--samples 8 32] [--observers minmax] [--write docs/speed.md]

Times are those of the whole process, from the model and the samples on disk to the written file. ONNX Runtime's process starts
Python and reads a model that was prepared before, so the table also has the time of the call alone. Memory is the peak of each
process.

The first table is the speed of weight-only quantization, in GB of float32 per second on two threads, for a model of 1 GB with
external data: the quantization alone, and the whole process.
"""
import argparse
import functools
import json
import math
import os
import pathlib
import sys
import time

import numpy as np
import onnx
from onnx import helper

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from accuracy.models import prepared
from support.measured import run
from support.peer_models import MODELS, image

WORK = ROOT / "build" / "quantize"
ANYBIT = ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "bin" / "anybit"
IMAGES = {
    "ch_PP-OCRv4_rec_infer": (1, 3, 48, 320),
    "ch_PP-OCRv4_det_infer": (1, 3, 320, 320),
    "ch_ppocr_mobile_v2.0_cls_infer": (1, 3, 48, 192),
}
# The observer's name in each tool. The percentile is ONNX Runtime's default. ONNX Runtime has no bias correction, which the preset
# int8 has, so its minmax is also compared with that preset.
OBSERVERS = {"minmax": ("int8 asym", "MinMax"), "percentile": ("int8 asym percentile 99.999", "Percentile"),
             "entropy": ("int8 asym entropy", "Entropy"), "int8": ("int8 asym, refine: means", "MinMax")}
PEER_MAX_GB = 12
WEIGHTS = ("w8", "w16", "w4", "w2", "dynamic-int8")


def samples(stem, count):
    """A folder of `count` images of digits on paper."""
    folder = WORK / stem / f"samples_{count}"
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(count):
        path = folder / f"{k:03}.npy"
        if not path.exists():
            np.save(path, image(IMAGES[stem], k))
    return folder


def best(runs):
    """The shortest time, the highest peak, and the shortest call of some runs."""
    taken, peaks, *calls = zip(*runs)
    return [min(taken), max(peaks), *map(min, calls)]


def in_turn(tools, seconds, most=7):
    """The best of each tool's runs. Tools run in turns, so that other load affects all; as many rounds as fit into `seconds`."""
    runs, failed, begin = {name: [] for name in tools}, {}, time.perf_counter()
    for _ in range(most):
        for name, once in tools.items():
            if name in failed:
                continue
            try:
                runs[name].append(once())
            except RuntimeError as error:
                if "Memory" not in str(error) and "bad_alloc" not in str(error):
                    raise
                failed[name] = "out of memory"
        if time.perf_counter() - begin > seconds:
            break
    return {name: failed[name] if name in failed else best(runs[name]) for name in tools}


def ours(stem, observer, folder):
    recipe = WORK / f"{observer}.yaml"
    recipe.write_text(f"global: {{weights: int8 sym channel, activations: {OBSERVERS[observer][0]}}}\n")
    made = WORK / stem / "anybit.onnx"
    return run([ANYBIT, "quantize", MODELS / f"{stem}.onnx", "-o", made, "--recipe", recipe, "--calib", folder])[:2]


def theirs(stem, observer, folder):
    ready = WORK / stem / "prepared.onnx"
    if not ready.exists():
        prepared(MODELS / f"{stem}.onnx", WORK / stem)
    script, made = ROOT / "bench" / "quantize_by_onnxruntime.py", WORK / stem / "onnxruntime.onnx"
    seconds, peak, said = run([sys.executable, script, ready, made, folder, OBSERVERS[observer][1], PEER_MAX_GB])
    return seconds, peak, float(said.split()[-1])


TOOLS = {"anybit": ours, "onnxruntime": theirs}


def row(stem, observer, count, results):
    def cells(column):
        value = results.get(f"{stem}|{observer}|{count}|{column}")
        if value is None:
            return None, "", ""
        if isinstance(value, str):
            return None, value, f"over {PEER_MAX_GB * 1000:,}"
        seconds, peak, *call = value
        return value, f"{seconds:.2f}" + "".join(f" ({one:.2f})" for one in call), f"{peak / 1e6:,.0f}"

    (mine, seconds, peak), (peer, peer_seconds, peer_peak) = cells("anybit"), cells("onnxruntime")
    ratio = f"{peer[0] / mine[0]:.1f} ×" if mine and peer else ""
    return f"| {stem} | {observer} | {count} | {seconds} | {peer_seconds} | {ratio} | {peak} | {peer_peak} |"


def summary(results, counts):
    """The ratios for each observer and number of samples, and the growth of memory."""
    for observer in OBSERVERS:
        for count in counts:
            both = [(results.get(f"{stem}|{observer}|{count}|onnxruntime"), results.get(f"{stem}|{observer}|{count}|anybit"))
                    for stem in IMAGES]
            ratios = [a[0] / b[0] for a, b in both if isinstance(a, list) and isinstance(b, list)]
            if ratios:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                yield f"{observer}, {count} samples: {mean:.1f} × (geometric mean), at least {min(ratios):.1f} ×"
    growth = [results[f"{stem}|{observer}|{max(counts)}|anybit"][1] / results[f"{stem}|{observer}|{min(counts)}|anybit"][1]
              for stem in IMAGES for observer in OBSERVERS
              if all(f"{stem}|{observer}|{count}|anybit" in results for count in (min(counts), max(counts)))]
    if growth:
        yield f"anybit's peak memory with {max(counts)} samples is at most {max(growth):.2f} × that with {min(counts)}"


def matrices(count=16, side=4096):
    """A chain of matrix multiplications with weights in external data."""
    model, data = WORK / "matrices.onnx", WORK / "matrices.bin"
    size = 4 * side * side
    if not data.exists() or data.stat().st_size != count * size:
        first = np.random.default_rng(0).standard_normal((side, side), dtype=np.float32)
        with data.open("wb") as file:
            for k in range(count):
                file.write((np.roll(first, 17 * k) * np.float32(0.02 * (1 + k % 3))).tobytes())
    nodes, tensors = [], []
    for k in range(count):
        tensor = onnx.TensorProto(name=f"w{k}", data_type=onnx.TensorProto.FLOAT, dims=[side, side],
                                  data_location=onnx.TensorProto.EXTERNAL)
        for key, value in (("location", data.name), ("offset", k * size), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        tensors.append(tensor)
        nodes.append(helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"x{k + 1}"], name=f"matmul{k}"))
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, side]) for name in ("x0", f"x{count}")]
    graph = helper.make_graph(nodes, "matrices", ports[:1], ports[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), model)
    return model, count * size


def weights():
    """A table of the speed at which each recipe quantizes weights."""
    model, size = matrices()
    yield "| recipe | quantization GB/s | whole process GB/s | peak MB |"
    yield "|---|--:|--:|--:|"
    for recipe in WEIGHTS:
        quantizing, whole, peak = [], [], []
        for _ in range(3):
            seconds, most, said = run([ANYBIT, "quantize", model, "-o", WORK / "matrices.q.onnx", "--recipe", recipe,
                                       "--threads", 2, "--json"])
            quantizing.append(json.loads(said)["seconds"]["quantize"])
            whole.append(seconds)
            peak.append(most)
        yield f"| {recipe} | {size / min(quantizing) / 1e9:.2f} | {size / min(whole) / 1e9:.2f} | {max(peak) / 1e6:,.0f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--weights", action="store_true", help="only the table of weight-only quantization")
    parser.add_argument("--samples", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--observers", nargs="+", choices=OBSERVERS, default=list(OBSERVERS))
    parser.add_argument("--columns", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    lines = []
    if not options.only:
        for line in weights():
            lines.append(line)
            print(line, flush=True)
        lines.append("")
    if options.weights:
        return
    kept = WORK / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    lines += ["| model | observer | samples | anybit s | ONNX Runtime s (the call) | ratio | anybit MB | ONNX Runtime MB |",
              "|---|---|--:|--:|--:|--:|--:|--:|"]
    print("\n".join(lines[-2:]), flush=True)
    for stem in IMAGES:
        for observer in options.observers:
            for count in options.samples:
                if options.only not in stem:
                    continue
                folder = samples(stem, count)
                tools = {column: functools.partial(TOOLS[column], stem, observer, folder) for column in options.columns}
                for column, found in in_turn(tools, 10).items():
                    results[f"{stem}|{observer}|{count}|{column}"] = found
                kept.write_text(json.dumps(results, indent=1))
                lines.append(row(stem, observer, count, results))
                print(lines[-1], flush=True)
    said = [text for line in summary(results, options.samples) for text in ("", line)]
    lines += said
    print("\n".join(said))
    if options.write:
        document.put(options.write, "quantize", lines)


if __name__ == "__main__":
    main()
