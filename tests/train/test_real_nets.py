"""Gradients of real nets: beside torch's, and along random directions of all weights (`make test-gradients`)."""
import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.backend import ROOT
from support.differences import LOSS, in_double, raised, with_loss
from support.executing import Executor, prepare, with_gradients

pytestmark = pytest.mark.gradients
MODELS = {
    "digits": ("examples/digits/digits.onnx", (4, 1, 28, 28)),
    "cifar": ("examples/cifar/cifar.onnx", (4, 3, 32, 32)),
    "classifier": ("build/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", (1, 3, 48, 192)),
    "recogniser": ("build/models/ch_PP-OCRv4_rec_infer.onnx", (1, 3, 48, 64)),
    "detector": ("build/models/ch_PP-OCRv4_det_infer.onnx", (1, 3, 64, 64)),
}
STEPS = (1e-6, 1e-7, 1e-8, 1e-9)  # smaller ones in case that there is a kink within the larger


def trained(name, rng):
    """The model in float64 with its weights as inputs, and all inputs."""
    path, dims = MODELS[name]
    model, _ = prepare(onnx.load(ROOT / path), only=["inline_functions", "fold_constants", "remove_unused"])
    model = in_double(raised(model))
    last = model.graph.node[-1]
    if last.op_type == "Sigmoid":  # flat in float64 where the detector sees no text
        model.graph.output[0].name = last.input[0]
        model.graph.node.remove(last)
    constants = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    inputs = {port.name for port in model.graph.input}
    feeds = {next(iter(inputs - set(constants))): rng.normal(size=dims)}
    for weight in [one for one in model.graph.initializer if one.data_type == TensorProto.DOUBLE and np.prod(one.dims) > 1]:
        feeds[weight.name] = constants[weight.name]
        if weight.name not in inputs:
            model.graph.input.append(helper.make_tensor_value_info(weight.name, TensorProto.DOUBLE, list(weight.dims)))
        model.graph.initializer.remove(weight)
    return model, feeds


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_match_differences_along_random_directions_of_all_weights(name, recompute):
    seed = 5
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    model, feeds = trained(name, rng)
    model = with_loss(model, feeds, rng)
    results = Executor(with_gradients(model, LOSS, list(feeds), recompute).SerializeToString()).run(feeds)
    gradients, forward = dict(zip(feeds, results[1:])), Executor(model.SerializeToString())
    for _ in range(3):
        steps = {key: rng.uniform(-1, 1, x.shape) * (np.abs(x).mean() + 1e-3) for key, x in feeds.items()}
        exact = sum(float((gradients[key] * step).sum()) for key, step in steps.items())

        def loss(t):
            return float(forward.run({key: feeds[key] + t * steps[key] for key in feeds})[0])

        slopes = [(8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h) for h in STEPS]
        assert min(abs(slope - exact) for slope in slopes) <= 1e-6 * abs(exact), f"{exact}, and by differences {slopes}"


def by_torch(model, loss, wanted, feeds, folder):
    nodes = [[node.op_type, list(node.input), node.output[0], {a.name: helper.get_attribute_value(a) for a in node.attribute}]
             for node in model.graph.node]
    (folder / "net.json").write_text(json.dumps({"nodes": nodes, "loss": loss, "wanted": wanted}))
    np.savez(folder / "values.npz", **feeds, **{one.name: numpy_helper.to_array(one) for one in model.graph.initializer})
    program = [os.environ.get("TORCH_PYTHON", "/usr/bin/python3"), ROOT / "tests" / "support" / "torch_gradients.py"]
    subprocess.run([*program, folder / "net.json", folder / "values.npz", folder / "gradients.npz"], check=True)
    return np.load(folder / "gradients.npz")


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["digits", "cifar"])
def test_gradients_of_the_loss_are_those_of_torch(name, kind, tmp_path):
    rng = np.random.default_rng(6)
    model, feeds = trained(name, rng)
    output = model.graph.output[0].name
    model.graph.node.append(helper.make_node("SoftmaxCrossEntropyLoss", [output, "labels"], [LOSS]))
    del model.graph.output[:]
    wanted, element = list(feeds), TensorProto.DOUBLE if kind == np.float64 else TensorProto.FLOAT
    model.graph.output.append(helper.make_tensor_value_info(LOSS, element, []))
    labels = rng.integers(0, 10, next(iter(feeds.values())).shape[0])
    model.graph.input.append(helper.make_tensor_value_info("labels", TensorProto.INT64, labels.shape))
    for port in model.graph.input:
        if port.name != "labels":
            port.type.tensor_type.elem_type = element
    feeds = {**{key: x.astype(kind) for key, x in feeds.items()}, "labels": labels}
    torch = by_torch(model, LOSS, wanted, feeds, tmp_path)
    ours = Executor(with_gradients(model, LOSS, wanted).SerializeToString()).run(feeds)
    np.testing.assert_allclose(ours[0], torch["loss"], rtol=1e-10 if kind == np.float64 else 1e-5)
    for key, gradient in zip(wanted, ours[1:]):
        other = torch[f"d {key}"]
        tolerance = 1e-10 if kind == np.float64 else 1e-4
        np.testing.assert_allclose(gradient, other, rtol=tolerance, atol=tolerance * np.abs(other).max(), err_msg=key)
