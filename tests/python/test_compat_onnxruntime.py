"""anybit.compat.onnxruntime: the calls of ONNX Runtime's tools, compared with the tools themselves."""
import contextlib
import inspect
import io
import logging
import re
import subprocess
import sys
from enum import Enum

import numpy as np
import onnx
import onnxruntime
import onnxruntime.quantization as theirs
import pytest
from onnxruntime.quantization.shape_inference import quant_pre_process
from support.tree import ROOT

import anybit
import anybit.compat.onnxruntime as ours

EXAMPLE = ROOT / "examples" / "from-onnxruntime" / "quantize_digits.py"
CALIBRATION = ((np.load(ROOT / "examples/digits/calibration_images.npy").astype(np.float32) / 255 - 0.1307) / 0.3081)[:40]


@pytest.fixture(scope="module", autouse=True)
def quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The digits as ONNX Runtime's own preprocessing writes them: without BatchNormalization, as in our results."""
    path = tmp_path_factory.mktemp("prepared") / "digits.onnx"
    quant_pre_process(str(ROOT / "examples/digits/digits.onnx"), str(path), skip_symbolic_shape=True)
    return path


def reader(tools):
    class Reader(tools.CalibrationDataReader):
        def __init__(self):
            self.left = iter(CALIBRATION)

        def get_next(self):
            image = next(self.left, None)
            return None if image is None else {"image": image[None]}
    return Reader()


def run(path, images):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, {"image": images})[0]


def decibels(expected, found):
    return 10 * np.log10(np.sum(expected**2) / np.sum((expected - found)**2))


def member(tools, kind, name):
    return getattr(getattr(tools, kind), name)


def plain(default):
    return default.name if isinstance(default, Enum) else default


@pytest.mark.parametrize("name", ["quantize_static", "quantize_dynamic"])
def test_arguments_and_defaults_are_those_of_onnx_runtime(name):
    def arguments(tools):
        return [(one.name, plain(one.default)) for one in inspect.signature(getattr(tools, name)).parameters.values()]
    assert arguments(ours) == arguments(theirs)


@pytest.mark.parametrize("kind", ["QuantType", "QuantFormat", "CalibrationMethod"])
def test_the_members_of_classes_are_those_of_onnx_runtime(kind):
    mine, other = getattr(ours, kind), getattr(theirs, kind)
    assert {one.name: one.value for one in mine} == {one.name: one.value for one in other}
    if kind == "QuantType":
        assert {one.name: one.tensor_type for one in mine} == {one.name: one.tensor_type for one in other}
    if kind != "CalibrationMethod":
        assert all(mine.from_string(one.name) is one and str(one) == str(other[one.name]) for one in mine)


STATIC = [
    {}, {"per_channel": True}, {"activation": "QUInt8"}, {"activation": "QUInt8", "weight": "QUInt8", "per_channel": True},
    {"activation": "QUInt8", "per_channel": True, "reduce_range": True}, {"activation": "QUInt8", "format": "QOperator"},
    {"weight": "QInt4", "per_channel": True}, {"activation": "QInt16", "options": {"ActivationSymmetric": True}, "per_channel": True},
    {"method": "Entropy"}, {"method": "Percentile"}, {"method": "Percentile", "options": {"CalibPercentile": 99.9}},
    {"options": {"WeightSymmetric": False}}, {"options": {"CalibTensorRangeSymmetric": True}},
    {"options": {"CalibMovingAverage": True}}, {"options": {"CalibMovingAverage": True, "CalibMovingAverageConstant": 0.1}},
    {"options": {"QuantizeBias": False}},
]


def static_arguments(tools, case):
    arguments = {name: case[name] for name in ("per_channel", "reduce_range") if name in case}
    for name, kind, key in (("activation_type", "QuantType", "activation"), ("weight_type", "QuantType", "weight"),
                            ("quant_format", "QuantFormat", "format"), ("calibrate_method", "CalibrationMethod", "method")):
        if key in case:
            arguments[name] = member(tools, kind, case[key])
    return {**arguments, "extra_options": dict(case.get("options", {}))}


@pytest.mark.parametrize("case", STATIC, ids=str)
def test_static_quantization_is_as_accurate_as_onnx_runtimes(prepared, tmp_path, images, labels, case):
    with contextlib.redirect_stdout(io.StringIO()):
        theirs.quantize_static(str(prepared), str(tmp_path / "theirs.onnx"), reader(theirs), **static_arguments(theirs, case))
    ours.quantize_static(str(prepared), str(tmp_path / "ours.onnx"), reader(ours), **static_arguments(ours, case))
    expected = run(prepared, images)
    mine, other = (run(tmp_path / name, images) for name in ("ours.onnx", "theirs.onnx"))
    assert decibels(expected, mine) > decibels(expected, other) - 2
    assert np.mean(mine.argmax(1) == labels) >= np.mean(other.argmax(1) == labels) - 0.01


@pytest.mark.parametrize("case", [{}, {"per_channel": True}, {"weight": "QUInt8"}, {"reduce_range": True}, {"op_types_to_quantize": ["MatMul"]}], ids=str)
def test_dynamic_quantization_is_as_accurate_as_onnx_runtimes(prepared, tmp_path, images, case):
    for tools in (theirs, ours):
        arguments = {name: value for name, value in case.items() if name != "weight"}
        if "weight" in case:
            arguments["weight_type"] = member(tools, "QuantType", case["weight"])
        tools.quantize_dynamic(str(prepared), str(tmp_path / f"{tools.__name__}.onnx"), **arguments)
    expected = run(prepared, images)
    mine, other = (tmp_path / f"{tools.__name__}.onnx" for tools in (ours, theirs))
    assert decibels(expected, run(mine, images)) > decibels(expected, run(other, images)) - 2
    count = {path: sum(node.op_type in ("ConvInteger", "MatMulInteger") for node in onnx.load(path).graph.node) for path in (mine, other)}
    assert count[mine] == count[other]


@pytest.mark.parametrize("chosen, quantized", [
    ({"op_types_to_quantize": ["Conv"]}, 6), ({"nodes_to_exclude": ["head/linear", "stem/conv"]}, 5),
    ({"nodes_to_quantize": ["head/linear", "stem/conv"]}, 2),
    ({"nodes_to_quantize": ["head/linear", "stem/conv"], "op_types_to_quantize": ["Conv"]}, 1),
    ({"nodes_to_quantize": ["stem/conv", "top/conv"], "nodes_to_exclude": ["top/conv"]}, 1)], ids=str)
def test_the_same_layers_are_quantized(prepared, tmp_path, chosen, quantized):
    def layers(path):
        """Layers whose weights are stored quantized."""
        model = onnx.load(path)
        made = {node.output[0]: node.op_type for node in model.graph.node}
        return {node.name.removesuffix("_quant") for node in model.graph.node if node.op_type in ("Conv", "Gemm") and made.get(node.input[1]) == "DequantizeLinear"}
    for tools in (theirs, ours):
        tools.quantize_static(str(prepared), str(tmp_path / f"{tools.__name__}.onnx"), reader(tools), **chosen)
    mine, other = (layers(tmp_path / f"{tools.__name__}.onnx") for tools in (ours, theirs))
    assert mine == other and len(mine) == quantized


def test_names_that_the_model_does_not_have_are_ignored_with_a_warning(digits, tmp_path):
    with pytest.warns(UserWarning, match="nodes_to_exclude: the model has no node 'nowhere'"):
        ours.quantize_static(digits, tmp_path / "q.onnx", reader(ours), nodes_to_exclude=["nowhere"])


def documented_options():
    return re.findall(r"^\s{4,}([\w.]+) = ", inspect.getdoc(theirs.quantize_static).split("extra_options:")[1], re.M)


@pytest.mark.parametrize("name", documented_options())
def test_every_documented_option_is_honoured_or_refused_with_its_reason(digits, tmp_path, name):
    values = {"OpTypesToExcludeOutputQuantization": ["Conv"], "QDQOpTypePerChannelSupportToAxis": {"MatMul": 1}, "MinimumRealRange": 0.1,
              "CalibStridedMinMax": 5, "CalibMaxIntermediateOutputs": 5, "CalibMovingAverageConstant": 0.1, "SmoothQuantAlpha": 0.4,
              "TensorQuantOverrides": {"image": [{"symmetric": True}]}}
    for value in (values.get(name, True), {"CalibStridedMinMax": None, "CalibMaxIntermediateOutputs": None, "MinimumRealRange": None}.get(name, type(values.get(name, True))())):
        try:
            ours.quantize_static(digits, tmp_path / "q.onnx", reader(ours), extra_options={name: value})
        except anybit.Unsupported as error:
            assert value and name in error.message and ":" in error.message


def test_what_is_refused():
    call = {"model_input": ROOT / "examples/digits/digits.onnx", "model_output": "never.onnx", "calibration_data_reader": reader(ours)}
    for arguments, words in [({"extra_options": {"ActivationSymetric": True}}, "has no 'ActivationSymetric'"),
                             ({"calibration_providers": ["CUDAExecutionProvider"]}, "calibration runs on the CPU"),
                             ({"calibrate_method": ours.CalibrationMethod.Distribution}, "Distribution"),
                             ({"weight_type": ours.QuantType.QFLOAT8E4M3FN}, "QFLOAT8E4M3FN for both"), ({"weight_type": "QInt9"}, "QuantType.QInt8"),
                             ({"calibration_data_reader": None}, "neither a calibration_data_reader")]:
        with pytest.raises(anybit.Error, match=words):
            ours.quantize_static(**{**call, **arguments})


def test_classes_of_onnx_runtime_itself_are_taken(digits, tmp_path):
    made = ours.quantize_static(onnx.load(digits), tmp_path / "q.onnx", reader(theirs), theirs.QuantFormat.QDQ, weight_type=theirs.QuantType.QUInt8,
                                calibrate_method=theirs.CalibrationMethod.Percentile)
    assert made.report.samples == len(CALIBRATION)
    assert issubclass(type(reader(theirs)), ours.CalibrationDataReader)


def test_float8_has_both_tensors_in_float8(digits, tmp_path, images):
    float8 = ours.QuantType.QFLOAT8E4M3FN
    ours.quantize_static(digits, tmp_path / "q.onnx", reader(ours), activation_type=float8, weight_type=float8, per_channel=True)
    assert decibels(run(digits, images), run(tmp_path / "q.onnx", images)) > 20


def test_ranges_are_kept_in_the_cache_and_read_from_it(digits, tmp_path):
    cache = tmp_path / "ranges.json"
    first = ours.quantize_static(digits, tmp_path / "a.onnx", reader(ours), nodes_to_exclude=["top/conv"], calibration_cache_path=cache)
    second = ours.quantize_static(digits, tmp_path / "b.onnx", None, nodes_to_exclude=["top/conv"], calibration_cache_path=cache)
    assert cache.is_file() and first.to_bytes() == second.to_bytes()


def test_external_data(digits, tmp_path):
    ours.quantize_dynamic(digits, tmp_path / "q.onnx", use_external_data_format=True)
    assert len(list(tmp_path.iterdir())) == 2


def test_subgraphs_stay_in_float_unless_they_are_enabled(tmp_path):
    from support import torch_files

    model, samples = torch_files.conditional(), [{"x": np.full((1, 4), sign, np.float32)} for sign in (-1, 1)]

    class Reader(ours.CalibrationDataReader):
        def __init__(self):
            self.left = iter(samples)

        def get_next(self):
            return next(self.left, None)
    made = ours.quantize_static(model, tmp_path / "q.onnx", Reader(), extra_options={"EnableSubgraph": True})
    assert {node.outcome for node in made.report.nodes if node.op == "Gemm"} == {"quantized"}
    with pytest.raises(anybit.InvalidArgument, match="finds nothing to quantize"):
        ours.quantize_static(model, tmp_path / "q.onnx", Reader())


@pytest.mark.parametrize("tools", ["anybit.compat.onnxruntime", "onnxruntime.quantization"])
def test_the_example_runs_with_either_import(tmp_path, images, labels, tools):
    script = tmp_path / "examples" / "from" / "script.py"
    script.parent.mkdir(parents=True)
    (tmp_path / "examples" / "digits").symlink_to(ROOT / "examples" / "digits")
    text = EXAMPLE.read_text()
    assert text.count("anybit") == 1
    script.write_text(text.replace("anybit.compat.onnxruntime", tools))
    environment = {"PYTHONPATH": str(sys.modules["anybit"].__path__[0] + "/..")}
    subprocess.run([sys.executable, script, tmp_path], check=True, env=environment, capture_output=True, timeout=120)
    for name in ("static.onnx", "dynamic.onnx"):
        assert np.mean(run(tmp_path / name, images).argmax(1) == labels) > 0.97
