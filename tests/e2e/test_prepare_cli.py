"""anybit prepare: prepared files give the same outputs in ONNX Runtime."""
import json
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(3)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="/conv"),
             helper.make_node("BatchNormalization", ["c", "s", "b", "b", "s"], ["n"], name="/bn"),
             helper.make_node("Identity", ["n"], ["y"])]
    port = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    weights = {"w": rng.normal(size=(6, 3, 3, 3)), "s": 1 + rng.random(6), "b": rng.normal(size=6)}
    constants = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "g", [port("x", ["n", 3, 8, 8])], [port("y", ["n", 6, 6, 6])], constants)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def run(tool, *arguments):
    return subprocess.run([tool("anybit"), "prepare", *arguments], capture_output=True, text=True)


def test_a_prepared_file_gives_the_same_in_onnx_runtime(tool, model, tmp_path):
    new = tmp_path / "new.onnx"
    done = run(tool, model, "-o", new)
    assert done.returncode == 0 and "3 nodes -> 1 nodes" in done.stdout and "fold_batch_norm" in done.stdout, done
    x = np.random.default_rng(1).normal(size=(2, 3, 8, 8)).astype(np.float32)
    before, after = (onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0] for path in (model, new))
    np.testing.assert_allclose(after, before, atol=1e-5 * np.abs(before).max())


def test_passes_can_be_chosen_and_nodes_kept(tool, model, tmp_path):
    new = tmp_path / "new.onnx"
    assert run(tool, model, "-o", new, "--pass", "remove_no_ops").returncode == 0
    assert [node.op_type for node in onnx.load(new).graph.node] == ["Conv", "BatchNormalization"]
    assert run(tool, model, "-o", new, "--keep", "/bn").returncode == 0
    assert [node.name for node in onnx.load(new).graph.node] == ["/conv", "/bn"]


def test_mistakes_are_reported_and_nothing_is_written(tool, model, tmp_path):
    new = tmp_path / "new.onnx"
    done = run(tool, model, "-o", new, "--pass", "remove_no_op")
    assert done.returncode != 0 and "remove_no_op" in done.stderr and "remove_no_ops" in done.stderr and not new.exists()
    done = run(tool, model, "-o", new, "--keep", "/con")
    assert done.returncode == 2 and "no node '/con' to keep\n  hint: did you mean '/conv'" in done.stderr and not new.exists()
    assert run(tool).returncode != 0


def test_the_passes_are_listed_in_their_order(tool):
    names = [line.split()[0] for line in run(tool, "--list").stdout.splitlines()[1:]]
    assert names.index("unique_names") < names.index("fold_constants") < names.index("fold_batch_norm") < names.index("remove_unused")


def test_changes_and_passes_are_available_as_json(tool, model, tmp_path):
    done = json.loads(run(tool, model, "-o", tmp_path / "new.onnx", "--json").stdout)
    assert (done["nodes_before"], done["nodes_after"]) == (3, 1)
    assert {one["name"]: one["changes"] for one in done["passes"]}["fold_batch_norm"] == 1
    listed = json.loads(run(tool, "--list", "--json").stdout)
    assert [one["name"] for one in listed] == [line.split()[0] for line in run(tool, "--list").stdout.splitlines()[1:]]
