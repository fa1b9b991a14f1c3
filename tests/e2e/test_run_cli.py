"""anybit run and anybit bench on the command line."""
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"


@pytest.fixture(scope="module")
def images():
    return {name: np.load(DIGITS / f"test_{name}.npy") for name in ("images", "labels")}


@pytest.fixture
def two_inputs(tmp_path):
    """y = a + b, with a symbolic dimension."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "ab"]
    out = helper.make_tensor_value_info("sum/of:both", TensorProto.FLOAT, ["n", 3])
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["sum/of:both"], name="the_add")], "g", ports, [out])
    path = tmp_path / "add.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_reads_digits_from_a_file_and_writes_the_logits(anybit, images, tmp_path):
    image_data = next(value for value in images.values() if value.ndim >= 3)
    x = ((image_data[:50].astype(np.float32) / 255 - 0.1307) / 0.3081).astype(np.float32).reshape(-1, 1, 28, 28)
    np.save(tmp_path / "x.npy", x)
    done = anybit("run", DIGITS / "digits.onnx", "--input", f"image={tmp_path / 'x.npy'}", "-o", tmp_path / "out")
    assert "logits" in done.stdout and "float32[50, 10]" in done.stdout
    logits = np.load(tmp_path / "out" / "logits.npy")
    labels = next(value for value in images.values() if value.ndim == 1)[:50]
    assert (logits.argmax(1) == labels).mean() >= 0.9
    np.save(tmp_path / "labels.npy", labels)
    call = ["run", DIGITS / "digits.onnx", "--input", f"image={tmp_path / 'x.npy'}", "--labels", tmp_path / "labels.npy"]
    told = json.loads(anybit(*call, "--json").stdout)["labels"]
    ranks = (logits > logits[np.arange(50), labels][:, None]).sum(1)
    assert told == {"rows": 50, "top1": (ranks < 1).mean(), "top5": (ranks < 5).mean()}
    assert f"top-1 {100 * told['top1']:.2f} %, top-5 {100 * told['top5']:.2f} % of 50 rows" in anybit(*call).stdout
    np.save(tmp_path / "labels.npy", (logits.argmin(1)))
    assert "top-1 0.00 %, top-5 0.00 % of 50 rows" in anybit(*call).stdout


@pytest.mark.parametrize("labels,message", [([1, 2], "2 labels for 1 rows of scores"), ([10], "label 10 of sample 0 is not one of 10"),
                                            ([], "there are no labels")])
def test_labels_that_do_not_match_are_a_usage_error(anybit, tmp_path, labels, message):
    np.save(tmp_path / "labels.npy", np.array(labels, np.int64))
    done = anybit("run", DIGITS / "digits.onnx", "--labels", tmp_path / "labels.npy", "-o", tmp_path / "out", code=2)
    assert message in done.stderr and not (tmp_path / "out").exists()


def test_missing_inputs_are_random_and_reported(anybit):
    text = anybit("run", DIGITS / "digits.onnx").stdout
    assert "random: no file was given" in text


def test_profile_shows_operators_and_writes_a_trace(anybit, tmp_path):
    trace = tmp_path / "trace.json"
    text = anybit("run", DIGITS / "digits.onnx", "--repeat", 3, "--profile", "--trace", trace).stdout
    assert "Time by operator" in text and "Slowest nodes" in text and "GMAC/s" in text
    events = json.loads(trace.read_text())["traceEvents"]
    assert events and all({"name", "ph", "ts", "dur"} <= set(event) for event in events)


def test_a_profile_comes_with_a_trace_in_the_current_folder(tool, tmp_path):
    done = subprocess.run([tool("anybit"), "run", DIGITS / "digits.onnx", "--profile"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "Written digits.trace.json\n" in done.stdout
    assert json.loads((tmp_path / "digits.trace.json").read_text())["traceEvents"]
    (tmp_path / "digits.trace.json").unlink()
    (tmp_path / "digits.trace.json").mkdir()
    done = subprocess.run([tool("anybit"), "run", DIGITS / "digits.onnx", "--profile"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "cannot write 'digits.trace.json'" in done.stderr and "hint: --trace FILE" in done.stderr


def test_several_inputs_come_from_files_or_an_archive(anybit, two_inputs, tmp_path):
    a, b = np.ones((2, 3), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "a.npy", a)
    (tmp_path / "b.pb").write_bytes(numpy_helper.from_array(b).SerializeToString())
    anybit("run", two_inputs, "--input", f"a={tmp_path / 'a.npy'}", "--input", f"b={tmp_path / 'b.pb'}", "-o", tmp_path / "1")
    assert np.array_equal(np.load(tmp_path / "1" / "sum_of_both.npy"), a + b)
    np.savez(tmp_path / "both.npz", a=a, b=b)
    anybit("run", two_inputs, "--input", tmp_path / "both.npz", "-o", tmp_path / "2")
    assert np.array_equal(np.load(tmp_path / "2" / "sum_of_both.npy"), a + b)
    (tmp_path / "a.bin").write_bytes(a.tobytes())
    anybit("run", two_inputs, "--input", f"a={tmp_path / 'a.bin'}", "--input", f"b={tmp_path / 'b.pb'}", "-o", tmp_path / "3")
    assert np.array_equal(np.load(tmp_path / "3" / "sum_of_both.npy"), a + b)


@pytest.mark.parametrize("arguments,message,code", [
    (["--input", "c=x.npy"], "no input 'c'", 2),
    (["--input", "a=missing.npy"], "missing.npy", 1),
    (["--input", "a="], "no file is given for 'a'", 2),
    (["--mean", "0.5"], "--mean requires --input", 2),
    (["--dim", "n=2", "--dim", "n=3"], "--dim: 'n' is given twice", 2),
    (["--seed", "-1"], "--seed", 2),
    (["--dim", "n=x"], "n=x", 2),
    (["--dim", "nn=2"], "no random input has a dimension named 'nn'\n  hint: did you mean 'n'?", 2),
    (["--dim", "sequence=2"], "hint: --dim can give n", 2),
    (["--threads", "-1"], "--threads", 2),
    (["--repeat", "0"], "--repeat", 2),
])
def test_usage_errors_are_distinguished_from_failures(anybit, two_inputs, arguments, message, code):
    done = anybit("run", two_inputs, *arguments, code=code)
    assert message in done.stderr and not done.stdout


def test_an_input_is_given_once(anybit, two_inputs, tmp_path):
    np.savez(tmp_path / "both.npz", a=np.ones((2, 3), np.float32), b=np.ones((2, 3), np.float32))
    np.save(tmp_path / "a.npy", np.ones((2, 3), np.float32))
    for first, second in [(f"a={tmp_path / 'a.npy'}", tmp_path / "both.npz"), (f"a={tmp_path / 'a.npy'}",) * 2]:
        assert "input 'a' is given twice" in anybit("run", two_inputs, "--input", first, "--input", second, code=2).stderr


def test_random_inputs_have_the_sizes_of_inputs_from_files(anybit, two_inputs, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((7, 3), np.float32))
    said = json.loads(anybit("run", two_inputs, "--input", f"a={tmp_path / 'a.npy'}", "--json").stdout)
    assert said["inputs"]["b"] == {"type": "float32[7, 3]", "random": True}


def test_dim_applies_to_random_inputs_only(anybit, two_inputs, tmp_path):
    np.savez(tmp_path / "both.npz", a=np.ones((2, 3), np.float32), b=np.ones((2, 3), np.float32))
    said = anybit("run", two_inputs, "--input", tmp_path / "both.npz", "--dim", "n=5", code=2).stderr
    assert "'n'\n  hint: inputs from files have the shapes of the files" in said
    assert "did you mean 'n'?" in anybit("bench", two_inputs, "--dim", "nn=5", code=2).stderr


def test_models_that_are_measured_together_need_not_have_the_same_dimensions(anybit, two_inputs):
    models = [two_inputs, DIGITS / "digits.onnx"]
    anybit("bench", *models, "--dim", "n=5", "--dim", "batch=2", "--seconds", "0.01")
    assert "no random input has a dimension named 'm'" in anybit("bench", *models, "--dim", "m=5", code=2).stderr


def test_an_optional_input_without_a_file_is_empty(anybit, tmp_path):
    port = onnx.ValueInfoProto(name="s")
    port.type.optional_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    graph = helper.make_graph([helper.make_node("OptionalHasElement", ["s"], ["y"])], "g", [port],
                              [helper.make_tensor_value_info("y", TensorProto.BOOL, [])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "m.onnx")
    np.save(tmp_path / "s.npy", np.ones(2, np.float32))
    for given, wanted in [([], False), (["--input", f"s={tmp_path / 's.npy'}"], True)]:
        anybit("run", tmp_path / "m.onnx", *given, "-o", tmp_path / "out")
        assert np.load(tmp_path / "out" / "y.npy") == wanted


def test_a_model_without_inputs_is_given_none(anybit, tmp_path):
    graph = helper.make_graph([helper.make_node("Constant", [], ["y"], value_float=1.0)], "g", [],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "m.onnx")
    for given in ("x.npy", "x=x.npy"):
        assert "hint: it has none" in anybit("run", tmp_path / "m.onnx", "--input", given, code=2).stderr


def test_a_shape_mismatch_is_reported(anybit, two_inputs, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 4), np.float32))
    done = anybit("run", two_inputs, "--input", f"a={tmp_path / 'a.npy'}", code=2)
    assert "input 'a'" in done.stderr and "[2, 4]" in done.stderr and "float32[n, 3]" in done.stderr


def test_memory_can_be_bounded(anybit, two_inputs):
    done = anybit("run", two_inputs, "--dim", "n=1000000", "--max-memory", "1MB", code=1)
    assert "node 'the_add' (Add): output 'sum/of:both' float32[1000000, 3]: " in done.stderr and "memory limit" in done.stderr


@pytest.mark.parametrize("limit", ["10", "1KB", "50KB", "100KB", "200KB", "300KB"])
def test_the_memory_limit_error_names_the_node(anybit, limit):
    said = anybit("run", DIGITS / "digits.onnx", "--max-memory", limit, "--repeat", 2, code=1).stderr
    assert "digits.onnx: node '" in said and "memory limit" in said


def test_a_node_that_fails_is_named_with_its_inputs(anybit, two_inputs, tmp_path):
    np.savez(tmp_path / "both.npz", a=np.ones((2, 3), np.float32), b=np.ones((4, 3), np.float32))
    said = anybit("run", two_inputs, "--input", tmp_path / "both.npz", code=1).stderr
    assert "node 'the_add' (Add): " in said and "given are 'a' float32[2, 3], 'b' float32[4, 3]" in said


def test_an_input_without_random_values_is_reported(anybit, two_inputs):
    assert "input 'a' float32[1000000000000, 3]: " in anybit("run", two_inputs, "--dim", "n=1000000000000", code=1).stderr


def test_json_is_json(anybit, two_inputs):
    trace = two_inputs.parent / "trace.json"
    result = json.loads(anybit("run", two_inputs, "--json", "--profile", "--trace", trace, "--dim", "n=4").stdout)
    assert result["written"] == [str(trace)]
    assert result["outputs"]["sum/of:both"]["type"] == "float32[4, 3]"
    assert result["inputs"]["a"]["random"] and result["nodes"][0]["operator"] == "Add"


def test_bench_gives_percentiles_for_each_model(anybit, two_inputs):
    text = anybit("bench", two_inputs, DIGITS / "digits.onnx", "--seconds", "0.05").stdout
    assert "p99" in text and "digits.onnx" in text and "add.onnx" in text
    rows = json.loads(anybit("bench", two_inputs, "--seconds", "0.05", "--json").stdout)
    assert rows[0]["p50_ms"] <= rows[0]["p99_ms"] and rows[0]["peak_bytes"] > 0


def test_no_input_file_is_overwritten(anybit, tmp_path):
    model, samples = tmp_path / "m.onnx", tmp_path / "x.npy"
    model.write_bytes((DIGITS / "digits.onnx").read_bytes())
    samples.write_bytes((DIGITS / "samples" / "3.npy").read_bytes())
    before = model.read_bytes(), samples.read_bytes()
    calls = [["run", model, "--trace", model], ["run", model, "--input", f"image={samples}", "--trace", samples],
             ["quantize", model, "-o", tmp_path / "q.onnx", "--calib", samples, "--report", samples],
             ["compare", model, model, "--data", samples, "--report", samples],
             ["calibrate", model, "--data", samples, "-o", tmp_path / "r", "--report", samples]]
    for call in calls:
        assert "would overwrite" in anybit(*call, code=2).stderr
        assert (model.read_bytes(), samples.read_bytes()) == before


def test_a_trace_follows_links_and_never_replaces_a_special_file(anybit, tmp_path):
    (tmp_path / "link.json").symlink_to("trace.json")
    os.mkfifo(tmp_path / "pipe")
    anybit("run", DIGITS / "digits.onnx", "--trace", tmp_path / "link.json")
    assert json.loads((tmp_path / "trace.json").read_text()) and (tmp_path / "link.json").is_symlink()
    for other in (tmp_path / "pipe", tmp_path):
        assert "not a regular file" in anybit("run", DIGITS / "digits.onnx", "--trace", other, code=1).stderr
    assert (tmp_path / "pipe").is_fifo()


def test_output_that_does_not_fit_is_a_failure(tool):
    with open("/dev/full", "w") as full:
        for call in (["--help"], ["formats", "int8"], ["inspect", DIGITS / "digits.onnx"]):
            done = subprocess.run([tool("anybit"), *call], stdout=full, stderr=subprocess.PIPE, text=True)
            assert done.returncode == 1 and "standard output" in done.stderr


@pytest.mark.parametrize("kind", ["BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1",
                                  "INT4", "UINT4"])
def test_outputs_of_types_that_numpy_lacks_are_widened(anybit, tmp_path, kind):
    x = np.array([[1, 2, 0.5], [-1.5, 3, 6]] if "FLOAT" in kind else [[1, 2, 7], [0, 5, 3]], np.float32)
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=getattr(TensorProto, kind))], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", getattr(TensorProto, kind), [2, 3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", x)
    anybit("run", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path / "out")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), x)


def test_shares_of_nested_nodes_add_up_to_the_whole(anybit, tmp_path):
    inner = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["r"])], "inner", [],
                              [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)])
    for name in ("middle", "outer"):
        node = helper.make_node("If", ["c"], ["o"], then_branch=inner, else_branch=inner)
        inner = helper.make_graph([node], name, [], [helper.make_tensor_value_info("o", TensorProto.FLOAT, None)])
    graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)], "g",
                              [helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                               helper.make_tensor_value_info("x", TensorProto.FLOAT, [256, 512])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.ones((512, 512), np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    call = ["run", tmp_path / "m.onnx", "--repeat", 3, "--profile", "--trace", tmp_path / "trace.json"]
    table = anybit(*call).stdout.split("Time by operator")[1].split("Slowest")[0]
    shares = [float(word) for word, sign in zip(table.split(), table.split()[1:]) if sign == "%"]
    assert len(shares) == 3 and abs(sum(shares) - 100) < 1


def test_subgraph_values_of_outer_constants_are_computed_once(anybit, tmp_path):
    w = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "w")
    inner = helper.make_graph([helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("MatMul", ["x", "t"], ["m"])], "inner", [],
                              [helper.make_tensor_value_info("m", TensorProto.FLOAT, None)])
    nodes = [helper.make_node("Constant", [], ["w"], value=w),
             helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                                           helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    nodes = json.loads(anybit("run", tmp_path / "m.onnx", "--profile", "--trace", tmp_path / "trace.json", "--json").stdout)["nodes"]
    assert [node["operator"] for node in nodes] == ["If", "MatMul"]
