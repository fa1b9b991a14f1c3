"""Models that are partly quantized in formats that ONNX lacks: those parts are kept bit for bit, the rest is quantized."""
import collections

import numpy as np
import onnx
import pytest
from support.quantizing import Executor, in_onnxruntime, net, run_tool, samples


def operators(path):
    return collections.Counter(node.op_type for node in onnx.load(path).graph.node)


def constants(path):
    return {one.name: one.SerializeToString() for one in onnx.load(path).graph.initializer}


@pytest.mark.parametrize("emit", ["portable", "packed"])
@pytest.mark.parametrize("second", ["w8", "int8", "dynamic-int8"])
@pytest.mark.parametrize("first", ["mxfp4_e2m1", "ternary", "block_fp"])
def test_weights_in_a_format_are_kept_and_the_rest_is_quantized(tool, tmp_path, first, second, emit):
    onnx.save(net(), tmp_path / "float.onnx")
    (tmp_path / "first.yaml").write_text(f"type: {{Gemm: {{weights: {first}, data_in: mxint8}}}}\n")
    arrays = samples(tmp_path / "calib")
    once, twice = tmp_path / "once.onnx", tmp_path / "twice.onnx"
    run_tool(tool, "quantize", tmp_path / "float.onnx", "-o", once, "--recipe", tmp_path / "first.yaml")
    done = run_tool(tool, "quantize", once, "-o", twice, "--recipe", second, "--calib", tmp_path / "calib", "--emit", emit)
    assert "part of the model is quantized already: that is kept" in done.stdout + done.stderr
    before, after = constants(once), constants(twice)
    kept = [name for name in before if name.startswith("w4")]  # the packed values and their scales
    assert kept and all(after[name] == before[name] for name in kept)
    kinds = operators(twice)
    assert kinds["DequantizeLinear"] + kinds["DynamicQuantizeLinear"] >= 1  # of the layers that were float
    assert any(name.startswith("Decode") for name in kinds) and any(name.startswith("QuantizeDequantize") for name in kinds)
    right = in_onnxruntime(once, {"x": arrays[0]})[0]
    if emit == "portable":
        assert len({one.name for one in onnx.load(twice).functions}) == len(onnx.load(twice).functions) == 2
        found = in_onnxruntime(twice, {"x": arrays[0]})[0]
    else:
        assert not onnx.load(twice).functions
        found = np.asarray(Executor(onnx.load(twice)).run({"x": arrays[0]})[0])
    assert 10 * np.log10((right**2).sum() / ((right - found) ** 2).sum()) > 15


def test_formats_without_an_onnx_type_cannot_be_kept_in_a_qdq_file(tool, tmp_path):
    onnx.save(net(), tmp_path / "float.onnx")
    (tmp_path / "first.yaml").write_text("type: {Gemm: {data_in: mxint8}}\n")
    run_tool(tool, "quantize", tmp_path / "float.onnx", "-o", tmp_path / "once.onnx", "--recipe", tmp_path / "first.yaml")
    done = run_tool(tool, "quantize", tmp_path / "once.onnx", "-o", tmp_path / "twice.onnx", "--recipe", "w8", "--emit", "qdq", code="error")
    assert "mxint8" in done.stderr and not (tmp_path / "twice.onnx").exists()


def test_a_fully_quantized_model_is_unchanged(tool, tmp_path):
    onnx.save(net(), tmp_path / "float.onnx")
    run_tool(tool, "quantize", tmp_path / "float.onnx", "-o", tmp_path / "once.onnx", "--recipe", "mxfp4")
    run_tool(tool, "quantize", tmp_path / "once.onnx", "-o", tmp_path / "twice.onnx", "--recipe", "w8")
    assert (tmp_path / "once.onnx").read_bytes() == (tmp_path / "twice.onnx").read_bytes()
