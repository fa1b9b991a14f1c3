"""Quantization that needs no samples: activations at run time, or weights alone."""
import itertools

import numpy as np
import onnx
import pytest

from quantizing import decibels, in_anybit, in_onnxruntime, net, ops, report_of, run_tool, samples


@pytest.fixture
def files(tmp_path):
    onnx.save(net(), tmp_path / "net.onnx")
    return tmp_path, {"x": np.concatenate(samples(tmp_path / "data"))}


def quantize(tool, folder, *arguments, code=0):
    return run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "net.q.onnx", *arguments, code=code)


def check(folder, feeds, least):
    reference = in_onnxruntime(folder / "net.onnx", feeds)[0]
    peer, ours = in_onnxruntime(folder / "net.q.onnx", feeds)[0], in_anybit(folder / "net.q.onnx", feeds)[0]
    assert decibels(reference, peer) > least and decibels(reference, ours) > least
    assert decibels(peer, ours) > 40
    onnx.checker.check_model(onnx.load(folder / "net.q.onnx"), full_check=True)


@pytest.mark.parametrize("activation, weight", list(itertools.product(["symActivation", "asymActivation"],
                                                                      ["symWeight", "asymWeight"])))
def test_dynamic_in_all_four_combinations(tool, files, activation, weight):
    folder, feeds = files
    quantize(tool, folder, f"--dynamic={activation},{weight}")
    check(folder, feeds, 24)
    written = ops(onnx.load(folder / "net.q.onnx"))
    assert written.count("ConvInteger") == 3 and written.count("MatMulInteger") == 2
    assert ("DynamicQuantizeLinear" in written) == (activation == "asymActivation")


def test_dynamic_alone_decides_and_says_what(tool, files):
    folder, feeds = files
    report = report_of(quantize(tool, folder, "--dynamic", "--json"))
    check(folder, feeds, 24)
    assert {one["outcome"] for one in report["nodes"] if one["op"] in ("Conv", "Gemm", "MatMul")} == {"dynamic"}


def test_only_the_operators_that_are_named(tool, files):
    folder, feeds = files
    quantize(tool, folder, "--dynamic", "--op-types", "MatMul")
    check(folder, feeds, 30)
    written = ops(onnx.load(folder / "net.q.onnx"))
    assert written.count("MatMulInteger") == 2 and "ConvInteger" not in written


@pytest.mark.parametrize("recipe, least, smaller", [("w8", 30, 2.5), ("w16", 70, 1.5), ("w4", 12, 1.9)])
def test_weights_alone(tool, files, recipe, least, smaller):
    folder, feeds = files
    report = report_of(quantize(tool, folder, "--recipe", recipe, "--json"))
    check(folder, feeds, least)
    before = sum(one["bytes_before"] for one in report["weights"])
    assert before / sum(one["bytes_after"] for one in report["weights"]) > smaller
    assert "QuantizeLinear" not in ops(onnx.load(folder / "net.q.onnx"))


@pytest.mark.parametrize("more, weights", [([], 5), (["--op-types", "Conv"], 3), (["--op-types", "MatMul"], 2)])
def test_weight_only_leaves_the_activations_of_any_preset_in_float(tool, files, more, weights):
    folder, feeds = files
    report = report_of(quantize(tool, folder, "--recipe", "int8x4", "--weight-only", *more, "--json"))
    check(folder, feeds, 10)
    assert [one["outcome"] for one in report["nodes"]].count("weights only") == weights
    assert "QuantizeLinear" not in ops(onnx.load(folder / "net.q.onnx"))
