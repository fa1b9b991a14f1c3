"""Writes the trained network as ONNX (opset 17) and measures it with onnxruntime on the test images.

    .venv/bin/python examples/cifar/export.py build/cifar/weights.npz build/models/data/cifar
"""
import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import data

EPSILON = 1e-5  # PyTorch's default for its normalizations
NAMES = {"weight": "scale", "bias": "bias", "running_mean": "mean", "running_var": "variance"}


class Builder:
    def __init__(self, weights):
        self.weights, self.nodes, self.tensors = weights, [], []

    def tensor(self, name, source):
        self.tensors.append(numpy_helper.from_array(self.weights[source], name))
        return name

    def node(self, op, name, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [f"{name}.out"], name, **attributes))
        return f"{name}.out"

    def conv(self, x, name, source, stride=1, pad=0):
        weight = self.weights[f"{source}.weight"]
        inputs = [x, self.tensor(f"{name}.weight", f"{source}.weight")]
        depthwise = weight.shape[1] == 1
        return self.node("Conv", name, inputs, kernel_shape=weight.shape[2:], strides=[stride] * 2, pads=[pad] * 4,
                         group=len(weight) if depthwise else 1)

    def norm(self, x, name, source):
        inputs = [self.tensor(f"{name}.{kind}", f"{source}.{key}") for key, kind in NAMES.items()]
        return self.node("BatchNormalization", name, [x, *inputs], epsilon=EPSILON)

    def separable(self, x, name, source):
        """A block of net.py; its stride is 2 if the number of channels doubles."""
        wide, inputs = self.weights[f"{source}.pointwise.weight"].shape[:2]
        stride = 1 if wide == inputs else 2
        y = self.conv(x, f"{name}/depthwise/conv", f"{source}.depthwise", stride, pad=1)
        y = self.norm(y, f"{name}/depthwise/norm", f"{source}.depthwise_norm")
        y = self.node("Relu", f"{name}/depthwise/relu", [y])
        y = self.conv(y, f"{name}/pointwise/conv", f"{source}.pointwise")
        y = self.norm(y, f"{name}/pointwise/norm", f"{source}.pointwise_norm")
        if stride == 1:
            y = self.node("Add", f"{name}/add", [x, y])
        return self.node("Relu", f"{name}/relu", [y])


def export(weights, facts):
    """The model; `facts` become its metadata."""
    builder = Builder(weights)
    x = builder.conv("image", "stem/conv", "stem", stride=2, pad=1)
    x = builder.node("Relu", "stem/relu", [x])
    blocks = sum(name.endswith(".depthwise.weight") for name in weights)
    for k in range(blocks):
        x = builder.separable(x, f"block{k + 1}", f"blocks.{k}")
    x = builder.node("GlobalAveragePool", "head/pool", [x])
    x = builder.node("Flatten", "head/flatten", [x])
    head = [builder.tensor(f"head/linear.{kind}", f"head.{kind}") for kind in ("weight", "bias")]
    builder.node("Gemm", "head/linear", [x, *head], transB=1)
    builder.nodes[-1].output[0] = "logits"
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 32, 32],
                                          f"Colour images: {facts['normalization']}")
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10],
                                           f"Scores before softmax: {', '.join(data.CLASSES)}")
    graph = helper.make_graph(builder.nodes, "cifar", [image], [logits], builder.tensors)
    model = helper.make_model(graph, producer_name="anybit examples/cifar", ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)],
                              doc_string="A depthwise-separable network with residuals for small colour images.")
    helper.set_model_props(model, facts)
    onnx.checker.check_model(model, full_check=True)
    return onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def accuracy(model, images, labels, batch=100):
    """Top-1 accuracy on normalized images."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    right = sum(int((session.run(None, {"image": images[at:at + batch]})[0].argmax(1) == labels[at:at + batch]).sum())
                for at in range(0, len(images), batch))
    return right / len(images)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path, help="what train.py wrote")
    parser.add_argument("data", type=Path, help="the folder of the images")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("cifar.onnx"))
    options = parser.parse_args()
    with np.load(options.weights) as archive:
        stored = dict(archive)
    facts = {name.removeprefix("fact:"): str(value) for name, value in stored.items() if name.startswith("fact:")}
    weights = {name: value for name, value in stored.items() if not name.startswith("fact:")}
    images, labels = data.load(options.data, "test")
    reached = accuracy(export(weights, facts), data.normalize(images), labels)
    facts["test_accuracy"] = f"{reached:.4f}"
    options.out.write_bytes(export(weights, facts).SerializeToString())
    print(f"accuracy on the {len(labels)} test images: {reached:.4f}; {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
