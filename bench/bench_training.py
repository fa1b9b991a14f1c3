"""Quantization-aware training: accuracy before and after on MNIST and CIFAR-10, and time per step beside torch.

    python bench/bench_training.py [--only TEXT] [--seeds N] [--formats] [--speed] [--write docs/training.md]

Test images are used for the last column only. Data: `scripts/setup data`.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import document
import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
ANYBIT = ROOT / "build" / "release" / "bin" / "anybit"

TERNARY, BINARY = ("global: {weights: %s channel scale mean, activations: int8 asym}" % name for name in ("ternary", "binary"))
# Task, name, recipe, training images, further arguments, goal in percent of the test images.
CASES = [
    ("digits", "ternary weights, int8 activations", TERNARY, 1024, [], 98.5),
    ("digits", "binary weights, int8 activations", BINARY, 1024, [], 97.8),
    ("digits", "int4x4", "int4x4", 1024, [], None),
    ("digits", "mxfp4", "mxfp4", 1024, [], None),
    ("digits", "binary", "binary", 1024, [], None),
    ("cifar", "int4x4", "int4x4", 1024, [], 85.4),
    ("cifar", "mxfp4", "mxfp4", 1024, ["--steps", "600"], None),
    ("cifar", "ternary weights, int8 activations", TERNARY, 50_000, ["--steps", "2000"], 82.5),
]


class Data:
    """Images and labels of a task in files."""

    def __init__(self, task, folder):
        from accuracy import images

        load, parts = {"digits": (images.digits, ("train", "t10k")), "cifar": (images.colour_images, ("train", "test"))}[task]
        self.model, self.folder, self.task = ROOT / "examples" / task / f"{task}.onnx", folder, task
        self.train = load(parts[0])[0]
        images_, labels = load(parts[1])
        self.test, self.labels = folder / f"{task}_test.npy", folder / f"{task}_labels.npy"
        np.save(self.test, images_)
        np.save(self.labels, labels.astype(np.int64))

    def samples(self, count):
        path = self.folder / f"{self.task}_{count}.npy"
        if not path.exists():
            np.save(path, self.train[:count])
        return path


def anybit(*arguments):
    done = subprocess.run([ANYBIT, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def accuracy(data, model):
    """Top-1 in percent on the test images."""
    done = anybit("compare", data.model, model, "--data", data.test, "--labels", data.labels, "--json")
    return 100 * done["other"]["top1"]


def measured(data, recipe, count, arguments, seed, train=True):
    out = data.folder / "out.onnx"
    start = time.perf_counter()
    flags = ["--train", "--seed", seed, *arguments] if train else []
    report = anybit("quantize", data.model, "-o", out, "--recipe", recipe, "--calib", data.samples(count), "--json", *flags)
    return accuracy(data, out), time.perf_counter() - start, report.get("training")


def cases(options, folder):
    lines = ["| net | scheme | images | before | trained | spread | goal | seconds | steps |", "|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    data = {}
    for task, name, recipe, count, arguments, goal in CASES:
        if options.only and options.only not in f"{task} {name}":
            continue
        if task not in data:
            data[task] = Data(task, folder)
        if recipe.startswith("global"):
            path = folder / "recipe.yaml"
            path.write_text(recipe)
            recipe = path
        before = measured(data[task], recipe, min(count, 1024), [], 0, train=False)[0]
        runs = [measured(data[task], recipe, count, arguments, seed) for seed in range(options.seeds)]
        after = [run[0] for run in runs]
        lines.append(f"| {task} | {name} | {count:,} | {before:.2f} | {np.mean(after):.2f} | {max(after) - min(after):.2f} | "
                     f"{'' if goal is None else goal} | {np.mean([run[1] for run in runs]):.0f} | {runs[0][2]['steps']} |")
        print(lines[-1], flush=True)
    return lines


def before_and_after(data, path, steps):
    """Percent untrained and trained, and the report; or why the format cannot be used so."""
    before = measured(data, path, 1024, [], 0, train=False)[0]
    after, _, report = measured(data, path, 1024, ["--steps", steps], 0)
    return before, after, report


def formats(options, folder):
    """Every format on MNIST, of the weights alone and of weights and activations: before and after training."""
    names = [one["name"] for one in anybit("formats", "--json")["formats"]]
    data = Data("digits", folder)
    lines = ["| format | weights | trained | weights, activations | trained |", "|---|--:|--:|--:|--:|"]
    lower = []
    for name in names:
        if options.only and options.only not in name:
            continue
        cells = []
        for recipe in (f"global: {{weights: {name}}}", f"global: {{weights: {name}, activations: {name}}}"):
            path = folder / "recipe.yaml"
            path.write_text(recipe)
            try:
                before, after, report = before_and_after(data, path, options.steps)
            except RuntimeError as error:
                print(f"{name}: {str(error).splitlines()[0]}", flush=True)
                cells += ["–", "–"]
                continue
            cells += [f"{before:.2f}", f"{after:.2f}" if report["trained"] else "as before"]
            lower += [f"{name}: {before:.2f} -> {after:.2f}"] * (after < before)
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    print(*(["below the untrained figure:", *lower] if lower else ["none is below its untrained figure"]), sep="\n", flush=True)
    return lines


def torch_net(task, path):
    """Writes the folded net for training_torch.py."""
    folded = path.with_suffix(".onnx")
    subprocess.run([ANYBIT, "prepare", ROOT / "examples" / task / f"{task}.onnx", "-o", folded], check=True, capture_output=True)
    graph = onnx.load(folded).graph
    arrays = {one.name: numpy_helper.to_array(one).astype(np.float32) for one in graph.initializer}
    nodes = []
    for node in graph.node:
        given = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        if node.op_type == "Gemm" and not given.get("transB"):
            arrays[node.input[1]] = np.ascontiguousarray(arrays[node.input[1]].T)
        nodes.append({"op": node.op_type, "in": list(node.input), "out": node.output[0], "strides": given.get("strides", [1, 1]),
                      "pads": given.get("pads", [0, 0])[:2], "group": given.get("group", 1), "kernel": given.get("kernel_shape", [])})
    nodes[0]["image"] = [one.dim_value for one in graph.input[0].type.tensor_type.shape.dim[1:]]
    used = {name for node in nodes for name in node["in"]}
    np.savez(path, nodes=json.dumps(nodes), **{name: x for name, x in arrays.items() if name in used})


# A process begins with the peak of memory of the one that started it, so a small one stands between.
LAUNCH = """import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"answer": json.loads(done.stdout), "megabytes": used.ru_maxrss / 1024, "cpu": used.ru_utime + used.ru_stime}))"""


def child(arguments):
    """What a process printed, its peak memory in MB, and its CPU seconds."""
    done = subprocess.run([sys.executable, "-c", LAUNCH, *map(str, arguments)], stdout=subprocess.PIPE, check=True)
    told = json.loads(done.stdout)
    return told["answer"], told["megabytes"], told["cpu"]


def our_step(data, recipe, out, batch, steps, threads):
    """Seconds and CPU seconds of a step, by the difference of a long and a short training, and the peak of memory."""
    def run(count):
        return child([ANYBIT, "quantize", data.model, "-o", out, "--recipe", recipe, "--calib", data.samples(batch), "--json", "--no-verdict",
                      "--train", "--steps", count, "--threads", threads])
    (short, _, few), (long, memory, many) = run(steps // 4), run(steps)
    seconds = long["training"]["seconds"] - short["training"]["seconds"]
    return seconds / (steps - steps // 4), (many - few) / (steps - steps // 4), memory


def speed(options, folder, batch=64, rounds=3):
    """A step of int4x4 without labels beside torch; interleaved, medians; the faster of torch's two modes."""
    python, steps = os.environ.get("TORCH_PYTHON", "/usr/bin/python3"), max(options.steps // 8, 8)
    lines = ["| net | threads | torch, mode | anybit images/s | torch images/s | ratio | by CPU time | anybit MB | torch MB |",
             "|---|--:|---|--:|--:|--:|--:|--:|--:|"]
    recipe = folder / "recipe.yaml"
    recipe.write_text("global: {weights: int4 sym channel, activations: int4 asym mse}\ntrain: {augment: none}\n")
    for task in ("digits", "cifar"):
        data, net = Data(task, folder), folder / f"{task}.npz"
        torch_net(task, net)
        for threads in (1, 2):
            if options.only and options.only not in f"{task} {threads}":
                continue
            ours, theirs = [], {"written": [], "fused": []}
            for _ in range(rounds):
                ours.append(our_step(data, recipe, folder / "out.onnx", batch, steps, threads))
                for mode, list_ in theirs.items():
                    done, memory, _ = child([python, HERE / "training_torch.py", net, batch, steps, threads, mode])
                    list_.append((done["seconds"], done["cpu"], memory))
            mode = min(theirs, key=lambda one: np.median(theirs[one], 0)[0])
            (a, ca, ma), (b, cb, mb) = np.median(ours, 0), np.median(theirs[mode], 0)
            lines.append(f"| {task} | {threads} | {done['torch']}, {mode} | {batch / a:,.0f} | {batch / b:,.0f} | {b / a:.2f} | {cb / ca:.2f} | "
                         f"{ma:.0f} | {mb:.0f} |")
            print(lines[-1], flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--formats", action="store_true")
    parser.add_argument("--steps", type=int, default=300, help="of --formats; --speed takes an eighth")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        name = "training-formats" if options.formats else "training-speed" if options.speed else "training"
        lines = formats(options, folder) if options.formats else speed(options, folder) if options.speed else cases(options, folder)
    if options.write:
        document.put(options.write, name, lines)


if __name__ == "__main__":
    main()
