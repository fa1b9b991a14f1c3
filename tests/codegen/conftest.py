"""Nets as int8, which several tests write as C."""

import numpy as np
import onnx
import pytest
from support.generating import SEED
from support.running import ROOT


def quantized(anybit, folder, model, shape, samples):
    """The int8 model of a net, for one image at a time."""
    net = onnx.load(model)
    for size, dim in zip(shape, net.graph.input[0].type.tensor_type.shape.dim):
        dim.dim_value = size
    onnx.save(net, folder / "float.onnx")
    (folder / "samples").mkdir()
    for i, sample in enumerate(samples):
        np.save(folder / "samples" / f"{i}.npy", sample)
    anybit("quantize", folder / "float.onnx", "-o", folder / "int8.onnx", "--recipe", "int8", "--calib", folder / "samples")
    return net, onnx.load(folder / "int8.onnx")


@pytest.fixture(scope="session")
def digits(anybit, tmp_path_factory):
    images = np.load(ROOT / "examples/digits/calibration_images.npy")[:20].astype(np.float32) / 255
    images = ((images - 0.1307) / 0.3081).reshape(-1, 1, 1, 28, 28)
    return *quantized(anybit, tmp_path_factory.mktemp("digits"), ROOT / "examples/digits/digits.onnx", (1, 1, 28, 28), images), images


@pytest.fixture(scope="session")
def cifar(anybit, tmp_path_factory):
    images = np.random.default_rng(SEED).normal(size=(8, 1, 3, 32, 32)).astype(np.float32)
    return *quantized(anybit, tmp_path_factory.mktemp("cifar"), ROOT / "examples/cifar/cifar.onnx", (1, 3, 32, 32), images), images
