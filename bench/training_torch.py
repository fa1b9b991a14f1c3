"""One net in PyTorch with quantizers of learned steps: seconds and CPU seconds per training step. Run by bench_training.py with torch's Python.

    python3 bench/training_torch.py net.npz BATCH STEPS THREADS MODE

net.npz: arrays, and "nodes": the operators of an ONNX graph as JSON. Every Conv and Gemm has 4-bit weights per channel and 4-bit
inputs per tensor, as recipe int4x4 has; Adam, distillation with fixed targets. Modes:
- written: LSQ as it is usually written, an autograd function of torch's operators;
- fused: torch's own operators for learned steps, _fake_quantize_learnable_per_tensor_affine and …_per_channel_affine.
"""
import json
import sys
import time

import numpy as np
import torch
from torch.nn import functional


class Round(torch.autograd.Function):
    """Straight-through rounding in a range, and LSQ's gradient of the step."""

    @staticmethod
    def forward(ctx, x, step):
        q = torch.round(x / step)
        held = torch.clamp(q, -8, 7)
        ctx.save_for_backward(x, step)
        return held * step

    @staticmethod
    def backward(ctx, dy):
        x, step = ctx.saved_tensors
        quotient = x / step
        q = torch.round(quotient)
        inside = (q >= -8) & (q <= 7)
        ds = dy * torch.where(inside, q - quotient, q.clamp(-8, 7))
        return dy * inside, ds.flatten(1).sum(1).reshape(step.shape) if step.numel() > 1 else ds.sum()


class Net(torch.nn.Module):
    def __init__(self, archive, fused):
        super().__init__()
        self.fused, self.nodes = fused, json.loads(str(archive["nodes"]))
        self.weights = torch.nn.ParameterDict({self.key(name): torch.nn.Parameter(torch.from_numpy(archive[name]))
                                               for name in archive.files if name != "nodes"})
        self.steps = torch.nn.ParameterDict()
        self.zeros = {}
        for k, node in enumerate(self.nodes):
            if node["op"] in ("Conv", "Gemm"):
                weight = self.weights[self.key(node["in"][1])]
                dims = [-1] if fused else [-1] + [1] * (weight.dim() - 1)
                self.steps[f"w{k}"] = torch.nn.Parameter(weight.detach().abs().flatten(1).amax(1).reshape(dims) / 7)
                self.steps[f"x{k}"] = torch.nn.Parameter(torch.tensor([0.2]) if fused else torch.tensor(0.2))
                self.zeros[k] = torch.zeros(len(weight)), torch.zeros(1)

    @staticmethod
    def key(name):
        return name.replace(".", "_").replace("/", "_")

    def quantized(self, k, x, weight):
        steps = self.steps[f"w{k}"], self.steps[f"x{k}"]
        if not self.fused:
            return Round.apply(x, steps[1]), Round.apply(weight, steps[0])
        per_channel, per_tensor = self.zeros[k]
        return (torch._fake_quantize_learnable_per_tensor_affine(x, steps[1], per_tensor, -8, 7, 1.0),
                torch._fake_quantize_learnable_per_channel_affine(weight, steps[0], per_channel, 0, -8, 7, 1.0))

    def forward(self, image):
        values = {self.nodes[0]["in"][0]: image}
        for k, node in enumerate(self.nodes):
            x, more, op = values[node["in"][0]], node["in"][1:], node["op"]
            if op in ("Conv", "Gemm"):
                x, weight = self.quantized(k, x, self.weights[self.key(more[0])])
                bias = self.weights[self.key(more[1])] if len(more) > 1 else None
                y = (functional.conv2d(x, weight, bias, node["strides"], node["pads"], groups=node["group"]) if op == "Conv"
                     else functional.linear(x, weight, bias))
            elif op == "Relu":
                y = functional.relu(x)
            elif op == "Add":
                y = x + values[more[0]]
            elif op == "MaxPool":
                y = functional.max_pool2d(x, node["kernel"], node["strides"])
            elif op == "GlobalAveragePool":
                y = x.mean((2, 3), keepdim=True)
            elif op == "Flatten":
                y = x.flatten(1)
            else:
                raise NotImplementedError(op)
            values[node["out"]] = y
        return y


def main():
    path, batch, steps, threads, mode = sys.argv[1:]
    torch.set_num_threads(int(threads))
    archive = np.load(path)
    net = Net(archive, mode == "fused")
    generator = torch.Generator().manual_seed(0)
    first = json.loads(str(archive["nodes"]))[0]
    x = torch.randn(int(batch), *first["image"], generator=generator)
    target = torch.softmax(torch.randn(net(x).shape, generator=generator), 1)
    optimizer = torch.optim.Adam(net.parameters(), 1e-4)
    seconds, cpu = [], []
    for _ in range(int(steps)):
        start, used = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        functional.kl_div(torch.log_softmax(net(x), 1), target, reduction="batchmean").backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    print(json.dumps({"torch": torch.__version__, "seconds": float(np.median(seconds[2:])), "cpu": float(np.median(cpu[2:]))}))


if __name__ == "__main__":
    main()
