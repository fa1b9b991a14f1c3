"""Attention masks of -Inf or large negative numbers: they stay in float, and calibration accepts them."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.quantizing import decibels, in_anybit, in_onnxruntime, ops, report_of, run_tool

LOWEST = float(np.finfo(np.float32).min)
WIDTH, LENGTH = 16, 6


def attention(path, kind, hidden):
    """One head; `kind`: how the mask is added to the scores."""
    rng = np.random.default_rng(3)
    node = helper.make_node
    constants = {name: (rng.standard_normal((WIDTH, WIDTH)) / 4).astype(np.float32) for name in ("wq", "wk", "wv", "wo")}
    constants |= {"scale": np.float32(0.25), "zero": np.float32(0), "one": np.float32(1), "hidden": np.float32(hidden)}
    masking = {
        "sum": [node("Cast", ["keep"], ["kept"], to=TensorProto.BOOL),
                node("Where", ["kept", "zero", "hidden"], ["mask"], name="mask"),
                node("Add", ["scaled", "mask"], ["masked"], name="add")],
        "moved": [node("Cast", ["keep"], ["kept"], to=TensorProto.BOOL), node("Where", ["kept", "zero", "hidden"], ["all"], name="mask"),
                  node("Compress", ["all", "each"], ["mask"], axis=2), node("Add", ["scaled", "mask"], ["masked"], name="add")],
        "factor": [node("Cast", ["keep"], ["kept"], to=TensorProto.FLOAT), node("Sub", ["one", "kept"], ["hide"]),
                   node("Mul", ["hide", "hidden"], ["mask"], name="mask"),
                   node("Add", ["scaled", "mask"], ["masked"], name="add")],
        "choice": [node("Cast", ["keep"], ["kept"], to=TensorProto.BOOL),
                   node("Where", ["kept", "scaled", "hidden"], ["masked"], name="mask")],
        "row": [node("Add", ["scores", "causal"], ["masked"], name="add")],
        "constant": [node("Add", ["scaled", "causal"], ["masked"], name="add")]}[kind]
    if kind == "row":  # as a bias would be
        constants["causal"] = np.array([0] * (LENGTH - 1) + [hidden], np.float32)
    if kind == "moved":
        constants["each"] = np.ones(LENGTH, bool)
    if kind == "constant":
        constants["causal"] = np.triu(np.full((LENGTH, LENGTH), hidden, np.float32), 1)
    nodes = [node("MatMul", ["x", "wq"], ["q"]), node("MatMul", ["x", "wk"], ["k"]), node("MatMul", ["x", "wv"], ["v"]),
             node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]), node("MatMul", ["q", "kt"], ["scores"], name="scores"),
             node("Mul", ["scores", "scale"], ["scaled"], name="scaled"), *masking,
             node("Softmax", ["masked"], ["weights"], name="softmax", axis=-1),
             node("MatMul", ["weights", "v"], ["mixed"]), node("MatMul", ["mixed", "wo"], ["y"])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "net", [value("x", TensorProto.FLOAT, ["n", LENGTH, WIDTH]), value("keep", TensorProto.INT64, ["n", 1, LENGTH])],
        [value("y", TensorProto.FLOAT, ["n", LENGTH, WIDTH])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def samples(folder, count=8):
    folder.mkdir()
    rng = np.random.default_rng(4)
    for i in range(count):
        keep = (np.arange(LENGTH) < rng.integers(2, LENGTH + 1)).astype(np.int64).reshape(1, 1, LENGTH)
        np.savez(folder / f"{i}.npz", x=rng.standard_normal((1, LENGTH, WIDTH)).astype(np.float32), keep=keep)
    return dict(np.load(folder / "0.npz"))


KINDS = [("constant", -1e4), ("choice", -1e4), ("constant", -1e9), ("choice", -1e9), ("row", -65504.0), ("sum", -np.inf), ("sum", LOWEST), ("moved", LOWEST), ("factor", LOWEST), ("choice", -np.inf), ("constant", -np.inf), ("row", LOWEST)]


@pytest.mark.parametrize("kind, hidden", KINDS)
@pytest.mark.parametrize("recipe", ["int8", "{global: int8, type: {MatMul: int8, Add: int8, Where: int8, Softmax: int8}}"])
def test_the_mask_and_the_masked_scores_stay_in_float(tool, tmp_path, kind, hidden, recipe):
    path, made = tmp_path / "net.onnx", tmp_path / "net.q.onnx"
    attention(path, kind, hidden)
    feeds = samples(tmp_path / "data")
    if recipe.startswith("{"):
        (tmp_path / "recipe.yaml").write_text(recipe)
        recipe = tmp_path / "recipe.yaml"
    report = report_of(run_tool(tool, "quantize", path, "-o", made, "--recipe", recipe, "--calib", tmp_path / "data", "--json"))
    outcomes = {one["name"]: one["outcome"] for one in report["nodes"]}
    assert {outcomes[name] for name in ("mask", "add", "softmax") if name in outcomes} == {"float"}
    assert all(one["low"] > -1e3 for one in report["tensors"])
    assert sum(outcome == "quantized" for outcome in outcomes.values()) >= 5
    if not isinstance(recipe, str):
        assert any(line.startswith("Softmax: its values include a mask") for line in report["remarks"])
    reference, peer, ours = in_onnxruntime(path, feeds)[0], in_onnxruntime(made, feeds)[0], in_anybit(made, feeds)[0]
    assert decibels(reference, peer) > 25 and decibels(reference, ours) > 25 and decibels(peer, ours) > 40
    assert "QuantizeLinear" in ops(onnx.load(made))


@pytest.mark.parametrize("kind, hidden", KINDS)
def test_calibration_counts_masked_values_and_continues(tool, tmp_path, kind, hidden):
    attention(tmp_path / "net.onnx", kind, hidden)
    samples(tmp_path / "data")
    run_tool(tool, "calibrate", tmp_path / "net.onnx", "--data", tmp_path / "data", "-o", tmp_path / "ranges.json")


@pytest.mark.parametrize("bad, place", [(np.inf, "'x'"), (np.nan, "'x'")])
def test_other_nan_and_infinity_are_an_error_with_sample_and_value(tool, tmp_path, bad, place):
    attention(tmp_path / "net.onnx", "sum", -np.inf)
    feeds = samples(tmp_path / "data")
    feeds["x"][0, 1, 2] = bad
    np.savez(tmp_path / "data" / "3.npz", **feeds)
    for command in (["calibrate", tmp_path / "net.onnx", "--data", tmp_path / "data", "-o", tmp_path / "ranges.json"],
                    ["quantize", tmp_path / "net.onnx", "-o", tmp_path / "net.q.onnx", "--calib", tmp_path / "data"]):
        said = run_tool(tool, *command, code="error").stderr
        assert "3.npz" in said and place in said


def test_positive_infinity_is_not_a_mask(tool, tmp_path):
    attention(tmp_path / "net.onnx", "sum", -np.inf)
    model = onnx.load(tmp_path / "net.onnx")
    zero = next(one for one in model.graph.initializer if one.name == "zero")
    zero.CopyFrom(numpy_helper.from_array(np.float32(np.inf), "zero"))
    onnx.save(model, tmp_path / "net.onnx")
    samples(tmp_path / "data")
    said = run_tool(tool, "calibrate", tmp_path / "net.onnx", "--data", tmp_path / "data", "-o", tmp_path / "ranges.json",
                    code="error").stderr
    assert "'mask'" in said and "sample 0" in said
