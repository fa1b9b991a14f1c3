"""Gradients of convolutions and steps of optimizers on one thread, compared with Debian's torch and with memcpy.

    python bench/bench_gradients.py [--seconds S] [--only TEXT] [--no-torch]

GMAC/s of the convolution, of its gradient by the input and by the weights; GB/s of optimizers, counting what they read and
write. torch runs in its own process, in turns with anybit; the best of many runs counts. Weights vary, as in training.
"""
import argparse
import json
import math
import subprocess
import time

import numpy as np
from onnx import TensorProto, helper
from support.executing import NUMBERS, Executor

DOMAIN = "ai.anybit.training"

SHAPES = {  # x, w, attributes of Conv
    "3x3 64-64 at 56": ((1, 64, 56, 56), (64, 64, 3, 3), {"pads": [1] * 4}),
    "3x3 16-16 at 32, batch 32": ((32, 16, 32, 32), (16, 16, 3, 3), {"pads": [1] * 4}),
    "3x3 32-32 at 16, batch 32": ((32, 32, 16, 16), (32, 32, 3, 3), {"pads": [1] * 4}),
    "3x3 64-64 at 8, batch 32": ((32, 64, 8, 8), (64, 64, 3, 3), {"pads": [1] * 4}),
    "3x3/2 32-64 at 16, batch 32": ((32, 32, 16, 16), (64, 32, 3, 3), {"pads": [1] * 4, "strides": [2, 2]}),
    "1x1 128-128 at 8, batch 64": ((64, 128, 8, 8), (128, 128, 1, 1), {}),
    "depthwise 3x3 128 at 8, batch 64": ((64, 128, 8, 8), (128, 1, 3, 3), {"pads": [1] * 4, "group": 128}),
    "stem 3x3/2 3-32 at 224": ((1, 3, 224, 224), (32, 3, 3, 3), {"pads": [1] * 4, "strides": [2, 2]}),
    "first 3x3 3-16 at 32, batch 32": ((32, 3, 32, 32), (16, 3, 3, 3), {"pads": [1] * 4}),
    "digits 3x3 1-16 at 28, batch 64": ((64, 1, 28, 28), (16, 1, 3, 3), {"pads": [1] * 4}),
}
OPTIMIZERS = {"AdamW": 7, "SgdMomentum": 5, "ExponentialAverage": 3}  # passes over the parameters
PARAMETERS = 1 << 18

# Reads {"x", "w", "stride", "pad", "group", "which"}, or {"optimizer"}, by line; writes the best time of a few runs.
TORCH = """
import json, sys, time, torch
torch.set_num_threads(1)
def timed(body, runs=3):
    best = 1e9
    for _ in range(runs):
        begin = time.perf_counter(); body(); best = min(best, time.perf_counter() - begin)
    return best
known = {}
def made(text):
    job = json.loads(text)
    if "optimizer" in job:
        p = torch.nn.Parameter(torch.randn(job["count"])); p.grad = torch.randn(job["count"])
        kinds = {"AdamW": lambda: torch.optim.AdamW([p], 1e-3), "SgdMomentum": lambda: torch.optim.SGD([p], 1e-3, momentum=0.9),
                 "ExponentialAverage": None}
        if kinds[job["optimizer"]] is None:
            average = torch.randn(job["count"])
            return lambda: average.lerp_(p.detach(), 0.01)
        return kinds[job["optimizer"]]().step
    x, w = torch.randn(job["x"]), torch.randn(job["w"])
    about = [job["stride"]] * 2, [job["pad"]] * 2, [1, 1], False, [0, 0], job["group"]
    y = torch.conv2d(x, w, None, about[0], about[1], about[2], job["group"]); dy = torch.randn_like(y)
    if job["which"] == "forward":
        return lambda: torch.conv2d(x, w, None, about[0], about[1], about[2], job["group"])
    mask = [job["which"] == "input", job["which"] == "weight", False]
    return lambda: torch.ops.aten.convolution_backward(dy, x, w, None, *about, mask)
for line in sys.stdin:
    if line not in known:
        known.clear(); known[line] = made(line); timed(known[line])
    print(timed(known[line]), flush=True)
"""


class Torch:
    """Debian's torch in a process of its own; None if there is none."""

    def __init__(self):
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", TORCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def time(self, job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def node_model(op, domain, inputs, outputs, **attributes):
    names = [f"x{i}" for i in range(len(inputs))]
    outs = [f"y{i}" for i in range(outputs)]
    ports = [helper.make_tensor_value_info(name, NUMBERS[x.dtype], x.shape) for name, x in zip(names, inputs)]
    node = helper.make_node(op, names, outs, domain=domain, **attributes)
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outs]
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(helper.make_graph([node], "bench", ports, results), opset_imports=opsets, ir_version=10)


def ours(op, domain, inputs, outputs=1, **attributes):
    model = node_model(op, domain, inputs, outputs, **attributes)
    return Executor(model, threads=1).timer({f"x{i}": x for i, x in enumerate(inputs)})


def best_in_turns(mine, theirs, seconds):
    best, end = [math.inf, math.inf], time.perf_counter() + seconds
    while time.perf_counter() < end or best[0] == math.inf:
        best[0] = min([best[0]] + [mine() for _ in range(3)])
        if theirs:
            best[1] = min(best[1], theirs())
    return best


def conv_row(name, torch, seconds):
    x_shape, w_shape, attributes = SHAPES[name]
    random = np.random.default_rng(0)
    x, w = random.standard_normal(x_shape, np.float32), random.standard_normal(w_shape, np.float32)
    stride, pad, group = attributes.get("strides", [1])[0], attributes.get("pads", [0])[0], attributes.get("group", 1)
    out = (x_shape[2] + 2 * pad - w_shape[2]) // stride + 1
    dy = random.standard_normal((x_shape[0], w_shape[0], out, out), np.float32)
    macs = dy.size * math.prod(w_shape[1:])
    sizes = [np.array(shape, np.int64) for shape in (x_shape, w_shape)]
    kinds = {"forward": ("Conv", "", [x, w]), "input": ("ConvGradientInput", DOMAIN, [dy, w, sizes[0]]),
             "weight": ("ConvGradientWeight", DOMAIN, [dy, x, sizes[1]])}
    cells = []
    for which, (op, domain, inputs) in kinds.items():
        job = {"x": x_shape, "w": w_shape, "stride": stride, "pad": pad, "group": group, "which": which}
        mine, theirs = best_in_turns(ours(op, domain, inputs, **attributes), torch and (lambda: torch.time(job)), seconds)
        cells += [f"{macs / mine / 1e9:.1f}", f"{macs / theirs / 1e9:.1f}" if torch else "–"]
    return f"| {name} | {' | '.join(cells)} |"


def optimizer_row(name, passes, torch, seconds):
    random = np.random.default_rng(0)
    tensors = [np.abs(random.standard_normal(PARAMETERS, np.float32)) for _ in range(4)]
    size = tensors[0].nbytes
    rate, step = np.array(0.5, np.float32), np.array(1, np.int64)
    inputs, outputs = {"AdamW": ([rate, step, *tensors], 3), "SgdMomentum": ([rate, *tensors[:3]], 2),
                       "ExponentialAverage": ([rate, *tensors[:2]], 1)}[name]
    to = np.empty_like(tensors[0])

    def copy():
        begin = time.perf_counter()
        np.copyto(to, tensors[0])
        return time.perf_counter() - begin

    job = {"optimizer": name, "count": PARAMETERS}
    mine, theirs = best_in_turns(ours(name, DOMAIN, inputs, outputs), torch and (lambda: torch.time(job)), seconds)
    copied, _ = best_in_turns(copy, None, seconds)
    return (f"| {name} | {passes * size / mine / 1e9:.1f} | {f'{passes * size / theirs / 1e9:.1f}' if torch else '–'} | "
            f"{2 * size / copied / 1e9:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.5, help="for each figure")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--no-torch", action="store_true")
    options = parser.parse_args()
    torch = None if options.no_torch else Torch()
    print("| GMAC/s | forward | torch | by input | torch | by weights | torch |\n|---|--:|--:|--:|--:|--:|--:|")
    for name in SHAPES:
        if options.only in name:
            print(conv_row(name, torch, options.seconds), flush=True)
    print("\n| GB/s | anybit | torch | memcpy |\n|---|--:|--:|--:|")
    for name, passes in OPTIMIZERS.items():
        if options.only in name:
            print(optimizer_row(name, passes, torch, options.seconds), flush=True)


if __name__ == "__main__":
    main()
