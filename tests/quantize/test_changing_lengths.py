"""Models whose lengths depend on the data, and models that draw random numbers: calibrated, quantized, compared."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(7)


def weights(name, *shape):
    return numpy_helper.from_array((RNG.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32), name)


def saved(path, nodes, inputs, outputs, constants):
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def quantized(anybit, model, data, *words, recipe="int8"):
    output = model.parent / "q.onnx"
    done = anybit("quantize", model, "-r", recipe, "--calib", data, "-o", output, *words)
    return output, done.stdout


@pytest.fixture
def samples(tmp_path):
    """Of different lengths."""
    folder = tmp_path / "data"
    folder.mkdir()
    for i, length in enumerate([5, 9, 5, 12, 7, 9, 3, 10]):
        np.save(folder / f"{i}.npy", RNG.normal(size=(1, length, 16)).astype(np.float32))
    return folder


@pytest.fixture
def choosing(tmp_path):
    """A MatMul whose rows with a positive sum are kept: their number depends on the data and on rounding."""
    return saved(tmp_path / "m.onnx", [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("ReduceSum", ["h", "others"], ["sums"], keepdims=0),
        helper.make_node("Greater", ["sums", "zero"], ["chosen"]), helper.make_node("Compress", ["h", "chosen"], ["rows"], axis=1),
        helper.make_node("MatMul", ["rows", "v"], ["y"], name="second"),
        helper.make_node("Softmax", ["h"], ["all"])],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "n", 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, "m", 8]),
         helper.make_tensor_value_info("all", TensorProto.FLOAT, [1, "n", 16])],
        [weights("w", 16, 16), weights("v", 16, 8), numpy_helper.from_array(np.array([0, 2]), "others"),
         numpy_helper.from_array(np.float32(0), "zero")])


def test_different_lengths_are_reported_and_the_rest_is_compared(anybit, choosing, samples, tmp_path):
    # Two bits move the sums enough: the first output has other lengths, the second is compared on all samples.
    recipe = tmp_path / "coarse.yaml"
    recipe.write_text("global: {weights: int2 sym channel, activations: float}\n")
    output, text = quantized(anybit, choosing, samples, "--evaluate", recipe=recipe)
    assert output.exists() and "samples are not compared: the models give different shapes, float32[" in text
    said = json.loads(anybit("compare", choosing, output, "--data", samples, "--json").stdout)
    rows, whole = said["outputs"]
    assert 0 < rows["skipped_samples"] <= 8 and whole["skipped_samples"] == 0
    assert whole["count"] == 60 * 16 and whole["sqnr_db"] < 60
    assert any(remark.startswith("output 'y': ") for remark in said["remarks"])
    assert "h" in {layer["name"] for layer in said["layers"]}


def test_samples_of_different_lengths_calibrate(anybit, choosing, samples):
    output, _ = quantized(anybit, choosing, samples)
    said = json.loads(anybit("compare", choosing, output, "--data", samples, "--json").stdout)
    assert said["samples"] == 8 and said["outputs"][1]["sqnr_db"] > 25


def noisy(path, op, named):
    """Random values through a MatMul: different ones in the two models would give 0 dB."""
    attributes = {"name": "noise"} if named else {}
    nodes = [helper.make_node(op, ["x"], ["noise"], **attributes), helper.make_node("Add", ["x", "noise"], ["sum"]),
             helper.make_node("MatMul", ["sum", "w"], ["h"]), helper.make_node(op, ["h"], ["more"]),
             helper.make_node("Add", ["h", "more"], ["mixed"]), helper.make_node("MatMul", ["mixed", "v"], ["y"])]
    return saved(path, nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "n", 16])],
                 [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, "n", 8])], [weights("w", 16, 16), weights("v", 16, 8)])


@pytest.mark.parametrize("op", ["RandomNormalLike", "RandomUniformLike"])
@pytest.mark.parametrize("named", [True, False])
def test_random_values_are_the_same_in_both_models(anybit, tmp_path, samples, op, named):
    model = noisy(tmp_path / "m.onnx", op, named)
    output, _ = quantized(anybit, model, samples)
    said = json.loads(anybit("compare", model, output, "--data", samples, "--json").stdout)
    assert said["outputs"][0]["sqnr_db"] > 25
    layers = {layer["name"]: layer["sqnr_db"] for layer in said["layers"]}
    assert layers["noise"] > 25 and layers["more"] > 25


def test_calibrating_with_random_operators_is_repeatable_and_running_is_not(anybit, tmp_path, samples):
    model = noisy(tmp_path / "m.onnx", "RandomNormalLike", True)
    ranges = []
    for i, threads in enumerate((1, 2)):
        done = anybit("calibrate", model, "--data", samples, "-o", tmp_path / f"{i}.json", "--threads", threads)
        ranges.append(json.loads((tmp_path / f"{i}.json").read_text())["tensors"])
    assert ranges[0] == ranges[1]
    for name in ("a", "b"):
        anybit("run", model, "--input", f"x={samples / '0.npy'}", "-o", tmp_path / name)
    assert not np.array_equal(np.load(tmp_path / "a/y.npy"), np.load(tmp_path / "b/y.npy"))


def test_every_iteration_of_a_loop_is_compared_with_the_same_one(anybit, tmp_path):
    """The values of iterations differ a lot: comparing different ones would show it."""
    body = helper.make_graph(
        [helper.make_node("MatMul", ["state", "w"], ["inner"]), helper.make_node("Add", ["inner", "inner"], ["next"]),
         helper.make_node("Identity", ["go"], ["on"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("state", TensorProto.FLOAT, [1, 16])],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, [1, 16])])
    model = saved(tmp_path / "m.onnx", [helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)],
                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16])],
                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16])],
                  [weights("w", 16, 16), numpy_helper.from_array(np.array(4), "count")])
    np.save(tmp_path / "x.npy", RNG.normal(size=(1, 16)).astype(np.float32))
    said = json.loads(anybit("compare", model, model, "--data", tmp_path / "x.npy", "--json").stdout)
    inner = next(layer for layer in said["layers"] if layer["name"] == "inner")
    assert inner["count"] == 4 * 16 and inner["sqnr_db"] == 200


def test_a_model_that_fails_on_a_sample_is_compared_on_the_others(anybit, choosing, samples, tmp_path):
    """The second model needs a fourth row, which one sample has not: which is reported and is not an error."""
    model = onnx.load(choosing)
    nodes = [helper.make_node("Gather", ["x", "fourth"], ["row"], axis=1), helper.make_node("Mul", ["row", "zero"], ["nothing"]),
             helper.make_node("Add", ["x", "nothing"], ["same"]), *model.graph.node]
    nodes[3].input[0] = "same"
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.append(numpy_helper.from_array(np.array([3]), "fourth"))
    onnx.save(model, tmp_path / "other.onnx")
    said = json.loads(anybit("compare", choosing, tmp_path / "other.onnx", "--data", samples, "--json").stdout)
    assert "fails for 1 of 8 samples" in said["remarks"][0] and "Gather" in said["remarks"][0]
    assert [(one["skipped_samples"], one["sqnr_db"]) for one in said["outputs"]] == [(1, 200), (1, 200)]
