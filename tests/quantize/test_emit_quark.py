"""Files for AMD Quark's tools: an operator of its library behind every activation, weight and bias."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.quantizing import Executor, run_tool

OPERATORS = {"MXQuantizeDequantize", "BFPQuantizeDequantize", "MXFixNeuron", "BFPFixNeuron"}
MX = {"MXAttributes": {"element_dtype": "int8", "axis": 1, "block_size": 8, "rounding_mode": 2}}


def constant(rng, name, *dims):
    return numpy_helper.from_array(0.2 * rng.standard_normal(dims).astype(np.float32), name)


def network(nodes, initializers, shape, output):
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", shape), ("y", output))]
    graph = helper.make_graph(nodes, "net", ports[:1], ports[1:], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def convolutional():
    rng = np.random.default_rng(5)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"], "relu"),
             helper.make_node("Add", ["r", "c"], ["s"], "add"), helper.make_node("MaxPool", ["s"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Flatten", ["p"], ["f"], "flatten"), helper.make_node("Gemm", ["f", "v", "a"], ["y"], "fc")]
    return network(nodes, [constant(rng, "w", 6, 3, 3, 3), constant(rng, "b", 6), constant(rng, "v", 96, 10), constant(rng, "a", 10)],
                   [1, 3, 8, 8], [1, 10])


def attention():
    rng = np.random.default_rng(6)
    nodes = [helper.make_node("MatMul", ["x", "q"], ["xq"], "query"), helper.make_node("MatMul", ["x", "k"], ["xk"], "key"),
             helper.make_node("Transpose", ["xk"], ["kt"], "turn", perm=[0, 2, 1]), helper.make_node("MatMul", ["xq", "kt"], ["s"], "scores"),
             helper.make_node("Softmax", ["s"], ["p"], "softmax", axis=-1), helper.make_node("MatMul", ["p", "x"], ["y"], "values")]
    return network(nodes, [constant(rng, "q", 24, 20), constant(rng, "k", 24, 20)], [1, 12, 24], [1, 12, 24])


def written(tool, tmp_path, model, recipe, *options):
    onnx.save(model, tmp_path / "net.onnx")
    (tmp_path / "recipe.json").write_text(recipe if isinstance(recipe, str) else json.dumps(recipe))
    run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe.json", "--emit", "quark", *options)
    made = onnx.load(tmp_path / "q.onnx")
    onnx.checker.check_model(made)
    return made


def operators(model):
    """Input name: the attributes of the operator behind it."""
    return {node.input[0]: {one.name: helper.get_attribute_value(one) for one in node.attribute}
            for node in model.graph.node if node.op_type in OPERATORS}


def test_every_float_value_passes_through_one_operator(tool, tmp_path):
    model = written(tool, tmp_path, convolutional(), MX)
    behind = {node.output[0] for node in model.graph.node if node.op_type in OPERATORS}
    others = [node for node in model.graph.node if node.op_type not in OPERATORS]
    assert [node.op_type for node in others] == ["Conv", "Relu", "Add", "MaxPool", "Flatten", "Gemm"]
    assert all(name in behind for node in others for name in node.input)
    assert len(behind) == 11 and model.graph.output[0].name in behind
    stored = {one.name: one for one in model.graph.initializer}
    assert all(one.data_type == TensorProto.FLOAT for one in stored.values()) and {"w", "b", "v", "a"} <= set(stored)


def test_blocks_lie_along_the_sum_of_products(tool, tmp_path):
    axes = {name: one["axis"] for name, one in operators(written(tool, tmp_path, convolutional(), MX)).items()}
    assert (axes["x"], axes["w"], axes["b"], axes["v"], axes["a"]) == (1, 1, 0, 0, 0)
    axes = {name: one["axis"] for name, one in operators(written(tool, tmp_path, attention(), MX)).items()}
    assert (axes["x"], axes["q"], axes["xq"], axes["kt"], axes["p"]) == (-2, 0, -1, -2, -1)


def test_the_domain_of_old_tools_has_old_names(tool, tmp_path):
    model = written(tool, tmp_path, convolutional(), MX, "--domain", "com.vai.quantize")
    assert {node.op_type for node in model.graph.node if node.domain} == {"MXFixNeuron"}
    assert {one.domain: one.version for one in model.opset_import}["com.vai.quantize"] == 1


@pytest.mark.parametrize("recipe, op, attributes", [
    ("global: {weights: mxfp4_e2m1, data_in: mxfp4_e2m1}", "MXQuantizeDequantize", {"element_dtype": b"fp4_e2m1", "block_size": 32, "rounding_mode": 2}),
    ("global: {weights: bfp16, data_in: bfp16}", "BFPQuantizeDequantize", {"bfp_method": b"to_bfp", "bit_width": 16, "block_size": 8}),
    ("global: {weights: mx6, data_in: mx6}", "BFPQuantizeDequantize", {"bfp_method": b"to_bfp_prime", "bit_width": 13, "block_size": 16}),
    ({"BFPAttributes": {"use_compiler_version_cpu_kernel": 1}}, "BFPQuantizeDequantize", {"use_compiler_version_cpu_kernel": 1, "rounding_mode": 0}),
    ({"BFPAttributes": {"bfp_method": "to_bfp_prime", "bit_width": 11, "sub_block_size": 4, "sub_block_shift_bits": 2}}, "BFPQuantizeDequantize",
     {"bit_width": 11, "sub_block_size": 4, "sub_block_shift_bits": 2}),
])
def test_formats_become_attributes(tool, tmp_path, recipe, op, attributes):
    model = written(tool, tmp_path, convolutional(), recipe)
    assert {node.op_type for node in model.graph.node if node.domain} == {op}
    for one in operators(model).values():
        assert {name: one[name] for name in attributes} == attributes


@pytest.mark.parametrize("recipe", [MX, {"BFPAttributes": {}}, {"BFPAttributes": {"bfp_method": "to_bfp_prime", "block_size": 16}}])
def test_the_file_computes_near_the_float_model(tool, tmp_path, recipe):
    for net in (convolutional(), attention()):
        model = written(tool, tmp_path, net, recipe)
        x = np.random.default_rng(1).standard_normal([one.dim_value for one in net.graph.input[0].type.tensor_type.shape.dim]).astype(np.float32)
        [got], [wanted] = Executor(model.SerializeToString()).run({"x": x}), Executor(net.SerializeToString()).run({"x": x})
        assert 0 < np.abs(got - wanted).max() < 0.1 * np.abs(wanted).max()


def test_excluded_nodes_take_what_others_quantized(tool, tmp_path):
    model = written(tool, tmp_path, convolutional(), MX, "--exclude", "fc,Add")
    assert set(operators(model)) == {"x", "w", "b"} | {node.output[0] for node in model.graph.node if node.op_type in ("Conv", "Relu")}


@pytest.mark.parametrize("recipe, options, words", [
    ("global: {weights: int8, data_in: int8}", (), "AMD Quark has no operator for int8"),
    ("global: {weights: nvfp4, data_in: nvfp4}", (), "AMD Quark has no operator for nvfp4"),
    (MX, ("--domain", "com.amd"), "com.vai.quantize"),
    ({"MXAttributes": {"blocksize": 8}}, (), "did you mean 'block_size'"),
])
def test_what_cannot_be_written_is_refused(tool, tmp_path, recipe, options, words):
    onnx.save(convolutional(), tmp_path / "net.onnx")
    (tmp_path / "recipe.json").write_text(recipe if isinstance(recipe, str) else json.dumps(recipe))
    told = run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe.json", "--emit", "quark", *options,
                    code="error").stderr
    assert words in told


def test_a_written_file_is_quantized_already_and_can_be_requantized(tool, tmp_path):
    written(tool, tmp_path, convolutional(), MX)
    again = run_tool(tool, "quantize", tmp_path / "q.onnx", "-o", tmp_path / "again.onnx", "--recipe", "w8")
    assert "quantized already" in again.stdout
    run_tool(tool, "quantize", tmp_path / "q.onnx", "-o", tmp_path / "w8.onnx", "--recipe", "w8", "--requantize")
    assert not [node for node in onnx.load(tmp_path / "w8.onnx").graph.node if node.op_type in OPERATORS]


def test_inspect_names_the_formats(tool, tmp_path):
    written(tool, tmp_path, convolutional(), {"BFPAttributes": {}})
    told = json.loads(run_tool(tool, "inspect", tmp_path / "q.onnx", "--json").stdout)
    assert {one["type"] for one in told["quantized"]} == {"bfp16"}
