"""What AMD Quark's documentation of microscaling promises about its operators in ONNX Runtime, with our library."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from support.promises import promise

from anybit import Session, get_library_path


@pytest.fixture(scope="module")
def images():
    return (np.load("examples/digits/test_images.npy")[:40].astype(np.float32) / 255 - 0.1307) / 0.3081


def network(op, domain):
    """The digits network with such a node before each constant weight and after the input."""
    model = onnx.load("examples/digits/digits.onnx")
    graph = model.graph
    weights = [one.name for one in graph.initializer if len(one.dims) > 1]
    nodes = [helper.make_node(op, [name], [f"{name}_rounded"], domain=domain, element_dtype="int8", axis=1, block_size=8,
                              rounding_mode=2) for name in ["image", *weights]]
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = f"{name}_rounded" if name in ("image", *weights) else name
    for i, node in enumerate(nodes):
        graph.node.insert(i, node)
    model.opset_import.append(helper.make_opsetid(domain, 1))
    return model.SerializeToString()


@promise("quark", 8, "ONNX Runtime runs a model with these operators if their library is registered in the session options.")
@pytest.mark.parametrize("op, domain", [("MXFixNeuron", "com.vai.quantize"), ("MXQuantizeDequantize", "com.amd.quark")])
def test_onnx_runtime_runs_the_operators_with_the_library_and_only_then(op, domain, images):
    model = network(op, domain)
    with pytest.raises(Exception, match=f"{op}|{domain}"):
        onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(get_library_path("CPU"))
    [theirs] = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, {"image": images})
    [ours] = Session(model).run({"image": images}).values()
    np.testing.assert_allclose(theirs, ours, rtol=1e-3, atol=1e-3)
    labels = np.load("examples/digits/test_labels.npy")[:40]
    assert (theirs.argmax(axis=1) == labels).mean() >= 0.95


@promise("quark", 9, "get_library_path takes the device, CPU, CUDA or ROCM, that the execution providers at hand suggest.")
def test_the_path_follows_the_device(images):
    available = onnxruntime.get_available_providers()
    device = next((name for name in ("ROCM", "CUDA") if f"{name}ExecutionProvider" in available), "CPU")
    assert get_library_path(device).endswith(".so")
    for other in ("ROCM", "CUDA"):
        with pytest.warns(UserWarning, match=other):
            options = onnxruntime.SessionOptions()
            options.register_custom_ops_library(get_library_path(other))
