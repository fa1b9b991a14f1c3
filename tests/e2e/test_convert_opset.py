"""anybit convert-opset: a file in, a file of a newer opset out, with the same outputs in ONNX Runtime."""
import json
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper


@pytest.fixture
def model(tmp_path):
    nodes = [helper.make_node("Slice", ["x"], ["a"], starts=[1], ends=[3], axes=[1]),
             helper.make_node("Softmax", ["a"], ["b"]), helper.make_node("ReduceSum", ["b"], ["y"], axes=[2], keepdims=0)]
    port = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [port("x", ["n", 4, 5])], [port("y", ["n", 2])])
    path = tmp_path / "old.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 9)]), path)
    return path


def test_a_converted_file_gives_the_same_in_onnx_runtime(tool, model, tmp_path):
    new = tmp_path / "new.onnx"
    done = subprocess.run([tool("anybit"), "convert-opset", model, "-o", new, "--opset", "21"], capture_output=True, text=True)
    assert done.returncode == 0 and "opset 9 -> 21" in done.stdout, done.stdout + done.stderr
    onnx.checker.check_model(onnx.load(new))
    x = np.random.default_rng(1).normal(size=(3, 4, 5)).astype(np.float32)
    before, after = (onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0] for path in (model, new))
    np.testing.assert_array_equal(before, after)


def test_changes_are_available_as_json(tool, model, tmp_path):
    call = [tool("anybit"), "convert-opset", model, "-o", tmp_path / "new.onnx", "--opset", "21"]
    text, data = (subprocess.run(call + more, check=True, capture_output=True, text=True).stdout for more in ([], ["--json"]))
    data = json.loads(data)
    assert text == f"opset {data['from']} -> {data['to']}, {data['changed_nodes']} nodes changed\n" and data["to"] == 21


def test_models_are_never_downgraded(tool, model, tmp_path):
    done = subprocess.run([tool("anybit"), "convert-opset", model, "-o", tmp_path / "new.onnx", "--opset", "8"],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "raised, never lowered" in done.stderr
    assert not (tmp_path / "new.onnx").exists()
