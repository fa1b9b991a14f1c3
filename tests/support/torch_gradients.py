"""The gradients of a convolutional net by torch, in a process of its own: torch is in another environment than onnx.

    python torch_gradients.py net.json values.npz gradients.npz

net.json: {"nodes": [[operator, inputs, output, attributes], …], "loss": name, "wanted": [names]}.
"""
import json
import sys

import numpy as np
import torch
from torch.nn import functional


def conv(values, inputs, attributes):
    x, pads = values[inputs[0]], attributes.get("pads", [0, 0, 0, 0])
    x = functional.pad(x, (pads[1], pads[3], pads[0], pads[2]))
    bias = values[inputs[2]] if len(inputs) > 2 else None
    return functional.conv2d(x, values[inputs[1]], bias, attributes.get("strides", 1), 0, attributes.get("dilations", 1),
                             attributes.get("group", 1))


def batch_norm(values, inputs, attributes):
    """Written out: torch's own has no gradients with regard to mean and variance."""
    scale, bias, mean, variance = (values[name].reshape(1, -1, 1, 1) for name in inputs[1:])
    return (values[inputs[0]] - mean) / (variance + attributes.get("epsilon", 1e-5)).sqrt() * scale + bias


def gemm(values, inputs, attributes):
    a, b = values[inputs[0]], values[inputs[1]]
    a, b = (m.t() if attributes.get(name) else m for m, name in ((a, "transA"), (b, "transB")))
    return a @ b + (values[inputs[2]] if len(inputs) > 2 else 0)


def max_pool(values, inputs, attributes):
    return functional.max_pool2d(values[inputs[0]], attributes["kernel_shape"], attributes.get("strides"))


OPERATORS = {
    "Conv": conv, "BatchNormalization": batch_norm, "Gemm": gemm, "MaxPool": max_pool,
    "Relu": lambda v, i, a: v[i[0]].relu(),
    "Add": lambda v, i, a: v[i[0]] + v[i[1]],
    "Mul": lambda v, i, a: v[i[0]] * v[i[1]],
    "GlobalAveragePool": lambda v, i, a: v[i[0]].mean((2, 3), keepdim=True),
    "Flatten": lambda v, i, a: v[i[0]].flatten(1),
    "SoftmaxCrossEntropyLoss": lambda v, i, a: functional.cross_entropy(v[i[0]], v[i[1]]),
}


def main(net, given, result):
    with open(net) as file:
        net = json.load(file)
    values = {name: torch.from_numpy(x) for name, x in np.load(given).items()}
    for name in net["wanted"]:
        values[name].requires_grad_(True)
    for operator, inputs, output, attributes in net["nodes"]:
        values[output] = OPERATORS[operator](values, inputs, attributes)
    values[net["loss"]].backward()
    made = {name: values[name].grad.numpy() for name in net["wanted"]}
    np.savez(result, loss=values[net["loss"]].detach().numpy(), **{f"d {name}": gradient for name, gradient in made.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
