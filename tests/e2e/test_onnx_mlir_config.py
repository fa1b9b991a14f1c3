"""Configuration files of onnx-mlir for NNPA as recipes: `anybit quantize --config-file F`."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.quantizing import decibels, in_anybit, in_onnxruntime


def rule(match, **rewrite):
    return {"pattern": {"match": match, "rewrite": rewrite}}


MATMUL = {"node_type": "onnx.MatMul"}


@pytest.fixture
def folder(tmp_path):
    """Three MatMuls of different widths, an unknown number of rows, and a Sigmoid."""
    rng = np.random.default_rng(0)
    widths = [64, 96, 40, 32]
    weights = [rng.standard_normal(pair).astype(np.float32) for pair in zip(widths, widths[1:])]
    nodes = [helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"], name=f"MatMul_{i}") for i in range(3)]
    nodes.append(helper.make_node("Sigmoid", ["v3"], ["y"], name="Sigmoid_0"))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [None, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 32])],
                              [numpy_helper.from_array(weight, f"w{i}") for i, weight in enumerate(weights)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    return tmp_path


def quantize(anybit, folder, config, *options, flag="--config-file", code=0):
    text = config if isinstance(config, str) else json.dumps(config, indent=1)
    (folder / "config.json").write_text(text)
    how = [f"{flag}={folder / 'config.json'}"] if flag else []
    done = anybit("quantize", folder / "net.onnx", "-o", folder / "q.onnx", "--json", *how, *options, code=code)
    return json.loads(done.stdout)


def quantized(report):
    return [int(one["name"][-1]) for one in report["nodes"] if one["outcome"] == "dynamic"]


def float16(report):
    return [one["name"] for one in report["nodes"] if one["to"].startswith("float16")]


@pytest.mark.parametrize("match, which", [
    (MATMUL, [0, 1, 2]),
    ({"node_type": "onnx.*"}, [0, 1, 2]),
    ({"node_type": "MatMul"}, []),  # the compiler's names begin with onnx.
    ({**MATMUL, "onnx_node_name": "MatMul_(1|2)"}, [1, 2]),
    ({**MATMUL, "onnx_node_name": "MatMul"}, []),  # the whole name
    ({**MATMUL, "inputs": {"0": {"dims": {"1": "%32==0"}}}}, [0, 1]),
    ({**MATMUL, "inputs": {"0": {"dims": {"-1": "%32==0"}}}}, [0, 1]),
    ({**MATMUL, "inputs": {"-1": {"rank": 2, "dims": {"0": "64"}}}}, [0]),
    ({**MATMUL, "inputs": {"1": {"dims": {"0": "!=64"}}}}, [1, 2]),
    ({**MATMUL, "inputs": {"1": {"dims": {"0": ">40"}}}}, [0, 1]),
    ({**MATMUL, "inputs": {"1": {"dims": {"0": ">=96"}}}}, [1]),
    ({**MATMUL, "inputs": {"1": {"dims": {"0": "<64"}}}}, [2]),
    ({**MATMUL, "inputs": {"1": {"dims": {"0": "<=64"}}}}, [0, 2]),
    ({**MATMUL, "inputs": {"1": {"dims": {"0": "==96"}}}}, [1]),
    ({**MATMUL, "inputs": {"0": {"dims": {"0": "-1"}}}}, [0, 1, 2]),  # an unknown size
    ({**MATMUL, "inputs": {"1": {"dims": {"0": "-1"}}}}, []),
    ({**MATMUL, "inputs": {"0": {"dims": {"2": "64"}}}}, []),  # no such axis
    ({**MATMUL, "inputs": {"2": {"rank": "2"}}}, []),  # no such input
    ({**MATMUL, "inputs": {"0": {"type": "f32", "rank": ">=2"}}}, [0, 1, 2]),
    ({**MATMUL, "inputs": {"0": {"type": "i64"}}}, []),
    ({**MATMUL, "inputs": {"0": {"rank": "!=2"}}}, []),
    ({**MATMUL, "outputs": {"0": {"dims": {"1": "40"}}}}, [1]),
])
def test_nodes_are_matched_by_type_name_and_shape(anybit, folder, match, which):
    config = {"nnpa_ops_config": [rule(match, quantize=True), rule({"node_type": "onnx.MatMul"}, quantize=False)]}
    report = quantize(anybit, folder, config)
    assert quantized(report) == which
    if which:
        x = np.random.default_rng(1).standard_normal((5, 64)).astype(np.float32)
        ours = in_anybit(folder / "q.onnx", {"v0": x})[0]
        assert decibels(in_onnxruntime(folder / "net.onnx", {"v0": x})[0], ours) > 15
        assert decibels(in_onnxruntime(folder / "q.onnx", {"v0": x})[0], ours) > 35


def test_the_first_rule_that_matches_applies(anybit, folder):
    config = {"nnpa_ops_config": [rule({**MATMUL, "onnx_node_name": "MatMul_0"}, device="nnpa"),
                                  {"_comment": "not the first", **rule(MATMUL, quantize=True)}]}
    assert quantized(quantize(anybit, folder, config)) == [1, 2]
    assert quantized(quantize(anybit, folder, {"nnpa_ops_config": config["nnpa_ops_config"][::-1]})) == [0, 1, 2]


def test_the_older_lists_are_matched_separately(anybit, folder):
    config = {"device_placement": [{"device": "cpu", **MATMUL, "onnx_node_name": "MatMul_0"}, {"device": "nnpa", **MATMUL}],
              "quantization": [{"quantize": False, **MATMUL, "onnx_node_name": "MatMul_2"}, {"quantize": True, **MATMUL}]}
    report = quantize(anybit, folder, config, flag="--nnpa-load-config-file")
    assert quantized(report) == [1]


def test_without_quantization_the_device_decides_between_float16_and_float32(anybit, folder):
    config = {"nnpa_ops_config": [rule({**MATMUL, "onnx_node_name": "MatMul_1"}, device="cpu"), rule({"node_type": "onnx.*"}, device="")]}
    assert float16(quantize(anybit, folder, config)) == ["MatMul_0", "MatMul_2", "Sigmoid_0"]


def test_a_configuration_file_modifies_the_flags_beside_it(anybit, folder):
    config = {"nnpa_ops_config": [rule({**MATMUL, "onnx_node_name": "MatMul_1"}, quantize=False), rule(MATMUL, quantize=True)]}
    report = quantize(anybit, folder, config, "-maccel=NNPA", "-march=arch15", "--nnpa-quant-dynamic=symActivation,asymWeight",
                      flag="-config-file")
    assert quantized(report) == [0, 2]
    assert {one["to"] for one in report["nodes"] if one["outcome"] == "dynamic"} == {"int8 sym dynamic, int8 asym"}


def test_the_file_may_be_given_as_a_recipe_with_compile_options(anybit, folder):
    config = {"compile_options": ["-O3", "-maccel=NNPA", "--nnpa-quant-dynamic=symActivation", "--nnpa-quant-op-types=MatMul"],
              "nnpa_ops_config": [rule({**MATMUL, "onnx_node_name": "MatMul_2"}, device="cpu")]}
    report = quantize(anybit, folder, config, "--recipe", folder / "config.json", flag="")
    assert quantized(report) == [0, 1]
    assert {one["to"] for one in report["nodes"] if one["outcome"] == "dynamic"} == {"int8 sym dynamic, int8 sym"}
    assert any("'-O3' is for onnx-mlir" in one for one in report["remarks"])


def test_a_rule_that_matches_nothing_is_a_remark(anybit, folder):
    report = quantize(anybit, folder, {"nnpa_ops_config": [rule({"node_type": "onnx.Relu"}, device="cpu")]})
    assert any("the rule for 'onnx.Relu' applies to no node" in one for one in report["remarks"])


@pytest.mark.parametrize("config, said", [
    ({"nnpa_op_config": [], "quantization": []}, "unknown key 'nnpa_op_config'"),
    ({"nnpa_ops_config": [{"patern": {}}]}, "did you mean 'pattern'?"),
    ({"nnpa_ops_config": [{}]}, "an entry has a pattern"),
    ({"nnpa_ops_config": {}}, "'nnpa_ops_config' is a list"),
    ({"nnpa_ops_config": [{"pattern": {"match": MATMUL}}]}, "both match and rewrite"),
    ({"nnpa_ops_config": [rule({"onnx_node_name": "x"}, quantize=True)]}, "'node_type' is missing"),
    ({"nnpa_ops_config": [rule({**MATMUL, "node_name": "x"}, quantize=True)]}, "did you mean 'onnx_node_name'"),
    ({"nnpa_ops_config": [rule(MATMUL, quantise=True)]}, "did you mean 'quantize'?"),
    ({"nnpa_ops_config": [rule(MATMUL, quantize="maybe")]}, "true or false"),
    ({"nnpa_ops_config": [rule(MATMUL, device="gpu")]}, "cpu, nnpa or"),
    ({"nnpa_ops_config": [rule({**MATMUL, "inputs": {"a": {}}}, quantize=True)]}, "'a' is no index"),
    ({"nnpa_ops_config": [rule({**MATMUL, "inputs": {"0": {"ranks": "2"}}}, quantize=True)]}, "did you mean 'rank'?"),
    ({"nnpa_ops_config": [rule({**MATMUL, "inputs": {"0": {"type": "f31"}}}, quantize=True)]}, "no element type 'f31'"),
    ({"nnpa_ops_config": [rule({**MATMUL, "inputs": {"0": {"rank": "~2"}}}, quantize=True)]}, "'~2' is not a condition"),
    ({"nnpa_ops_config": [rule({**MATMUL, "inputs": {"0": {"dims": {"0": "%0==0"}}}}, quantize=True)]}, "divides by 0"),
    ({"nnpa_ops_config": [rule({**MATMUL, "inputs": {"0": {"dims": {"0": "%32"}}}}, quantize=True)]}, "'%32' is not a condition"),
    ({"nnpa_ops_config": [rule({"node_type": "onnx.(MatMul"}, quantize=True)]}, "is not a regular expression"),
    ({"quantization": [{**MATMUL, "device": "cpu"}]}, "unknown key 'device'"),
    ({"quantization": [MATMUL]}, "'quantize' is missing"),
    ({"compile_options": ["--nnpa-quant-dynamic=symWeights"]}, "did you mean 'symWeight'"),
    ('{"quantization": [], "quantization": []}', "given twice"),
])
def test_every_key_is_checked(anybit, folder, config, said):
    error = quantize(anybit, folder, config, code=2)["error"]
    assert said in error["message"] + error["hint"] and "config.json" in error["place"]


def test_another_recipe_is_no_configuration_file(anybit, folder):
    error = quantize(anybit, folder, "global: w8", "--dynamic", code=2)["error"]
    assert "not a configuration file of onnx-mlir" in error["message"]
