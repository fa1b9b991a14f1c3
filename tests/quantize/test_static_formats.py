"""Formats with scales: calibrated for activations; per tensor, channel or block for weights. Types of QuantizeLinear are written with
it, and stock ONNX Runtime runs them, with and without its optimizer."""
import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.quantizing import Executor, net, run_tool

SEED = 7
FLOATS = {"fp8_e4m3": ml_dtypes.float8_e4m3fn, "fp8_e5m2": ml_dtypes.float8_e5m2, "fp8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
          "fp6_e2m3": ml_dtypes.float6_e2m3fn, "fp6_e3m2": ml_dtypes.float6_e3m2fn, "fp4_e2m1": ml_dtypes.float4_e2m1fn}


def nearest(x, scale, kind):
    """x / scale, rounded to a type of ml_dtypes with saturation, times the scale."""
    largest = np.float32(ml_dtypes.finfo(kind).max)
    return np.clip(x / scale, -largest, largest).astype(kind).astype(np.float32) * scale


def quantized(tool, folder, model, recipe, samples=(), *options):
    onnx.save(model, folder / "float.onnx")
    (folder / "recipe.yaml").write_text(recipe)
    calib = []
    if len(samples):
        (folder / "calib").mkdir()
        for i, one in enumerate(samples):
            np.savez(folder / "calib" / f"{i}.npz", x=one)
        calib = ["--calib", folder / "calib"]
    run_tool(tool, "quantize", folder / "float.onnx", "-o", folder / "q.onnx", "--recipe", folder / "recipe.yaml", *calib, *options)
    return onnx.load(folder / "q.onnx")


def in_onnxruntime(model, feeds, optimised=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def matmul(w):
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="matmul")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", w.shape[0]])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", w.shape[1]])], [numpy_helper.from_array(w, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def scales_of(w, largest, granularity):
    if granularity == "tensor":
        return np.float32(np.abs(w).max() / largest)
    if granularity == "channel":
        return (np.abs(w).max(0, keepdims=True) / largest).astype(np.float32)
    size = int(granularity.split()[1])
    return np.concatenate([np.repeat((np.abs(w[i:i + size]).max(0, keepdims=True) / largest).astype(np.float32), len(w[i:i + size]), 0)
                           for i in range(0, len(w), size)])


@pytest.mark.parametrize("granularity", ["tensor", "channel", "block 8"])
@pytest.mark.parametrize("name", FLOATS)
def test_weights_in_any_small_float_may_have_scales(tool, name, granularity, tmp_path):
    rng = np.random.default_rng(SEED)
    w = (rng.standard_normal((20, 6)) * np.exp2(rng.integers(-6, 6, 6))).astype(np.float32)
    model = quantized(tool, tmp_path, matmul(w), f"global: {{weights: {name} {granularity}}}")
    scale = scales_of(w, np.float64(ml_dtypes.finfo(FLOATS[name]).max), granularity)
    x = np.eye(20, dtype=np.float32)
    expected = nearest(w, scale, FLOATS[name])
    np.testing.assert_array_equal(Executor(model).run({"x": x})[0], expected)
    np.testing.assert_array_equal(in_onnxruntime(model, {"x": x})[0], expected)
    linear = [node for node in model.graph.node if node.op_type == "DequantizeLinear"]
    assert len(linear) == (1 if name.startswith("fp8") else 0)  # where ONNX Runtime has the type


@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz"])
def test_activations_in_8_bit_floats_have_calibrated_scales(tool, name, tmp_path):
    rng = np.random.default_rng(SEED)
    w = rng.standard_normal((16, 4)).astype(np.float32)
    samples = [rng.standard_normal((3, 16)).astype(np.float32) for _ in range(4)]
    model = quantized(tool, tmp_path, matmul(w), f"global: {{activations: {name} sym tensor minmax}}", samples)
    kind = FLOATS.get(name, ml_dtypes.float8_e5m2fnuz)
    scale = np.float32(np.abs(np.stack(samples)).max() / np.float64(ml_dtypes.finfo(kind).max))
    pair = next(node for node in model.graph.node if node.op_type == "QuantizeLinear")
    np.testing.assert_array_equal(next(numpy_helper.to_array(one) for one in model.graph.initializer if one.name == pair.input[1]), scale)
    x = (samples[0] * 1.5).astype(np.float32)  # some are out of range, and saturate
    expected = nearest(x, scale, kind) @ w
    np.testing.assert_allclose(Executor(model).run({"x": x})[0], expected, rtol=1e-5, atol=1e-5)
    for optimised in (True, False):
        np.testing.assert_allclose(in_onnxruntime(model, {"x": x}, optimised)[0], expected, rtol=1e-5, atol=1e-5)


def test_onnx_runtime_runs_a_net_of_8_bit_floats(tool, tmp_path):
    """Its optimizer would fuse convolutions and pooling into integer operators."""
    rng = np.random.default_rng(SEED)
    samples = [rng.standard_normal((1, 3, 16, 16)).astype(np.float32) for _ in range(4)]
    model = quantized(tool, tmp_path, net(), "global: fp8-static", samples)
    assert sum(node.op_type == "QuantizeLinear" for node in model.graph.node) >= 6
    ours = Executor(model).run({"x": samples[0]})[0]
    for optimised in (True, False):
        np.testing.assert_allclose(in_onnxruntime(model, {"x": samples[0]}, optimised)[0], ours, rtol=1e-3, atol=1e-3)
    right = in_onnxruntime(net(), {"x": samples[0]})[0]
    assert 10 * np.log10((right ** 2).sum() / ((right - ours) ** 2).sum()) > 20


@pytest.mark.parametrize("bits", [2, 3, 5, 6, 7, 9, 12, 15])
@pytest.mark.parametrize("kind", ["int", "uint"])
def test_activations_in_integers_of_any_width_are_calibrated(tool, kind, bits, tmp_path):
    rng = np.random.default_rng(SEED)
    w = rng.standard_normal((16, 4)).astype(np.float32)
    samples = [rng.uniform(-1, 3, (3, 16)).astype(np.float32) for _ in range(4)]
    model = quantized(tool, tmp_path, matmul(w), f"global: {{activations: {kind}{bits} asym}}", samples)
    all_of_them = np.stack(samples)
    low, high = min(0.0, float(all_of_them.min())), float(all_of_them.max())
    steps = 2 ** bits - 1
    scale = np.float32((high - low) / steps)
    first = -(2 ** (bits - 1)) if kind == "int" else 0
    zero = np.rint(np.clip(first - np.float32(low) / scale, first, first + steps))
    x = (samples[0] * 1.5).astype(np.float32)
    integers = np.clip(np.rint(x / scale) + zero, first, first + steps)
    expected = (integers - zero).astype(np.float32) * scale @ w
    np.testing.assert_allclose(Executor(model).run({"x": x})[0], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(in_onnxruntime(model, {"x": x}, optimised=False)[0], expected, rtol=1e-5, atol=1e-5)


def test_a_scale_without_a_zero_point_is_never_asymmetric(tool, tmp_path):
    onnx.save(matmul(np.ones((4, 4), np.float32)), tmp_path / "m.onnx")
    (tmp_path / "r.yaml").write_text("global: {activations: fp8_e4m3 asym minmax}")
    refused = run_tool(tool, "quantize", tmp_path / "m.onnx", "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "r.yaml", code="error")
    assert "fp8_e4m3 has no zero point" in refused.stderr


def grid(step, low, high):
    return lambda x: np.clip(np.rint(x / step), low, high).astype(np.float32) * np.float32(step)


def power(exponent):
    return float(2.0 ** exponent)


# Values quantized over the range ±`top`, by the formulas of docs/formats.md.
STATIC = {
    "fp6_e2m3 minmax": lambda top: lambda x: nearest(x, np.float32(top / 7.5), ml_dtypes.float6_e2m3fn),
    "fp4_e2m1 minmax": lambda top: lambda x: nearest(x, np.float32(top / 6), ml_dtypes.float4_e2m1fn),
    "fixed width 8 frac auto minmax": lambda top: grid(power(np.ceil(np.log2(top)) - 7), -128, 127),
    "fixed width 8 frac 5 minmax": lambda top: grid(power(-5), -128, 127),
    "mxint8 minmax": lambda top: grid(power(np.floor(np.log2(top)) - 6), -128, 127),
    "mxfp6_e2m3 minmax": lambda top: lambda x: nearest(x, np.float32(power(np.floor(np.log2(top)) - 2)), ml_dtypes.float6_e2m3fn),
    "mxfp8_e4m3 minmax": lambda top: lambda x: nearest(x, np.float32(power(np.floor(np.log2(top)) - 8)), ml_dtypes.float8_e4m3fn),
    "block_fp minmax": lambda top: grid(power(np.ceil(np.log2(top)) - 7), -127, 127),
    "block_fp width 12 minmax": lambda top: grid(power(np.ceil(np.log2(top)) - 11), -2047, 2047),
    "mx6 minmax": lambda top: grid(power(np.ceil(np.log2(top)) - 4), -15, 15),
}


@pytest.mark.parametrize("words", STATIC)
def test_formats_that_onnx_lacks_have_calibrated_scales_too(tool, words, tmp_path):
    rng = np.random.default_rng(SEED)
    w = rng.standard_normal((16, 4)).astype(np.float32)
    samples = [rng.uniform(-2.9, 2.9, (3, 16)).astype(np.float32) for _ in range(4)]
    samples[1][0, 0] = 2.9  # in the middle of a binade: the rounding of the largest value does not matter
    model = quantized(tool, tmp_path, matmul(w), f"global: {{activations: {words}}}", samples)
    x = (samples[0] * 1.5).astype(np.float32)
    expected = STATIC[words](float(np.abs(np.stack(samples)).max()))(x) @ w
    np.testing.assert_allclose(Executor(model).run({"x": x})[0], expected, rtol=1e-5, atol=1e-5)
    for optimised in (True, False):
        np.testing.assert_allclose(in_onnxruntime(model, {"x": x}, optimised)[0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("weights,data", [("mxint8", "mxint8 minmax"), ("fixed frac auto", "fixed frac auto minmax"), ("nvfp4", "nvfp4 minmax"),
                                          ("block_minifloat", "block_minifloat minmax"), ("log with_zero true", "block_log with_zero true minmax"),
                                          ("minifloat_denorm", "minifloat_denorm percentile 99.9"), ("mx9", "mx9 mse")])
def test_onnx_runtime_does_not_quantize_the_weights(tool, weights, data, tmp_path):
    """It would quantize them to int8 between Q/DQ pairs."""
    rng = np.random.default_rng(SEED)
    samples = [rng.standard_normal((1, 3, 16, 16)).astype(np.float32) for _ in range(4)]
    model = quantized(tool, tmp_path, net(), f"global: {{weights: {weights}, activations: {data}}}", samples)
    ours = Executor(model).run({"x": samples[0]})[0]
    for optimised in (True, False):
        found = in_onnxruntime(model, {"x": samples[0]}, optimised)[0]
        assert np.abs(found - ours).max() < 1e-3 * np.abs(ours).max()


def test_a_format_without_a_scale_is_not_calibrated(tool, tmp_path):
    onnx.save(matmul(np.ones((4, 4), np.float32)), tmp_path / "m.onnx")
    np.savez(tmp_path / "0.npz", x=np.ones((1, 4), np.float32))
    (tmp_path / "r.yaml").write_text("global: {activations: binary minmax}")
    refused = run_tool(tool, "quantize", tmp_path / "m.onnx", "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "r.yaml", "--calib",
                       tmp_path / "0.npz", code="error")
    assert "binary cannot be static" in refused.stderr
