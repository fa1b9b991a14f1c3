"""What is written of single operators: ONNX's checker takes it, both runtimes run it, and both are near the float model."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from quantizing import decibels, in_anybit, in_onnxruntime, run_tool

node = helper.make_node


def array(*shape, seed=0):
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * 0.5).astype(np.float32)


def model_of(nodes, inputs, outputs, constants, opset=17, ir=8):
    """`inputs`: arrays to be fed; `outputs`: ranks; both by name."""
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
         for name, one in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}{i}" for i in range(rank)])
         for name, rank in outputs.items()],
        [numpy_helper.from_array(one, name) for name, one in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    onnx.checker.check_model(model, full_check=True)
    return model


def quantized(tool, folder, model, feeds, *arguments, least, calib=True):
    """The quantized model, which runs in both runtimes, `least` decibels from the float model."""
    before, after = folder / "net.onnx", folder / "net.q.onnx"
    onnx.save(model, before)
    np.savez(folder / "sample.npz", **feeds)
    samples = ["--calib", folder / "sample.npz"] if calib else []
    run_tool(tool, "quantize", before, "-o", after, *arguments, *samples)
    made = onnx.load(after)
    onnx.checker.check_model(made, full_check=True)
    reference = in_onnxruntime(before, feeds)
    for outputs in (in_onnxruntime(after, feeds), in_anybit(after, feeds)):
        for one, other in zip(reference, outputs, strict=True):
            assert one.shape == other.shape and decibels(one, other) > least
    return made


@pytest.mark.parametrize("recipe, least", [("int8", 30), ("int8-per-tensor", 25), ("int16", 70)])
@pytest.mark.parametrize("nodes", [[node("Gemm", ["x", "w", "c"], ["y"], name="g")],
                                   [node("MatMul", ["x", "w"], ["a"], name="m"),
                                    node("Add", ["a", "c"], ["y"], name="s")]], ids=["Gemm", "MatMul and Add"])
@pytest.mark.parametrize("shape", [(8,), (1, 8)])
def test_a_bias_may_be_a_row(tool, tmp_path, nodes, shape, recipe, least):
    feeds = {"x": array(4, 16)}
    model = model_of(nodes, feeds, {"y": 2}, {"w": array(16, 8), "c": array(*shape)})
    quantized(tool, tmp_path, model, feeds, "--recipe", recipe, least=least)


def test_the_bias_of_a_single_channel_may_be_a_number(tool, tmp_path):
    feeds = {"x": array(4, 16)}
    model = model_of([node("Gemm", ["x", "w", "c"], ["y"], name="g")], feeds, {"y": 2},
                     {"w": array(16, 1), "c": np.array(0.25, np.float32)})
    quantized(tool, tmp_path, model, feeds, "--recipe", "int8", least=30)
