"""Recurrent and attention layers with dynamic quantization."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.quantizing import decibels, in_anybit, in_onnxruntime, ops, report_of, run_tool

MICROSOFT = "com.microsoft"
SEEDS = range(4)


def saved(path, nodes, inputs, constants, outputs=(("y", 3),), opset=17):
    """`outputs`: names and ranks."""
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}{i}" for i in range(rank)])
         for name, rank in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()])
    imports = [helper.make_opsetid("", opset)]
    if any(node.domain == MICROSOFT for node in nodes):
        imports.append(helper.make_opsetid(MICROSOFT, 1))
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)


def gates(rng, *shape):
    """Weights whose rows and directions differ in magnitude."""
    spread = rng.uniform(0.2, 2, (*shape[:2], 1)) * np.arange(1, shape[0] + 1)[:, None, None]
    return (rng.standard_normal(shape) * spread / np.sqrt(shape[2])).astype(np.float32)


def recurrent(path, seed, op="LSTM", direction="bidirectional", **attributes):
    """A recurrent layer and a MatMul behind its last state."""
    rng = np.random.default_rng(seed)
    count = {"LSTM": 4, "GRU": 3}[op]
    directions, hidden, width, batch, steps = 2 if direction == "bidirectional" else 1, 24, 20, 3, 7
    constants = {"w": gates(rng, directions, count * hidden, width),
                 "r": gates(rng, directions, count * hidden, hidden),
                 "b": (rng.standard_normal((directions, 2 * count * hidden)) * 0.2).astype(np.float32),
                 "m": rng.standard_normal((hidden, 5)).astype(np.float32)}
    nodes = [helper.make_node(op, ["x", "w", "r", "b"], ["all", "last"], name="layer", hidden_size=hidden,
                              direction=direction, **attributes),
             helper.make_node("MatMul", ["last", "m"], ["y"], name="head")]
    shape = [batch, steps, width] if attributes.get("layout") else [steps, batch, width]
    saved(path, nodes, [("x", TensorProto.FLOAT, shape)], constants, (("y", 3), ("all", 4)))
    return {"x": rng.standard_normal(shape).astype(np.float32)}


def attention(path, seed, inputs=("x", "w", "b"), **attributes):
    rng = np.random.default_rng(seed)
    width, heads, batch, length = 16, 4, 2, 6
    total = length + (3 if "past" in inputs else 0)
    kinds = {"x": (TensorProto.FLOAT, [batch, length, width]), "mask": (TensorProto.INT32, [batch, total]),
             "past": (TensorProto.FLOAT, [2, batch, heads, 3, width // heads])}
    values = {"x": rng.standard_normal((batch, length, width)).astype(np.float32),
              "mask": (np.arange(total) < np.array([[total - 2], [total]])).astype(np.int32),
              "past": rng.standard_normal((2, batch, heads, 3, width // heads)).astype(np.float32)}
    spread = rng.uniform(0.2, 1.5, 3 * width) / np.sqrt(width)
    constants = {"w": (rng.standard_normal((width, 3 * width)) * spread).astype(np.float32),
                 "b": (rng.standard_normal(3 * width) * 0.3).astype(np.float32)}
    used = [name for name in inputs if name in kinds]
    outputs = ["y", "present"] if "past" in used else ["y"]
    node = helper.make_node("Attention", list(inputs), outputs, name="layer", domain=MICROSOFT, num_heads=heads,
                            **attributes)
    saved(path, [node], [(name, *kinds[name]) for name in used],
          {name: array for name, array in constants.items() if name in inputs}, list(zip(outputs, (3, 5))))
    return {name: values[name] for name in used}


def quantize(tool, path, *arguments, code=0):
    return run_tool(tool, "quantize", path, "-o", path.with_suffix(".q.onnx"), *arguments, code=code)


def check(path, feeds, least=25):
    """Both runtimes are near the float model, and nearer to each other; returns the operators.

    One thread: ONNX Runtime's threads share the batch of an LSTM, and each finds a range for its part of the states.
    """
    result = path.with_suffix(".q.onnx")
    for float_, peer, ours in zip(in_onnxruntime(path, feeds), in_onnxruntime(result, feeds, threads=1),
                                  in_anybit(result, feeds)):
        assert decibels(float_, peer) > least and decibels(float_, ours) > least
        assert decibels(peer, ours) > 40
    onnx.checker.check_model(onnx.load(result))
    return ops(onnx.load(result))


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("seed", SEEDS)
def test_lstm_quantizes_its_input_and_state(tool, tmp_path, seed, direction):
    path = tmp_path / "net.onnx"
    feeds = recurrent(path, seed, direction=direction)
    report = report_of(quantize(tool, path, "--dynamic", "--json"))
    assert "DynamicQuantizeLSTM" in check(path, feeds)
    assert [one["outcome"] for one in report["nodes"] if one["op"] == "LSTM"] == ["dynamic"]
    before, after = (sum(one[key] for one in report["weights"]) for key in ("bytes_before", "bytes_after"))
    assert before > 3 * after


@pytest.mark.parametrize("how", ["asymActivation,asymWeight", "asymActivation,symWeight"])
def test_lstm_in_all_supported_forms(tool, tmp_path, how):
    path = tmp_path / "net.onnx"
    feeds = recurrent(path, 5)
    quantize(tool, path, f"--dynamic={how}")
    assert "DynamicQuantizeLSTM" in check(path, feeds)


@pytest.mark.parametrize("arguments, options", [({"layout": 1}, "--dynamic"), ({}, "--dynamic=symActivation")])
def test_an_unsupported_lstm_has_quantized_weights_and_a_reason(tool, tmp_path, arguments, options):
    path = tmp_path / "net.onnx"
    feeds = recurrent(path, 6, **arguments)
    report = report_of(quantize(tool, path, options, "--json"))
    [layer] = [one for one in report["nodes"] if one["op"] == "LSTM"]
    assert layer["outcome"] == "weights only" and "DynamicQuantizeLSTM" in layer["reason"]
    result = path.with_suffix(".q.onnx")
    assert "LSTM" in ops(onnx.load(result))
    if "layout" not in arguments:  # ONNX Runtime has no layout 1
        check(path, feeds)


def test_lstm_with_lengths_states_and_peepholes(tool, tmp_path):
    path = tmp_path / "net.onnx"
    rng = np.random.default_rng(7)
    hidden, width, batch, steps = 8, 5, 3, 6
    constants = {"w": gates(rng, 1, 4 * hidden, width), "r": gates(rng, 1, 4 * hidden, hidden),
                 "p": (rng.standard_normal((1, 3 * hidden)) * 0.2).astype(np.float32)}
    node = helper.make_node("LSTM", ["x", "w", "r", "", "lengths", "h", "c", "p"], ["y"], hidden_size=hidden, clip=3.0)
    saved(path, [node], [("x", TensorProto.FLOAT, [steps, batch, width]), ("lengths", TensorProto.INT32, [batch]),
                         ("h", TensorProto.FLOAT, [1, batch, hidden]), ("c", TensorProto.FLOAT, [1, batch, hidden])],
          constants, [("y", 4)])
    feeds = {"x": rng.standard_normal((steps, batch, width)).astype(np.float32),
             "lengths": np.array([6, 3, 5], np.int32),
             "h": rng.standard_normal((1, batch, hidden)).astype(np.float32),
             "c": rng.standard_normal((1, batch, hidden)).astype(np.float32)}
    quantize(tool, path, "--dynamic")
    assert check(path, feeds) == ["DynamicQuantizeLSTM"]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("inputs", [("x", "w", "b"), ("x", "w", "b", "mask"), ("x", "w", "b", "mask", "past")])
def test_attention_becomes_its_quantized_form(tool, tmp_path, seed, inputs):
    path = tmp_path / "net.onnx"
    feeds = attention(path, seed, inputs)
    quantize(tool, path, "--dynamic", "--op-types", "Attention")
    assert check(path, feeds) == ["DynamicQuantizeLinear", "QAttention"]


@pytest.mark.parametrize("how", ["symActivation,symWeight", "symActivation,asymWeight", "asymActivation,asymWeight"])
def test_attention_in_all_combinations(tool, tmp_path, how):
    path = tmp_path / "net.onnx"
    feeds = attention(path, 9, unidirectional=1, scale=0.4)
    quantize(tool, path, f"--dynamic={how}")
    assert "QAttention" in check(path, feeds)


def test_an_unsupported_attention_has_quantized_weights_and_a_reason(tool, tmp_path):
    path = tmp_path / "net.onnx"
    feeds = attention(path, 10, qkv_hidden_sizes=[16, 16, 16])
    report = report_of(quantize(tool, path, "--dynamic", "--json"))
    assert check(path, feeds) == ["DequantizeLinear", "Attention"]
    assert "qkv_hidden_sizes" in report["nodes"][0]["reason"]


def test_gru_by_name_has_quantized_weights_and_a_remark(tool, tmp_path):
    path = tmp_path / "net.onnx"
    feeds = recurrent(path, 11, "GRU")
    report = report_of(quantize(tool, path, "--dynamic", "--op-types", "GRU", "--json"))
    assert "GRU" in check(path, feeds) and "DequantizeLinear" in ops(onnx.load(path.with_suffix(".q.onnx")))
    assert any(line.startswith("GRU: ") and "only its weights" in line for line in report["remarks"])


def test_attention_without_weights_stays_in_float_and_its_neighbors_do_not(tool, tmp_path):
    path = tmp_path / "net.onnx"
    rng = np.random.default_rng(12)
    constants = {name: (rng.standard_normal((16, 16)) / 4).astype(np.float32) for name in "qkvo"}
    node = helper.make_node
    nodes = [*(node("MatMul", ["x", name], ["x" + name]) for name in "qkv"),
             node("Attention", ["xq", "xk", "xv"], ["a"], name="layer", q_num_heads=4, kv_num_heads=4),
             node("MatMul", ["a", "o"], ["y"])]
    saved(path, nodes, [("x", TensorProto.FLOAT, [2, 5, 16])], constants, opset=23)
    report = report_of(quantize(tool, path, "--dynamic", "--json"))
    written = check(path, {"x": rng.standard_normal((2, 5, 16)).astype(np.float32)})
    assert written.count("MatMulInteger") == 4 and "Attention" in written
    [layer] = [one for one in report["nodes"] if one["op"] == "Attention"]
    assert layer["outcome"] == "float" and layer["reason"]


def test_a_type_without_weights_cannot_be_dynamic(tool, tmp_path):
    path = tmp_path / "net.onnx"
    recurrent(path, 13)
    done = quantize(tool, path, "--dynamic", "--op-types", "MatMul,Softmax", code="error")
    assert "Softmax has no weights" in done.stderr and "LSTM" in done.stderr
    assert not path.with_suffix(".q.onnx").exists()


def test_a_quantized_layer_passes_through(tool, tmp_path):
    path = tmp_path / "net.onnx"
    recurrent(path, 14)
    quantize(tool, path, "--dynamic")
    once = path.with_suffix(".q.onnx")
    report = report_of(quantize(tool, once, "--dynamic", "--json"))
    assert ops(onnx.load(once.with_suffix(".q.onnx"))) == ops(onnx.load(once))
    assert any("quantized already" in line for line in report["remarks"])
