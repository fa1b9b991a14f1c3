"""A rule by type or name quantizes the operator that it names, regardless of its neighbors; `io` quantizes graph inputs and outputs;
existing quantization is kept. Everything runs in stock ONNX Runtime."""
import collections

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.quantizing import Executor, net, run_tool

SEED = 11
SHAPE = (2, 4, 8, 8)
# Operator, number of inputs, attributes, constant inputs after them.
OPERATORS = [("Sigmoid", 1, {}, []), ("Tanh", 1, {}, []), ("Softmax", 1, {}, []), ("Relu", 1, {}, []), ("LeakyRelu", 1, {}, []),
             ("HardSwish", 1, {}, []), ("Clip", 1, {}, [np.float32(-1), np.float32(1)]), ("Add", 2, {}, []), ("Sub", 2, {}, []), ("Mul", 2, {}, []),
             ("Min", 2, {}, []), ("Concat", 2, {"axis": 1}, []), ("Slice", 1, {}, [np.array([0]), np.array([2]), np.array([1])]),
             ("Transpose", 1, {"perm": [0, 2, 3, 1]}, []), ("Reshape", 1, {}, [np.array([2, -1])]), ("Split", 1, {"axis": 1}, []),
             ("Pad", 1, {}, [np.array([0, 0, 1, 1, 0, 0, 1, 1])]), ("MaxPool", 1, {"kernel_shape": [2, 2]}, []),
             ("AveragePool", 1, {"kernel_shape": [2, 2]}, []), ("GlobalAveragePool", 1, {}, []), ("ReduceMean", 1, {"axes": [1]}, []),
             ("Resize", 1, {"mode": "nearest"}, [np.zeros(0, np.float32), np.array([1, 1, 2, 2], np.float32)])]


def single(op, count, attributes, constants):
    """A model of one node between its inputs and the model's output."""
    names = [f"x{i}" for i in range(count)]
    held = {f"c{i}": one for i, one in enumerate(constants)}
    node = helper.make_node(op, [*names, *held], ["y"], name="the/node", **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in names],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(one, name) for name, one in held.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def samples_for(model, seed=SEED, count=4):
    rng = np.random.default_rng(seed)
    shapes = {one.name: [d.dim_value or 1 for d in one.type.tensor_type.shape.dim] for one in model.graph.input}
    return [{name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()} for _ in range(count)]


def quantized(tool, folder, model, recipe, samples):
    folder.mkdir()
    onnx.save(model, folder / "float.onnx")
    (folder / "recipe.yaml").write_text(recipe)
    (folder / "calib").mkdir()
    for i, one in enumerate(samples):
        np.savez(folder / "calib" / f"{i}.npz", **one)
    done = run_tool(tool, "quantize", folder / "float.onnx", "-o", folder / "q.onnx", "--recipe", folder / "recipe.yaml", "--calib", folder / "calib")
    return onnx.load(folder / "q.onnx"), done.stdout + done.stderr


def in_onnxruntime(model, feeds, optimised=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def decibels(right, found):
    return 10 * np.log10((right ** 2).sum() / max(((right - found) ** 2).sum(), 1e-30))


def counts(model):
    return collections.Counter(node.op_type.split("_")[0] for node in model.graph.node)


@pytest.mark.parametrize("pattern", ["type", "name"])
@pytest.mark.parametrize("case", OPERATORS, ids=lambda case: case[0])
def test_an_operator_that_a_rule_names_is_quantized(tool, case, pattern, tmp_path):
    model = single(*case)
    samples = samples_for(model)
    rule = f"{pattern}: {{{case[0] if pattern == 'type' else 'the/node'}: {{activations: int8 asym}}}}"
    made, _ = quantized(tool, tmp_path / "q", model, rule, samples)
    assert counts(made)["QuantizeLinear"] == case[1] + 1  # each input, and the output
    right, ours = in_onnxruntime(model, samples[0])[0], Executor(made).run(samples[0])[0]
    assert decibels(right, ours) > 20
    for optimised in (True, False):
        found = in_onnxruntime(made, samples[0], optimised)[0]
        assert decibels(right, found) > 20 and np.abs(found - ours).max() <= np.abs(right).max() * 2.5 / 255


@pytest.mark.parametrize("words", ["fp8_e4m3 minmax", "mxfp8_e4m3"])
@pytest.mark.parametrize("case", OPERATORS, ids=lambda case: case[0])
def test_in_any_format(tool, case, words, tmp_path):
    model = single(*case)
    samples = samples_for(model)
    made, _ = quantized(tool, tmp_path / "q", model, f"type: {{{case[0]}: {{activations: {words}}}}}", samples)
    assert counts(made)["QuantizeLinear"] + counts(made)["QuantizeDequantize"] >= 1
    right = in_onnxruntime(model, samples[0])[0]
    for optimised in (True, False):
        assert decibels(right, in_onnxruntime(made, samples[0], optimised)[0]) > 15


def test_operators_between_q_and_dq_get_no_pair_of_their_own(tool, tmp_path):
    samples = samples_for(net())
    without, _ = quantized(tool, tmp_path / "without", net(), "global: int8", samples)
    named, _ = quantized(tool, tmp_path / "named", net(), "{global: int8, type: {Relu: {activations: int8 asym}}}", samples)
    assert counts(named) == counts(without)


@pytest.mark.parametrize("words,op", [("int8 asym", "QuantizeLinear"), ("fp8_e4m3 minmax", "QuantizeLinear"), ("mxfp8_e4m3", "QuantizeDequantize")])
def test_a_rule_for_inputs_and_outputs_quantizes_them(tool, words, op, tmp_path):
    model = single("Exp", 1, {}, [])  # stays in float
    samples = samples_for(model)
    made, _ = quantized(tool, tmp_path / "q", model, f"io: {{activations: {words}}}", samples)
    assert counts(made)[op] == 2
    right = in_onnxruntime(model, samples[0])[0]
    assert decibels(right, in_onnxruntime(made, samples[0])[0]) > 12
    for part, count in (("data_in", 1), ("data_out", 1)):
        made, _ = quantized(tool, tmp_path / part, model, f"io: {{{part}: {words}}}", samples)
        assert counts(made)[op] == count


def test_values_that_leave_a_branch_are_quantized(tool, tmp_path):
    rng = np.random.default_rng(SEED)

    def branch(i):
        w = numpy_helper.from_array(rng.standard_normal((4, 3, 3, 3)).astype(np.float32), f"w{i}")
        return helper.make_graph([helper.make_node("Conv", ["x", f"w{i}"], [f"o{i}"], name=f"conv{i}")], f"branch{i}", [],
                                 [helper.make_tensor_value_info(f"o{i}", TensorProto.FLOAT, None)], [w])

    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", "zero"], ["yes"]),
             helper.make_node("If", ["yes"], ["y"], name="choice", then_branch=branch(0), else_branch=branch(1)), helper.make_node("Sigmoid", ["y"], ["z"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)], [numpy_helper.from_array(np.float32(0), "zero")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    samples = samples_for(model, count=8)
    made, _ = quantized(tool, tmp_path / "q", model, "{global: int8, type: {Sigmoid: {activations: int8 asym}}}", samples)
    assert counts(made)["QuantizeLinear"] == 2
    inner = [attribute.g for node in made.graph.node if node.op_type == "If" for attribute in node.attribute]
    assert [collections.Counter(node.op_type for node in one.node)["QuantizeLinear"] for one in inner] == [2, 2]
    for sample in samples[:4]:
        assert decibels(in_onnxruntime(model, sample)[0], in_onnxruntime(made, sample, optimised=False)[0]) > 30


def test_existing_quantization_is_kept_and_the_rest_is_quantized(tool, tmp_path):
    samples = samples_for(net())
    part, _ = quantized(tool, tmp_path / "part", net(), "{global: float, name: {stem/conv: int8}}", samples)
    whole, said = quantized(tool, tmp_path / "whole", part, "global: int8", samples)
    assert "part of the model is quantized already" in said
    before = {one.name: one for one in part.graph.initializer if one.data_type == TensorProto.INT8 and one.dims}
    after = {one.name: one for one in whole.graph.initializer}
    assert before and all(after[name] == one for name, one in before.items())
    assert counts(whole)["QuantizeLinear"] == counts(quantized(tool, tmp_path / "int8", net(), "global: int8", samples)[0])["QuantizeLinear"]
    # Its optimised int8 products may saturate on a CPU without VNNI: weights that were there already have no bound.
    assert decibels(in_onnxruntime(net(), samples[0])[0], in_onnxruntime(whole, samples[0], optimised=False)[0]) > 30
    again, said = quantized(tool, tmp_path / "again", whole, "global: int8", samples)
    assert "the model is quantized already" in said and again == whole


def test_weights_that_are_quantized_already_take_quantized_activations(tool, tmp_path):
    samples = samples_for(net())
    weights, _ = quantized(tool, tmp_path / "w8", net(), "global: w8", samples)
    whole, _ = quantized(tool, tmp_path / "int8", weights, "global: int8", samples)
    assert counts(whole)["QuantizeLinear"] >= 6
    # Its optimised int8 products may saturate on a CPU without VNNI: weights that were there already have no bound.
    assert decibels(in_onnxruntime(net(), samples[0])[0], in_onnxruntime(whole, samples[0], optimised=False)[0]) > 30
