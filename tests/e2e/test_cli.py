"""The command line: exit codes, messages, and `anybit inspect` on real and quantized models."""

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from support.inspecting import graphs_of, inspect

ROOT = Path(__file__).resolve().parents[2]
REAL = sorted((ROOT / "build/models").glob("*.onnx"))
KEYS = {"path", "file_bytes", "ir_version", "model_version", "producer", "producer_version", "domain", "graph_name",
        "doc", "opsets", "metadata", "inputs", "outputs", "parameters", "macs", "node_count", "operators", "quantized",
        "subgraphs", "functions", "data_files", "training", "problems", "nodes"}


@pytest.fixture(scope="module")
def anybit(tool):
    def run(*arguments, **more):
        return subprocess.run([tool("anybit"), *map(str, arguments)], capture_output=True, text=True, **more)
    return run


@pytest.fixture(scope="module")
def float_model(tmp_path_factory):
    """Conv, Relu, global pool, Flatten, Gemm: 3×8×3×3 + 8 and 8×4 + 4 parameters."""
    random = np.random.default_rng(1)
    constants = {"w": random.normal(size=(8, 3, 3, 3)), "b": random.normal(size=8), "v": random.normal(size=(8, 4)),
                 "c": random.normal(size=4)}
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv", pads=[1, 1, 1, 1]),
         helper.make_node("Relu", ["y"], ["z"], name="relu"),
         helper.make_node("GlobalAveragePool", ["z"], ["p"], name="pool"),
         helper.make_node("Flatten", ["p"], ["f"], name="flatten"),
         helper.make_node("Gemm", ["f", "v", "c"], ["out"], name="head")],
        "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 16, 16])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch", 4])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items()])
    path = tmp_path_factory.mktemp("cli") / "float.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9, producer_name="tests")
    model.metadata_props.add(key="task", value="none")
    onnx.save(model, path)
    return path


class Samples(CalibrationDataReader):
    def __init__(self):
        random = np.random.default_rng(2)
        self.left = [{"x": random.normal(size=(1, 3, 16, 16)).astype(np.float32)} for _ in range(4)]

    def get_next(self):
        return self.left.pop() if self.left else None


def rows(said, **wanted):
    return [row for row in said["quantized"] if all(row[key] == value for key, value in wanted.items())]


def test_help_lists_the_commands_and_a_command_its_options(anybit):
    assert "inspect" in anybit("--help").stdout
    assert anybit("help", "inspect").stdout == anybit("inspect", "--help").stdout
    assert "--input-shape" in anybit("help", "inspect").stdout


def test_the_version_shows_number_and_build(anybit):
    done = anybit("--version")
    assert done.returncode == 0
    assert re.match(r"anybit \d+\.\d+\.\d+ \(.*\)\n$", done.stdout)


@pytest.mark.parametrize("arguments, message, hint", [
    (["inspct", "m.onnx"], "unknown command 'inspct'", "did you mean 'inspect'?"),
    (["help", "inspet"], "unknown command 'inspet'", "did you mean 'inspect'?"),
    (["inspect", "m.onnx", "--node"], "unknown option '--node'", "did you mean '--nodes'?"),
    (["inspect", "m.onnx", "--input-shap=x=1"], "unknown option '--input-shap'", "did you mean '--input-shape'?"),
    (["inspect"], "MODEL is required", "anybit inspect --help"),
    (["inspect", "m.onnx", "other.onnx"], "unknown argument 'other.onnx'", "anybit inspect --help"),
    (["inspect", "m.onnx", "--input-shape", "x=1,a"], "--input-shape: cannot read 'x=1,a'", "x=1,3,640,640"),
    (["inspect", "m.onnx", "--input-shape", "x=1,"], "--input-shape: cannot read 'x=1,'", "x=1,3,640,640"),
    (["inspect", "m.onnx", "--dim", "n"], "--dim: cannot read 'n'", "batch=8"),
    (["inspect", "m.onnx", "--dim", "n=1", "--dim", "n=2"], "--dim: 'n' is given twice", "once"),
    (["inspect", "m.onnx", "--input-shape", "x=1", "--input-shape", "x=2"], "--input-shape: 'x' is given twice", "once"),
    (["quantize", "m.onnx", "-o", "q.onnx", "--seed", "-1"], "--seed", "anybit quantize --help"),
    (["convert", "x.npy", "-f", "int8", "-o", "y.npz", "--seed", "-1"], "--seed", "anybit convert --help"),
    (["compare", "a.onnx", "b.onnx", "--rows", "-1"], "--rows", "anybit compare --help"),
    (["inspect", "m.onnx", "--max-rank", "many"], "--max-rank", "anybit inspect --help")])
def test_a_usage_error_exits_with_2_and_gives_a_hint(anybit, arguments, message, hint):
    done = anybit(*arguments)
    first, second = done.stderr.splitlines()
    assert done.returncode == 2 and done.stdout == ""
    assert first.startswith("anybit: ") and message in first
    assert second.startswith("  hint: ") and hint in second


def test_options_that_do_not_match_the_model_are_a_usage_error(anybit, float_model):
    done = anybit("inspect", float_model, "--input-shape", "y=1,3,16,16")
    assert done.returncode == 2
    assert done.stderr.startswith(f"anybit: {float_model}: the model has no input 'y'")
    done = anybit("inspect", float_model, "--dim", "bacth=2")
    assert done.returncode == 2 and "did you mean 'batch'?" in done.stderr
    assert anybit("inspect", float_model, "--input-shape", "x=1,4,16,16").returncode == 2


DIGITS = ROOT / "examples" / "digits"


@pytest.mark.parametrize("arguments, message", [
    (["quantize", "-o", "q.onnx", "--recipe", "int9"], "no recipe 'int9'\n  hint: did you mean 'int8'"),
    (["quantize", "-o", "q.onnx", "--target", "ethos"], "no target 'ethos'"),
    (["quantize", "-o", "q.onnx", "--emit", "qqd"], "cannot emit 'qqd'"),
    (["quantize", "-o", "q.onnx", "--op-types", "Conv,Covn"], ": no operator is called 'Covn'\n  hint: did you mean 'Conv'"),
    (["quantize", "-o", "q.onnx", "--recipe", "w8", "--exclude", "stem/cnv"],
     "name 'stem/cnv' matches no node\n  hint: did you mean 'stem/conv'?"),
    (["quantize", "-o", "q.onnx", "--recipe", "w8", "--exclude", "Cnov"], "hint: did you mean 'Conv'?"),
    (["quantize", "-o", "q.onnx", "--recipe", "w8", "--evaluate"], "no data to evaluate the model on"),
    (["codegen", "--target", "d-gen"], "there is no generator 'd-gen'"),
    (["codegen", "--target", "c-gen", "--shape", "image=1,a"], "--shape: cannot read 'image=1,a'\n  hint: write it like --shape x="),
    (["codegen", "--target", "c-gen", "--shape", "y=1"], "the model has no input 'y'\n  hint: its inputs are image"),
    (["inspect", "--dim", "rows=2"], "dimension named 'rows'\n  hint: the named dimensions are batch")])
def test_unknown_names_are_a_usage_error(tool, tmp_path, arguments, message):
    command, *options = arguments
    done = subprocess.run([tool("anybit"), command, DIGITS / "digits.onnx", *options], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr and "line " not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("labels", [None, "1 2 three", "", "no/such/file"])
@pytest.mark.parametrize("report", [None, "no/such/folder/r.html", "."])
def test_options_are_checked_before_anything_is_written(anybit, tmp_path, labels, report):
    extra = []
    if labels is not None:
        (tmp_path / "labels.txt").write_text(labels)
        extra += ["--labels", labels if "/" in labels else tmp_path / "labels.txt"]
    if report is not None:
        extra += ["--report", tmp_path / report]
    done = anybit("quantize", DIGITS / "digits.onnx", "-o", tmp_path / "q.onnx", "--calib", DIGITS / "samples", *extra)
    assert (done.returncode == 0) == (not extra)
    assert (tmp_path / "q.onnx").exists() == (not extra) and "calibrating" not in done.stderr * len(extra)


def test_models_with_different_inputs_are_not_compared(anybit, tmp_path):
    model = onnx.load(DIGITS / "digits.onnx")
    model.graph.input[0].name = "photo"
    for node in model.graph.node:
        node.input[:] = ["photo" if name == "image" else name for name in node.input]
    onnx.save(model, tmp_path / "other.onnx")
    done = anybit("compare", DIGITS / "digits.onnx", tmp_path / "other.onnx", "--data", DIGITS / "samples")
    assert done.returncode == 2 and "different inputs: the second has no 'image'\n  hint: its inputs are photo" in done.stderr


@pytest.mark.parametrize("command", ["quantize", "compare"])
@pytest.mark.parametrize("labels, limit, message", [
    (5, None, "5 labels for 20 samples"), (30, None, "30 labels for 20 rows of scores"), (5, 6, "5 labels for 6 samples"),
    (20, None, None), (20, 6, None), (6, 6, None)])
def test_there_must_be_one_label_per_sample(anybit, tmp_path, command, labels, limit, message):
    np.save(tmp_path / "x.npy", np.zeros((20, 1, 28, 28), np.float32))
    np.save(tmp_path / "labels.npy", np.zeros(labels, np.int64))
    model, other = DIGITS / "digits.onnx", tmp_path / "q.onnx"
    call = {"quantize": ["quantize", model, "-o", other, "--calib"], "compare": ["compare", model, model, "--data"]}[command]
    done = anybit(*call, tmp_path / "x.npy", "--labels", tmp_path / "labels.npy",
                  *([] if limit is None else ["--samples", str(limit)]))
    assert done.returncode == (0 if message is None else 2)
    assert message is None or f"{message}\n  hint: one label for each" in done.stderr


def test_a_failure_exits_with_1_and_names_the_file(anybit, tmp_path):
    missing = anybit("inspect", tmp_path / "none.onnx")
    assert missing.returncode == 1 and "No such file" in missing.stderr
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"this is no model")
    done = anybit("inspect", broken)
    assert done.returncode == 1 and done.stdout == "" and str(broken) in done.stderr.splitlines()[0]


def test_with_json_an_error_is_json(anybit, tmp_path):
    done = anybit("inspect", tmp_path / "none.onnx", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "not_found"


def test_limits_can_be_lowered(anybit, float_model):
    done = anybit("inspect", float_model, "--max-nodes", "2")
    assert done.returncode == 1 and "nodes" in done.stderr
    assert anybit("inspect", float_model, "--max-rank", "3").returncode == 1
    assert anybit("inspect", float_model, "--max-elements", "100").returncode == 1


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_parameters_and_bytes_match_the_onnx_package(path, tool):
    model = onnx.load(path)
    tensors = [t for graph in graphs_of(model.graph) for t in graph.initializer]
    for graph in graphs_of(model.graph):
        tensors += [a.t for node in graph.node if node.op_type == "Constant" for a in node.attribute if a.name == "value"]
    said = inspect(tool("anybit"), path)
    assert set(said) == KEYS
    assert said["parameters"]["elements"] == sum(int(np.prod(t.dims)) for t in tensors)
    assert said["parameters"]["bytes"] == sum(numpy_helper.to_array(t).nbytes for t in tensors)
    assert sum(row["tensors"] for row in said["parameters"]["types"]) == len(tensors)
    assert said["node_count"] == sum(len(graph.node) for graph in graphs_of(model.graph)) == len(said["nodes"])
    assert said["file_bytes"] == path.stat().st_size
    assert said["ir_version"] == model.ir_version
    assert len(said["subgraphs"]) == len(list(graphs_of(model.graph))) - 1


def test_a_float_model_is_described_completely(tool, float_model):
    said = inspect(tool("anybit"), float_model, "--dim", "batch=2")
    assert said["parameters"]["elements"] == 8 * 3 * 9 + 8 + 8 * 4 + 4
    assert said["macs"] == {"total": 2 * 16 * 16 * 8 * 27 + 2 * 8 * 4, "unknown_nodes": 0, "unknown_loop_nodes": 0,
                            "unknown_shape_nodes": 0}
    assert [(op["name"], op["parameters"]) for op in said["operators"]][:2] == [("Conv", 224), ("Gemm", 36)]
    assert said["inputs"][0]["shape"] == [2, 3, 16, 16] and said["outputs"][0]["shape"] == [2, 4]
    assert said["quantized"] == [] and said["metadata"] == [{"key": "task", "value": "none"}]


def test_sparse_weights_belong_to_the_node_that_uses_them(tool, tmp_path):
    values = helper.make_tensor("w", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    indices = helper.make_tensor("i", TensorProto.INT64, [3], [0, 5, 31])
    graph = helper.make_graph(
        [helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("MatMul", ["x", "t"], ["y"])], "sparse",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        sparse_initializer=[helper.make_sparse_tensor(values, indices, [4, 8])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "sparse.onnx")
    said = inspect(tool("anybit"), tmp_path / "sparse.onnx")
    assert said["parameters"]["elements"] == 3
    assert [(op["name"], op["parameters"], op["parameter_bytes"]) for op in said["operators"]] == [
        ("MatMul", 3, 12), ("Transpose", 0, 0)]
    assert said["macs"]["total"] == 8 * 4


def test_weights_behind_a_pad_belong_to_the_node_that_uses_them(tool, tmp_path):
    """Padded weights, such as relative position embeddings, are still the weights of the MatMul."""
    graph = helper.make_graph(
        [helper.make_node("Pad", ["w", "pads"], ["t"]), helper.make_node("MatMul", ["x", "t"], ["y"])], "moved",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor("w", TensorProto.FLOAT, [6, 4], [1.0] * 24), helper.make_tensor("pads", TensorProto.INT64, [4], [1, 0, 1, 0])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "moved.onnx")
    said = inspect(tool("anybit"), tmp_path / "moved.onnx")
    assert {op["name"]: op["parameters"] for op in said["operators"]}["MatMul"] >= 24


def test_a_symbolic_batch_is_reported_with_the_option_that_fixes_it(anybit, float_model):
    text = anybit("inspect", float_model).stdout
    assert "The MACs of 2 nodes are unknown" in text and "--input-shape 'x=1,3,16,16'" in text
    assert "are unknown" not in anybit("inspect", float_model, "--input-shape", "x=1,3,16,16").stdout


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_model_with_quantize_and_dequantize_pairs(per_channel, tool, float_model, tmp_path):
    path = tmp_path / "qdq.onnx"
    quantize_static(float_model, path, Samples(), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    said = inspect(tool("anybit"), path, "--dim", "batch=1")
    weights = rows(said, role="weight", type="int8", symmetry="symmetric")
    assert sum(row["tensors"] for row in weights) == 2
    assert sum(row["elements"] for row in weights) == 8 * 27 + 8 * 4
    conv = "channel" if per_channel else "tensor"
    assert conv in {row["granularity"] for row in weights}
    assert sum(row["tensors"] for row in rows(said, role="bias", type="int32")) == 2
    assert rows(said, role="activation", type="uint8", granularity="tensor", scale="constant")
    assert next(op for op in said["operators"] if op["name"] == "Conv")["parameters"] >= 8 * 27 + 8
    assert said["macs"]["total"] == 16 * 16 * 8 * 27 + 8 * 4


def test_a_model_with_quantized_operators(tool, float_model, tmp_path):
    path = tmp_path / "qoperator.onnx"
    quantize_static(float_model, path, Samples(), quant_format=QuantFormat.QOperator)
    said = inspect(tool("anybit"), path, "--dim", "batch=1")
    assert "QLinearConv" in {row["by"] for row in rows(said, role="weight")}
    assert all(op["known"] for op in said["operators"])
    assert said["macs"]["total"] == 16 * 16 * 8 * 27 + 8 * 4


def test_a_dynamically_quantized_model(tool, float_model, tmp_path):
    path = tmp_path / "dynamic.onnx"
    quantize_dynamic(float_model, path, weight_type=QuantType.QInt8)
    said = inspect(tool("anybit"), path, "--dim", "batch=1")
    assert rows(said, role="activation", type="uint8", scale="dynamic", by="DynamicQuantizeLinear")
    assert rows(said, role="weight", by="ConvInteger") and rows(said, role="weight", by="MatMulInteger")
    assert said["macs"]["unknown_nodes"] == 0


def test_blocks_of_four_bit_weights(tool, tmp_path):
    weight = helper.make_tensor("w", TensorProto.INT4, [32, 64], bytes(1024), raw=True)
    scale = numpy_helper.from_array(np.ones((2, 64), np.float32), "s")
    graph = helper.make_graph(
        [helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=0, block_size=16),
         helper.make_node("MatMul", ["x", "f"], ["y"])], "blocks",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])], [weight, scale])
    path = tmp_path / "blocks.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    said = inspect(tool("anybit"), path)
    [row] = said["quantized"]
    assert (row["role"], row["type"], row["granularity"], row["block"], row["symmetry"], row["elements"]) == (
        "weight", "int4", "block", 16, "symmetric", 2048)
    assert said["parameters"]["bytes"] == 1024 + 2 * 64 * 4


def test_external_data_is_listed_with_its_bytes(tool, float_model, tmp_path):
    path = tmp_path / "outside.onnx"
    onnx.save(onnx.load(float_model), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    said = inspect(tool("anybit"), path)
    assert said["data_files"] == [{"location": "weights.bin", "tensors": 4, "bytes": 4 * (224 + 36)}]


def test_names_from_a_model_cannot_reach_the_terminal(anybit, tmp_path):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="\x1b[31mred")], "\x1b]0;title\x07",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])])
    path = tmp_path / "hostile.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    assert "\x1b" not in anybit("inspect", path, "--nodes").stdout


def terminal_output(command, **environment):
    leader, follower = pty.openpty()
    subprocess.run(command, stdout=follower, check=True, env={**os.environ, "TERM": "xterm", **environment})
    os.close(follower)
    text = b""
    try:
        while part := os.read(leader, 65536):
            text += part
    except OSError:  # the other end is closed and everything is read
        pass
    os.close(leader)
    return text.decode()


def test_colours_are_for_terminals_that_want_them(tool, float_model):
    command = [tool("anybit"), "inspect", str(float_model)]
    environment = {name: "" for name in ["NO_COLOR"]}
    assert "\x1b[" in terminal_output(command, **environment)
    assert "\x1b[" not in terminal_output(command, NO_COLOR="1")
    assert "\x1b[" not in subprocess.run(command, capture_output=True, text=True).stdout


def test_wide_characters_keep_the_columns_aligned(anybit, tmp_path):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ["输入", "x"]]
    graph = helper.make_graph([helper.make_node("Add", ["输入", "x"], ["y"])], "g", values,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])])
    path = tmp_path / "wide.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    text = anybit("inspect", path).stdout
    assert "  输入  float32[1]\n  x     float32[1]\n" in text


@pytest.mark.parametrize("kind, shape, code, said", [
    (TensorProto.INT64, [2, 3], 1, "declared as int64[2, 3], and its inferred type is float32[2, 3]"),
    (TensorProto.FLOAT, [2], 0, "declared as float32[2]"), (TensorProto.FLOAT, [2, 4], 0, "declared as float32[2, 4]"),
    (TensorProto.FLOAT, ["n", 3], 0, None)])
def test_contradicting_types_are_rejected_and_shapes_reported(anybit, tmp_path, kind, shape, code, said):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", kind, shape)])
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    done = anybit("inspect", tmp_path / "m.onnx")
    text = done.stdout + done.stderr
    assert done.returncode == code and (f"value 'y': it is {said}" in text if said else "Problems" not in text)


@pytest.mark.parametrize("words, name", [
    (["inspect", ""], "MODEL"), (["prepare", "MODEL", "-o", ""], "--output"), (["prepare", "--output=", "MODEL"], "--output"),
    (["prepare", "MODEL", "--output="], "--output"), (["quantize", "MODEL", "-o", "q.onnx", "-r", ""], "--recipe"),
    (["quantize", "MODEL", "-o", "q.onnx", "-r", "w8", "--report", ""], "--report"),
    (["inspect", "MODEL", "--dim", ""], "--dim"), (["prepare", "MODEL", "-o", "q.onnx", "--keep", ""], "--keep"),
    (["run", "MODEL", "--threads", ""], "--threads")])
def test_an_empty_option_is_a_usage_error(anybit, float_model, tmp_path, words, name):
    done = anybit(*[str(float_model) if word == "MODEL" else word for word in words], cwd=tmp_path)
    assert done.returncode == 2 and name in done.stderr and "hint: " in done.stderr
    assert done.stdout == "" and list(tmp_path.iterdir()) == []


def test_an_empty_option_is_reported_in_json_too(anybit, float_model):
    done = anybit("inspect", float_model, "--json", "--dim=")
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["message"] == "--dim is empty"


def test_quantize_reports_nodes_that_cannot_run(anybit, tmp_path):
    """MatMuls of mismatched shapes: alone, and beside a valid one."""
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 5]),
              helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])]
    weights = [numpy_helper.from_array(np.ones((rows, 4), np.float32), f"w{rows}") for rows in (4, 5)]
    bad, good = (helper.make_node("MatMul", ["x", f"w{rows}"], [name], name=name) for rows, name in [(4, "y"), (5, "z")])
    fine = helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 4])
    said = []
    for nodes, outputs, constants in [([bad], values[1:], weights[:1]), ([bad, good], [values[1], fine], weights)]:
        graph = helper.make_graph(nodes, "g", values[:1], outputs, constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
        said.append(anybit("quantize", tmp_path / "m.onnx", "-r", "w8", "-o", tmp_path / "q.onnx"))
    assert [done.returncode for done in said] == [2, 0]
    assert "'y' (MatMul): it is invalid: shapes [2, 5] and [4, 4] do not multiply" in said[0].stderr
    assert "'anybit inspect' lists: node 'y' (MatMul): shapes [2, 5] and [4, 4] do not multiply" in said[1].stdout


def test_an_opset_that_is_too_new_is_reported(anybit, float_model, tmp_path):
    model = onnx.load(float_model)
    del model.opset_import[:]
    model.opset_import.add(domain="", version=99)
    onnx.save(model, tmp_path / "m.onnx")
    newest = onnx.defs.onnx_opset_version()
    told = f"opset 99, but {newest} is the newest that anybit knows"
    assert f"anybit: {tmp_path}/m.onnx: {told}" in anybit("prepare", tmp_path / "m.onnx").stderr
    assert f"model: {told}" in anybit("inspect", tmp_path / "m.onnx").stdout
    assert told in [one["message"] for one in json.loads(anybit("inspect", tmp_path / "m.onnx", "--json").stdout)["problems"]]
    assert anybit("prepare", float_model).stderr == ""
