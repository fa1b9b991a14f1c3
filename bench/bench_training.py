"""Quantization-aware training: accuracy before and after on MNIST and CIFAR-10, and time per step beside torch.

    python bench/bench_training.py [--only TEXT] [--seeds N] [--formats] [--speed] [--write docs/training.md]

Test images are used for the last column only. Data: `scripts/setup data`.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import document
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
ANYBIT = ROOT / "build" / "release" / "bin" / "anybit"

TERNARY, BINARY = ("global: {weights: %s channel scale mean, activations: int8 asym}" % name for name in ("ternary", "binary"))
# Task, name, recipe, training images, further arguments, goal in percent of the test images.
CASES = [
    ("digits", "ternary weights, int8 activations", TERNARY, 1024, [], 98.5),
    ("digits", "binary weights, int8 activations", BINARY, 1024, [], 97.8),
    ("digits", "int4x4", "int4x4", 1024, [], None),
    ("digits", "mxfp4", "mxfp4", 1024, [], None),
    ("digits", "binary", "binary", 1024, [], None),
    ("cifar", "int4x4", "int4x4", 1024, ["--steps", "1000"], 85.4),
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


def formats(options, folder):
    """Every format, weights only, on MNIST: before and after at most two minutes of training."""
    names = [one["name"] for one in anybit("formats", "--json")["formats"]]
    data, lines = Data("digits", folder), ["| format | before | trained |", "|---|--:|--:|"]
    for name in names:
        if options.only and options.only not in name:
            continue
        path = folder / "recipe.yaml"
        path.write_text(f"global: {{weights: {name}}}")
        try:
            before = measured(data, path, 1024, [], 0, train=False)[0]
            after = measured(data, path, 1024, ["--steps", "300"], 0)[0]
        except RuntimeError as error:
            lines.append(f"| {name} | | {str(error).splitlines()[0]} |")
        else:
            lines.append(f"| {name} | {before:.2f} | {after:.2f} |")
        print(lines[-1], flush=True)
    return lines


def torch_step(batch, steps):
    """Seconds per step of the CIFAR net with fake quantization in torch: weights and activations, Adam, distillation."""
    import torch

    torch.set_num_threads(1)

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, step, low, high):
            ctx.save_for_backward(x, step)
            ctx.low, ctx.high = low, high
            return torch.clamp(torch.round(x / step), low, high) * step

        @staticmethod
        def backward(ctx, dy):
            x, step = ctx.saved_tensors
            q = torch.round(x / step)
            inside = (q >= ctx.low) & (q <= ctx.high)
            ds = dy * torch.where(inside, q - x / step, q.clamp(ctx.low, ctx.high))
            return dy * inside, ds.sum(tuple(range(1, x.dim())), keepdim=True) if step.numel() > 1 else ds.sum(), None, None

    class Quantized(torch.nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer
            dims = [-1] + [1] * (layer.weight.dim() - 1)
            self.step = torch.nn.Parameter(layer.weight.detach().abs().flatten(1).amax(1).reshape(dims) / 7)
            self.data = torch.nn.Parameter(torch.tensor(0.1))

        def forward(self, x):
            x, w = Round.apply(x, self.data, -8, 7), Round.apply(self.layer.weight, self.step, -8, 7)
            if isinstance(self.layer, torch.nn.Conv2d):
                return torch.nn.functional.conv2d(x, w, self.layer.bias, self.layer.stride, self.layer.padding, groups=self.layer.groups)
            return torch.nn.functional.linear(x, w, self.layer.bias)

    from accuracy import images

    model = images.module("cifar", "net").Net().eval()
    for block in model.blocks:  # as anybit trains it: normalizations are folded
        block.depthwise_norm = block.pointwise_norm = torch.nn.Identity()

    def replace(module):
        for name, child in module.named_children():
            if isinstance(child, (torch.nn.Conv2d, torch.nn.Linear)):
                setattr(module, name, Quantized(child))
            else:
                replace(child)
    replace(model)
    x = torch.randn(batch, 3, 32, 32)
    target = torch.softmax(torch.randn(batch, 10), 1)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    best = float("inf")
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.kl_div(torch.log_softmax(model(x), 1), target, reduction="batchmean").backward()
        optimizer.step()
        best = min(best, time.perf_counter() - start)
    return best


def speed(folder):
    lines = ["| net | anybit ms | torch ms | ratio |", "|---|--:|--:|--:|"]
    for task in ("cifar",):
        data, times = Data(task, folder), []
        for _ in range(3):
            done = anybit("quantize", data.model, "-o", folder / "out.onnx", "--recipe", "int4x4", "--calib", data.samples(64), "--json",
                          "--train", "--steps", "40", "--threads", "1")
            times.append(done["training"]["seconds"] / done["training"]["steps"])
        theirs = torch_step(64, 20)
        lines.append(f"| {task} | {1000 * min(times):.1f} | {1000 * theirs:.1f} | {theirs / min(times):.2f} |")
        print(lines[-1], flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--formats", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        name = "training-formats" if options.formats else "training-speed" if options.speed else "training"
        lines = formats(options, folder) if options.formats else speed(folder) if options.speed else cases(options, folder)
    if options.write:
        document.put(options.write, name, lines)


if __name__ == "__main__":
    main()
