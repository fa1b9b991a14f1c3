"""Rules for single tensors: given scales or ranges, another observer or width; and ONNX Runtime's TensorQuantOverrides, compared
with its own quantizer."""
import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from support.quantizing import in_onnxruntime, net, run_tool, samples

OVERRIDES = {
    "x": [{"quant_type": "QUInt8", "scale": 0.03, "zero_point": 120}],
    "r1": [{"rmin": 0.0, "rmax": 5.0}],
    "w1": [{"quant_type": "QInt8", "symmetric": True, "axis": 0, "scale": 0.004 * (i + 1), "zero_point": 0} for i in range(8)],
    "w3": [{"scale": 0.02, "zero_point": 0}],
}


def constants(model):
    return {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}


def in_numpy(key, value):
    """In the form that its quantizer (1.31) accepts."""
    if key == "quant_type":
        return getattr(QuantType, value)
    return value if key in ("symmetric", "axis") else np.array(value, np.int64 if key == "zero_point" else np.float32)


def quantized(tool, folder, recipe, *more, calib=True, code=0):
    folder.mkdir(exist_ok=True)
    onnx.save(net(), folder / "float.onnx")
    (folder / "recipe.yaml").write_text(recipe)
    arrays = samples(folder / "calib")
    given = ["--calib", folder / "calib"] if calib else []
    done = run_tool(tool, "quantize", folder / "float.onnx", "-o", folder / "q.onnx", "--recipe", folder / "recipe.yaml", *given, *more, code=code)
    return done if code else (onnx.load(folder / "q.onnx"), arrays, done)


def parameters_of(model, tensor):
    """Scale and zero point of the QuantizeLinear that takes the value, or of the DequantizeLinear of the constant."""
    held = constants(model)
    for node in model.graph.node:
        if (node.op_type == "QuantizeLinear" and node.input[0].startswith(tensor)) or (
                node.op_type == "DequantizeLinear" and node.input[0] == f"{tensor}_quantized"):
            return held[node.input[1]], held[node.input[2]]
    raise AssertionError(f"{tensor} is not quantized")


def test_a_tensor_has_the_given_parameters(tool, tmp_path):
    model, arrays, _ = quantized(tool, tmp_path, "global: int8\ntensor:\n  x: uint8 scale 0.03 zero_point 120\n  r1: {range: [0, 5]}\n"
                                 "  w1: {format: int8, symmetric: true, scale: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]}\n  w4: int4 sym channel\n  h2: percentile 99\n")
    scale, zero = parameters_of(model, "x")
    assert scale == np.float32(0.03) and zero == 120 and zero.dtype == np.uint8
    scale, zero = parameters_of(model, "r1")
    assert scale == np.float32(5 / 255) and zero == -128
    scale, _ = parameters_of(model, "w1")
    np.testing.assert_array_equal(scale, np.arange(1, 9, dtype=np.float32) * np.float32(0.1))
    assert next(one for one in model.graph.initializer if one.name == "w4_quantized").data_type == onnx.TensorProto.INT4
    plain, _, _ = quantized(tool, tmp_path / "plain", "global: int8\n")
    assert parameters_of(model, "h2")[0] < parameters_of(plain, "h2")[0]  # the percentile clips
    assert parameters_of(model, "d4")[0] != 0
    found = in_onnxruntime(tmp_path / "q.onnx", {"x": arrays[0]})
    assert np.isfinite(found[0]).all()


def test_overrides_match_onnx_runtimes_quantizer(tool, tmp_path):
    _, arrays, _ = quantized(tool, tmp_path, json.dumps({"global": {"weights": "int8 sym channel", "activations": "int8 asym"}, "TensorQuantOverrides": OVERRIDES}))
    ours = onnx.load(tmp_path / "q.onnx")

    class Reader(CalibrationDataReader):
        left = list(arrays)

        def get_next(self):
            return {"x": self.left.pop(0)} if self.left else None

    theirs = {name: [{key: in_numpy(key, value) for key, value in entry.items()} for entry in entries] for name, entries in OVERRIDES.items()}
    quantize_static(tmp_path / "float.onnx", tmp_path / "theirs.onnx", Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
                    extra_options={"TensorQuantOverrides": theirs, "QDQKeepRemovableActivations": True})
    peer = onnx.load(tmp_path / "theirs.onnx")
    for tensor in OVERRIDES:
        for mine, other in zip(parameters_of(ours, tensor), parameters_of(peer, tensor)):
            np.testing.assert_array_equal(mine.ravel(), other.ravel(), err_msg=tensor)
            assert mine.dtype == other.dtype, tensor
    for weight in ("w1", "w3"):
        np.testing.assert_array_equal(constants(ours)[f"{weight}_quantized"], constants(peer)[f"{weight}_quantized"])


def test_given_parameters_need_no_calibration(tool, tmp_path):
    model, _, _ = quantized(tool, tmp_path, "type: {Gemm: {weights: int8 sym channel, data_in: uint8 scale 0.01 zero_point 3, data_out: int8 range -4 4}}\n", calib=False)
    assert parameters_of(model, "f3") == parameters_of(model, "g3") == (np.float32(0.01), 3)  # Flatten is pass-through
    assert parameters_of(model, "d4") == (np.float32(8 / 255), -1)


def test_values_that_share_parameters_take_one_rule(tool, tmp_path):
    model, _, _ = quantized(tool, tmp_path, "global: int8\ntensor: {p3: range -3 3}\n")
    assert parameters_of(model, "s3") == parameters_of(model, "p3")  # MaxPool is pass-through
    done = quantized(tool, tmp_path / "differ", "global: int8\ntensor: {p3: range -3 3, s3: range -4 4}\n", code="error")
    assert "'s3'" in done.stderr and "'p3'" in done.stderr and "share" not in done.stdout


def test_formats_that_onnx_has_no_type_for_take_a_range_or_a_scale(tool, tmp_path):
    model, arrays, _ = quantized(tool, tmp_path, "global: {weights: fp6_e2m3 channel, activations: fp6_e2m3 minmax}\ntensor: {x: scale 0.5, h2: range -8 8}\n")
    assert any(np.array_equal(one, np.float32(0.5)) for one in constants(model).values())
    assert np.isfinite(in_onnxruntime(tmp_path / "q.onnx", {"x": arrays[0]})[0]).all()


@pytest.mark.parametrize(("rule", "words"), [
    ("x: scale -1", ["scale -1", "positive"]), ("x: scale 0", ["scale 0", "positive"]), ("x: scale .nan", ["scale"]), ("x: scale 1e-42", ["scale"]),
    ("x: scale 0.1 zero_point 300", ["zero_point 300", "-128 to 127"]), ("x: scale 0.1 zero_point 1.5", ["zero_point"]),
    ("x: zero_point 3", ["without a scale"]), ("x: int8 sym scale 0.1 zero_point 3", ["'sym' and zero_point 3"]),
    ("x: range 1 0", ["range 1 0", "lower first"]), ("x: range 1", ["range"]), ("x: scale 0.1 range 0 1", ["one of them"]),
    ("x: scale 0.1 percentile 99", ["either numbers"]), ("x: dynamic", ["cannot be dynamic"]), ("x: float", ["not whether"]),
    ("x: mxfp4_e2m1", ["cannot make it"]), ("nothing: scale 0.1", ["no tensor 'nothing'"]), ("r: scale 0.1", ["did you mean", "r1"]),
    ("x: {scale: [0.1, 0.2]}", ["one scale per tensor"]), ("w1: {scale: [0.1, 0.2]}", ["2 scales", "8"])])
def test_an_invalid_rule_is_an_error(tool, tmp_path, rule, words):
    done = quantized(tool, tmp_path, f"global: int8\ntensor: {{{rule}}}\n", code="error")
    assert all(word in done.stderr for word in words), done.stderr
    assert not (tmp_path / "q.onnx").exists()


@pytest.mark.parametrize(("overrides", "words"), [
    ({"x": [{"convert": {}}]}, ["convert"]), ({"x": []}, ["list"]), ({"x": [{"rmin": 0}]}, ["rmin and rmax"]), ({"x": [3]}, ["map"]),
    ({"w1": [{"axis": 1, "scale": 0.1}, {"scale": 0.2}, {"scale": 0.3}]}, ["axis 1", "axis 0"]), ({"x": [{"quant_type": "QInt9"}]}, ["QInt9"]),
    ({"w1": [{"scale": 0.1}, {"symmetric": True}]}, ["no scale"])])
def test_an_invalid_override_is_an_error(tool, tmp_path, overrides, words):
    done = quantized(tool, tmp_path, json.dumps({"global": "int8", "TensorQuantOverrides": overrides}), code="error")
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize(("weights", "words"), [
    ("int8 sym channel axis=1", ["axis 1", "axis 0"]), ("int8 sym channel axis=7", ["axis 7", "axis 0"]),
    ("int4 sym block 2 axis=0", ["axis 0", "axis 1"]), ("int8 sym axis=0", ["axis=0", "channel axis=0"])])
@pytest.mark.parametrize("rule", ["global: {{weights: {}}}", "type: {{Conv: {{weights: {}}}}}"])
def test_integers_have_scales_along_the_axis_of_the_node_only(tool, tmp_path, weights, words, rule):
    done = quantized(tool, tmp_path, rule.format(weights) + "\n", calib=False, code="error")
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize("axis", [0, -4])
def test_the_axis_of_the_node_may_be_named(tool, tmp_path, axis):
    named, _, _ = quantized(tool, tmp_path, f"type: {{Conv: {{weights: int8 sym channel axis={axis}}}}}\n", calib=False)
    plain, _, _ = quantized(tool, tmp_path / "plain", "type: {Conv: {weights: int8 sym channel}}\n", calib=False)
    assert named.SerializeToString() == plain.SerializeToString()
