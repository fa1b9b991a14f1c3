"""Weights in number formats as plain DequantizeLinear: the same values as in every other form, and rejected formats."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from support.quantizing import Executor, in_onnxruntime, run_tool

# Recipe, its ONNX type, the opset that has the type.
FORMATS = {"mxint8-weights": ("int8", 21), "mxfp8-weights": ("float8e4m3fn", 21), "mxfp8-e5m2-weights": ("float8e5m2", 21),
           "mxfp4-weights": ("float4e2m1", 23), "nvfp4-weights": ("float4e2m1", 23), "bfp16-weights": ("int8", 21),
           "block-fp8-weights": ("int8", 21), "fixed8-weights": ("int8", 17),
           "ternary-weights": ("int2", 25), "binary-weights": ("int2", 25),
           "global: {weights: {format: block_fp, width: 4, block_size: 16}}": ("int4", 21),
           "global: {weights: {format: block_fp, width: 12, block_size: 16}}": ("int16", 21),
           "global: {weights: fixed width 6 frac 4}": ("int8", 17),
           "global: {weights: mxint8 block 24 axis 0}": ("int8", 21),
           "global: {weights: int5 symmetric=false granularity=block block_size=16}": ("int8", 21)}
# ONNX Runtime has DequantizeLinear for these on the CPU.
IN_ONNX_RUNTIME = {"int2", "int4", "int8", "int16", "float8e4m3fn", "float8e5m2"}  # not float4e2m1


def layers(path, seed=4, scale=1.0):
    """Convolutions of 3 × 3 and of 1 × 1, a Gemm and a MatMul: blocks that divide their axis, and some that do not."""
    rng = np.random.default_rng(seed)
    shapes = {"w1": (40, 5, 3, 3), "w2": (48, 40, 1, 1), "w3": (130, 48), "b3": (130,), "w4": (130, 70)}
    constants = [numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), name)
                 for name, shape in shapes.items()]
    node = helper.make_node
    nodes = [node("Conv", ["x", "w1"], ["c1"], pads=[1] * 4), node("Tanh", ["c1"], ["t1"]), node("Conv", ["t1", "w2"], ["c2"]),
             node("GlobalAveragePool", ["c2"], ["g2"]), node("Flatten", ["g2"], ["f2"]),
             node("Gemm", ["f2", "w3", "b3"], ["d3"], transB=1), node("MatMul", ["d3", "w4"], ["y"])]
    graph = helper.make_graph(nodes, "layers", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5, 6, 6])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 70])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def quantize(tool, tmp_path, recipe, emit, *more, code=0):
    if recipe.startswith("global"):
        (tmp_path / "recipe.yaml").write_text(recipe)
        recipe = tmp_path / "recipe.yaml"
    path = tmp_path / f"{emit}.onnx"
    return path, run_tool(tool, "quantize", tmp_path / "layers.onnx", "-o", path, "--recipe", recipe, "--emit", emit, *more,
                          code=code)


def with_weights(path):
    """The model with the weights of its linear operators as additional outputs."""
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm", "MatMul"):
            model.graph.output.append(helper.make_tensor_value_info(node.input[1], TensorProto.FLOAT, None))
    return model


def dequantizers(model):
    return [node for node in model.graph.node if node.op_type == "DequantizeLinear"]


def type_name(tensor):
    return TensorProto.DataType.Name(tensor.data_type).lower()


@pytest.mark.parametrize("recipe", FORMATS)
def test_weights_are_those_of_the_portable_form_in_every_runtime(tool, tmp_path, recipe):
    kind, opset = FORMATS[recipe]
    layers(tmp_path / "layers.onnx")
    plain, portable = (with_weights(quantize(tool, tmp_path, recipe, emit)[0]) for emit in ("qdq", "portable"))
    onnx.checker.check_model(str(tmp_path / "qdq.onnx"), full_check=True)
    assert not plain.functions and {node.domain for node in plain.graph.node} == {""}
    assert {one.domain: one.version for one in plain.opset_import} == {"": opset}
    constants = {one.name: one for one in plain.graph.initializer}
    assert [type_name(constants[node.input[0]]) for node in dequantizers(plain)] == [kind] * 4
    x = np.random.default_rng(5).standard_normal((2, 5, 6, 6)).astype(np.float32)
    wanted = Executor(portable).run({"x": x})
    ours = Executor(plain).run({"x": x})
    for one, other in zip(ours, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    if kind in IN_ONNX_RUNTIME:
        theirs = in_onnxruntime(plain.SerializeToString(), {"x": x})
    else:
        theirs = ReferenceEvaluator(plain).run(None, {"x": x})
    np.testing.assert_allclose(theirs[0], ours[0], rtol=1e-4, atol=1e-4 * np.abs(ours[0]).max())
    for one, other in zip(theirs[1:], ours[1:], strict=True):
        np.testing.assert_array_equal(one, other)


def test_values_have_their_real_width_and_scales_are_float32(tool, tmp_path):
    layers(tmp_path / "layers.onnx")
    path, done = quantize(tool, tmp_path, "mxfp4-weights", "qdq", "--json")
    model = onnx.load(path)
    constants = {one.name: one for one in model.graph.initializer}
    last = dequantizers(model)[-1]  # of 130 × 70, blocks of 32 along the first axis
    assert {one.name: one.i for one in last.attribute} == {"axis": 0, "block_size": 32}
    quantized, scales = (constants[name] for name in last.input)
    assert list(quantized.dims) == [130, 70] and len(quantized.raw_data) == 130 * 70 / 2
    assert list(scales.dims) == [5, 70] and type_name(scales) == "float"
    exponents = np.log2(numpy_helper.to_array(scales))
    np.testing.assert_array_equal(exponents, np.rint(exponents))
    told = {one["name"]: one["bytes_after"] for one in json.loads(done.stdout)["weights"]}
    assert told["w4"] == len(quantized.raw_data) + len(scales.raw_data)


def test_only_weights_that_were_quantized_as_a_matrix_are_reshaped(tool, tmp_path):
    layers(tmp_path / "layers.onnx")
    model = onnx.load(quantize(tool, tmp_path, "mxint8-weights", "qdq")[0])
    reshaped = [node.input[0] for node in model.graph.node if node.op_type == "Reshape"]
    assert reshaped == [dequantizers(model)[0].output[0]]  # the convolution of 3 × 3


@pytest.mark.parametrize("recipe, name", [("mxfp6-weights", "mxfp6_e2m3"), ("mx9-weights", "mx9"), ("mx6-weights", "mx6"), ("mx4-weights", "mx4"),
                                          ("log8-weights", "log"),
                                          ("mxfp6", "mxfp6_e2m3"), ("minifloat8-weights", "minifloat_ieee")])
def test_a_format_without_an_onnx_type_is_rejected(tool, tmp_path, recipe, name):
    layers(tmp_path / "layers.onnx")
    path, done = quantize(tool, tmp_path, recipe, "qdq", code="error")
    assert f"no type for {name}" in done.stderr and "--emit portable" in done.stderr and "--emit packed" in done.stderr
    assert not path.exists()


@pytest.mark.parametrize("emit", ["qdq", "qoperator"])
def test_activations_with_run_time_scales_are_rejected(tool, tmp_path, emit):
    layers(tmp_path / "layers.onnx")
    path, done = quantize(tool, tmp_path, "mxfp4", emit, code="error")
    assert "activations in mxfp4_e2m1" in done.stderr and "-weights" in done.stderr and "--emit portable" in done.stderr
    assert not path.exists()


def test_a_scale_out_of_the_range_of_float32_is_rejected(tool, tmp_path):
    # -128 · 2^121, which mxint8 makes of the lowest float32, is beyond float32: the format gives the lowest there is.
    layers(tmp_path / "layers.onnx")
    model = onnx.load(tmp_path / "layers.onnx")
    weight = next(one for one in model.graph.initializer if one.name == "w4")
    values = numpy_helper.to_array(weight).copy()
    values[3, 5] = np.finfo(np.float32).min
    weight.CopyFrom(numpy_helper.from_array(values, "w4"))
    onnx.save(model, tmp_path / "layers.onnx")
    quantize(tool, tmp_path, "mxint8-weights", "portable")
    path, done = quantize(tool, tmp_path, "mxint8-weights", "qdq", code="error")
    assert "w4" in done.stderr and f"value {3 * 70 + 5}" in done.stderr
    assert not path.exists()


def test_very_small_and_zero_weights_keep_their_values(tool, tmp_path):
    layers(tmp_path / "layers.onnx", scale=2e-39)
    x = np.zeros((1, 5, 6, 6), np.float32)
    for recipe in ("mxint8-weights", "mxfp4-weights", "nvfp4-weights", "bfp16-weights"):
        plain, portable = (with_weights(quantize(tool, tmp_path, recipe, emit)[0]) for emit in ("qdq", "portable"))
        for one, other in zip(Executor(plain).run({"x": x}), Executor(portable).run({"x": x}), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("weights", ["mxint8", "int8 sym block 16"])
def test_weights_in_blocks_beside_integer_activations(tool, tmp_path, weights):
    layers(tmp_path / "layers.onnx")
    np.save(tmp_path / "x.npy", np.random.default_rng(6).standard_normal((2, 5, 6, 6)).astype(np.float32))
    outputs = []
    for emit in ("portable", "qdq", "qoperator"):
        path, _ = quantize(tool, tmp_path, f"global: {{weights: {weights}, activations: int8 asym}}", emit, "--calib",
                           tmp_path / "x.npy")
        outputs.append(Executor(str(path)).run({"x": np.load(tmp_path / "x.npy")})[0])
    np.testing.assert_array_equal(outputs[0], outputs[1])
    np.testing.assert_array_equal(outputs[0], outputs[2])


@pytest.mark.parametrize("recipe", ["mxfp4-weights", "mxfp8-weights", "mxint8-weights"])
def test_the_weights_are_dequantized_by_requantize(tool, tmp_path, recipe):
    layers(tmp_path / "layers.onnx")
    path, _ = quantize(tool, tmp_path, recipe, "qdq")
    run_tool(tool, "quantize", path, "-o", tmp_path / "w8.onnx", "--recipe", "w8", "--requantize")
    model = onnx.load(tmp_path / "w8.onnx")
    constants = {one.name: one for one in model.graph.initializer}
    assert [type_name(constants[node.input[0]]) for node in dequantizers(model)] == ["int8"] * 4
    assert all("block_size" not in [one.name for one in node.attribute] for node in dequantizers(model))


def test_an_empty_blocked_axis_is_kept_by_requantize(tool, tmp_path):
    constants = [helper.make_tensor("quantized", TensorProto.INT8, [0, 4], b"", raw=True),
                 helper.make_tensor("scales", TensorProto.FLOAT, [0, 4], b"", raw=True),
                 numpy_helper.from_array(np.eye(4, dtype=np.float32), "v")]
    nodes = [helper.make_node("DequantizeLinear", ["quantized", "scales"], ["w"], axis=0, block_size=2),
             helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("MatMul", ["h", "v"], ["y"])]
    graph = helper.make_graph(nodes, "empty", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 0])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "empty.onnx")
    run_tool(tool, "quantize", tmp_path / "empty.onnx", "-o", tmp_path / "w8.onnx", "--recipe", "w8", "--requantize")
    output = Executor(str(tmp_path / "w8.onnx")).run({"x": np.zeros((3, 0), np.float32)})[0]
    np.testing.assert_array_equal(output, np.zeros((3, 4), np.float32))
