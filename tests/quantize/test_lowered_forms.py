"""Lowering of single operators: ONNX's checker accepts it, both runtimes run it, and both are near the float model."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.quantizing import ROOT, decibels, in_anybit, in_onnxruntime, run_tool

MODELS = ROOT / "build" / "models"

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


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(op, outputs, feeds, inputs=("x", "W", "R")):
    gates = GATES[op]
    constants = {"W": array(1, gates * 8, 16), "R": array(1, gates * 8, 8), "B": array(1, gates * 16)}
    layer = node(op, list(inputs), outputs, name="layer", hidden_size=8)
    ranks = {name: 4 if i == 0 else 3 for i, name in enumerate(outputs) if name}
    return model_of([layer], feeds, ranks, {name: one for name, one in constants.items() if name in inputs})


@pytest.mark.parametrize("op", GATES)
def test_every_output_of_a_recurrent_layer_in_float16_is_float32_again(tool, tmp_path, op):
    feeds = {"x": array(5, 2, 16)}
    outputs = ["y", "last", "cell"] if op == "LSTM" else ["y", "last"]
    model = recurrent(op, outputs, feeds, ("x", "W", "R", "B"))
    quantized(tool, tmp_path, model, feeds, "--recipe", "float16", least=50, calib=False)


@pytest.mark.parametrize("op", GATES)
def test_lengths_and_omitted_outputs_are_unchanged_by_float16(tool, tmp_path, op):
    feeds = {"x": array(5, 2, 16), "lengths": np.array([5, 3], np.int32), "first": array(1, 2, 8)}
    model = recurrent(op, ["", "last"], feeds, ("x", "W", "R", "", "lengths", "first"))
    made = quantized(tool, tmp_path, model, feeds, "--recipe", "float16", least=50, calib=False)
    layer = next(one for one in made.graph.node if one.op_type == op)
    assert layer.input[4] == "lengths" and layer.output[0] == ""


def test_a_rule_for_outputs_skips_an_omitted_one(tool, tmp_path):
    config = {"name": "integer", "weight_width": 8, "weight_frac_width": 5, "data_out_width": 12, "data_out_frac_width": 6}
    (tmp_path / "recipe.json").write_text(json.dumps({"by": "type", "default": {"config": config}}))
    feeds = {"x": array(5, 2, 16)}
    model = recurrent("LSTM", ["", "last"], feeds)
    quantized(tool, tmp_path, model, feeds, "--recipe", tmp_path / "recipe.json", least=20, calib=False)


@pytest.mark.parametrize("version", [5, 6])
def test_the_speech_detector_computes_in_float16(tool, tmp_path, version):
    before, after = MODELS / f"silero_vad_v{version}.onnx", tmp_path / "q.onnx"
    run_tool(tool, "quantize", before, "-o", after, "--recipe", "float16")
    wave = (0.1 * np.random.default_rng(1).standard_normal((1, 512))).astype(np.float32)
    feeds = {"input": wave, "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000, np.int64)}
    reference = in_onnxruntime(before, feeds)
    for outputs in (in_onnxruntime(after, feeds), in_anybit(after, feeds)):
        for one, other in zip(reference, outputs, strict=True):
            assert abs(one - other).max() < 0.01


def between_convolutions(nodes, constants=None, opset=17, ir=8):
    """Nodes from a to z, where a is not negative: its zero point is the lowest value."""
    ends = {"w1": array(4, 4, 3, 3), "b1": array(4), "w2": array(3, 4, 1, 1)}
    first = [node("Conv", ["x", "w1", "b1"], ["a0"], name="first"), node("Relu", ["a0"], ["a"], name="relu")]
    return model_of([*first, *nodes, node("Conv", ["z", "w2"], ["y"], name="last")], {"x": array(1, 4, 8, 8)}, {"y": 4},
                    {**ends, **(constants or {})}, opset, ir)


def in_integers(tool, folder, model, recipe="int8", least=25):
    """The operators of the file by input type: "int8", "float32", …"""
    feeds = {"x": array(1, 4, 8, 8)}
    made = quantized(tool, folder, model, feeds, "--recipe", recipe, "--emit", "qoperator", least=least)
    made = onnx.shape_inference.infer_shapes(made, strict_mode=True)
    types = {one.name: one.type.tensor_type.elem_type for one in [*made.graph.value_info, *made.graph.input]}
    return {one.op_type: helper.tensor_dtype_to_np_dtype(types[one.input[0]]).name for one in made.graph.node
            if one.input[0] in types}


EDGES = {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}


@pytest.mark.parametrize("recipe", ["int8", "uint8", "int8-per-tensor"])
@pytest.mark.parametrize("inputs, constants", [
    (["a", "pads"], EDGES),
    (["a", "pads", "value"], {**EDGES, "value": np.array(0, np.float32)}),
    (["a", "pads", "value"], {**EDGES, "value": np.array(0.5, np.float32)}),
    (["a", "pads", "", "axes"], {"pads": np.array([1, 0, 1, 2]), "axes": np.array([2, 3])})],
    ids=["no value", "zero", "a half", "axes"])
def test_quantized_values_are_padded_with_the_quantized_value(tool, tmp_path, inputs, constants, recipe):
    model = between_convolutions([node("Pad", inputs, ["z"], name="pad")], constants, opset=18)
    in_integers(tool, tmp_path, model, recipe)


def test_padding_without_a_value_works_on_quantized_values(tool, tmp_path):
    model = between_convolutions([node("Pad", ["a", "pads"], ["z"], name="pad")], EDGES)
    assert in_integers(tool, tmp_path, model)["Pad"] == "int8"
    assert in_integers(tool, tmp_path, between_convolutions(
        [node("Pad", ["a", "pads"], ["z"], name="pad", mode="reflect")], EDGES))["Pad"] == "int8"


@pytest.mark.parametrize("recipe", ["int8", "uint8"])
@pytest.mark.parametrize("op, inputs, attributes", [("CenterCropPad", ["a", "size"], {"axes": [2, 3]}), ("Trilu", ["a"], {})])
def test_operators_that_add_zeros_take_floats(tool, tmp_path, op, inputs, attributes, recipe):
    model = between_convolutions([node(op, inputs, ["z"], name="mover", **attributes)], {"size": np.array([4, 10])}, opset=18)
    assert in_integers(tool, tmp_path, model, recipe)[op] == "float32"


UNPOOLED = [node("MaxPool", ["a"], ["m", "places"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
            node("MaxUnpool", ["m", "places"], ["z"], name="mover", kernel_shape=[2, 2], strides=[2, 2])]


@pytest.mark.parametrize("recipe", ["int8", "uint8", "int8-per-tensor"])
@pytest.mark.parametrize("op, nodes", [
    ("GlobalMaxPool", [node("GlobalMaxPool", ["a"], ["z"], name="mover")]),
    ("MaxUnpool", UNPOOLED),
    ("Resize", [node("Resize", ["a", "", "scales"], ["z"], name="mover", mode="linear")]),
    ("Resize", [node("Resize", ["a", "", "scales"], ["z"], name="mover", mode="cubic")])],
    ids=["GlobalMaxPool", "MaxUnpool", "linear Resize", "cubic Resize"])
def test_operators_without_8_bit_integers_take_floats(tool, tmp_path, op, nodes, recipe):
    model = between_convolutions(nodes, {"scales": np.array([1, 1, 2, 2], np.float32)})
    least = 10 if op == "MaxUnpool" else 25  # of two values that are nearly the same, the other may be the larger one
    assert in_integers(tool, tmp_path, model, recipe, least)[op] == "float32"


@pytest.mark.parametrize("opset, ir, recipe, type_of_pool", [
    (10, 5, "int8-per-tensor", "float32"), (11, 6, "int8-per-tensor", "float32"), (11, 6, "int8", "int8"),
    (12, 7, "int8-per-tensor", "int8"), (17, 8, "int8", "int8"), (17, 8, "uint8", "uint8")])
def test_pools_take_integers_in_opsets_that_allow_it(tool, tmp_path, opset, ir, recipe, type_of_pool):
    pool = node("MaxPool", ["a"], ["z"], name="pool", kernel_shape=[2, 2])
    assert in_integers(tool, tmp_path, between_convolutions([pool], opset=opset, ir=ir), recipe)["MaxPool"] == type_of_pool


@pytest.mark.parametrize("opset, ir, attributes, type_of_pad", [
    (10, 5, {"pads": [0, 0, 1, 1, 0, 0, 1, 1]}, "float32"), (11, 6, {}, "int8")])
def test_padding_takes_integers_in_opsets_that_allow_it(tool, tmp_path, opset, ir, attributes, type_of_pad):
    pad = node("Pad", ["a"] if attributes else ["a", "pads"], ["z"], name="pad", **attributes)
    model = between_convolutions([pad], {} if attributes else EDGES, opset, ir)
    assert in_integers(tool, tmp_path, model, "int8-per-tensor")["Pad"] == type_of_pad


@pytest.mark.parametrize("op, inputs, attributes", [
    ("Transpose", ["a"], {"perm": [0, 1, 3, 2]}), ("Slice", ["a", "from", "to"], {}), ("Concat", ["a", "a"], {"axis": 2}),
    ("Resize", ["a", "", "scales"], {"mode": "nearest"}), ("Tile", ["a", "times"], {})])
def test_pass_through_operators_take_quantized_values(tool, tmp_path, op, inputs, attributes):
    constants = {"from": np.array([0, 0, 1]), "to": np.array([1, 4, 5]), "scales": np.array([1, 1, 2, 2], np.float32),
                 "times": np.array([1, 1, 2, 1])}
    model = between_convolutions([node(op, inputs, ["z"], name="mover", **attributes)],
                                 {name: one for name, one in constants.items() if name in inputs})
    assert in_integers(tool, tmp_path, model)[op] == "int8"


def test_the_text_classifier_runs_in_integers(tool, tmp_path):
    before, after = MODELS / "ch_ppocr_mobile_v2.0_cls_infer.onnx", tmp_path / "q.onnx"
    image = np.random.default_rng(2).random((2, 3, 48, 192), dtype=np.float32) * 2 - 1
    np.save(tmp_path / "images.npy", image)
    run_tool(tool, "quantize", before, "-o", after, "--recipe", "int8-per-tensor", "--emit", "qoperator", "--calib",
             tmp_path / "images.npy")
    onnx.checker.check_model(onnx.load(after), full_check=True)
    peer, ours = in_onnxruntime(after, {"x": image})[0], in_anybit(after, {"x": image})[0]
    assert peer.shape == ours.shape and decibels(peer, ours) > 30
