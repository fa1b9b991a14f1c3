"""What onnx-mlir's documentation promises of quantization for NNPA, in ONNX Runtime and against its equations in numpy."""
import json

import numpy as np
import onnx
import onnxruntime.quantization
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.promises import promise
from support.quantizing import decibels, in_anybit, in_onnxruntime, net, ops, run_tool, samples

NNPA = ["-maccel=NNPA", "-march=arch15"]
COMBINATIONS = [f"{data},{weight}" for data in ("symActivation", "asymActivation") for weight in ("symWeight", "asymWeight")]
# Values of both signs, of one, far from zero, all equal, all zero.
DATA = [np.linspace(-3, 5, 24), np.linspace(0.1, 7, 24), np.linspace(-9, -8, 24), np.full(24, 2.5), np.full(24, -2.5), np.zeros(24)]


@pytest.fixture
def folder(tmp_path):
    onnx.save(net(), tmp_path / "net.onnx")
    return tmp_path


def quantize(tool, folder, *arguments, code=0):
    done = run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "q.onnx", *NNPA, "--json", *arguments, code=code)
    return json.loads(done.stdout)


def written(folder):
    model = onnx.load(folder / "q.onnx")
    onnx.checker.check_model(model, full_check=True)
    return model


def outcomes(report, *types):
    return {one["outcome"] for one in report["nodes"] if one["op"] in types}


def constants(model):
    return {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}


def one_matmul(folder, weight):
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, weight.shape[0]])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, weight.shape[1]])],
                              [numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")


def weight_of(folder):
    """The quantized weight of the only MatMulInteger, its scale and its zero point."""
    model = written(folder)
    stored = constants(model)
    node, = [node for node in model.graph.node if node.op_type == "MatMulInteger"]
    zero = stored[node.input[3]] if len(node.input) > 3 and node.input[3] else np.int8(0)
    scale, = [value for name, value in stored.items() if value.dtype == np.float32 and "w" in name and "scale" in name]
    return stored[node.input[1]], scale, zero


def data_of(folder, x):
    """The quantized activation of the only MatMulInteger on these values, its scale and its zero point."""
    model = written(folder)
    node, = [node for node in model.graph.node if node.op_type == "MatMulInteger"]
    linear, = [one for one in model.graph.node if one.op_type == "QuantizeLinear" and node.input[0] in one.output]
    model = onnx.shape_inference.infer_shapes(model)
    known = {one.name: one for one in model.graph.value_info}
    stored = constants(model)
    wanted = [node.input[0], *linear.input[1:]]
    computed = [name for name in wanted if name not in stored]
    model.graph.output.extend(known[name] for name in computed)
    found = dict(zip(computed, in_onnxruntime(model.SerializeToString(), {"x": x})[1:]))
    values = [found[name] if name in found else stored[name] for name in wanted]
    return values if len(values) == 3 else [*values, np.int8(0)]


def symmetric(x):
    largest = np.abs(x).max()
    return (np.float32(largest) / np.float32(127) if largest else None), 0


def asymmetric(x):
    low, high = np.float32(min(0, x.min())), np.float32(max(0, x.max()))
    if low == high:
        return None, None
    scale = (high - low) / np.float32(255)
    return scale, np.rint(np.clip(-128 - low / scale, -128, 127))


@promise("nnpa", 1, "Without a quantization flag a model computes in 16-bit floats on the accelerator, and in float32 on the CPU.")
def test_the_default_mode_is_mixed_precision(tool, folder):
    report = quantize(tool, folder)
    assert {one["to"] for one in report["nodes"] if one["op"] in ("Conv", "Gemm", "MatMul")} == {"float16, float16"}
    model = onnx.shape_inference.infer_shapes(written(folder))
    types = {one.name: one.type.tensor_type.elem_type for one in [*model.graph.value_info, *model.graph.output]}
    layers = [node for node in model.graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]
    assert {types[node.output[0]] for node in layers} == {TensorProto.FLOAT16} and types["y"] == TensorProto.FLOAT
    feeds = {"x": np.concatenate(samples(folder / "data"))}
    reference = in_onnxruntime(folder / "net.onnx", feeds)[0]
    for run in (in_onnxruntime, in_anybit):
        assert decibels(reference, run(folder / "q.onnx", feeds)[0]) > 50


@promise("nnpa", 1, "Without a quantization flag a model computes in 16-bit floats on the accelerator, and in float32 on the CPU.")
def test_what_float16_cannot_hold_stays_in_float32(tool, folder):
    """A weight shows it by itself, an activation on calibration data."""
    model = net()
    weight, = [one for one in model.graph.initializer if one.name == "w5"]
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1e6), "w5"))
    onnx.save(model, folder / "net.onnx")
    node, = [one for one in quantize(tool, folder)["nodes"] if one["op"] == "MatMul"]
    assert node["outcome"] == "float" and "'w5' reaches" in node["reason"] and "float16 cannot hold" in node["reason"]
    onnx.save(net(), folder / "net.onnx")
    np.save(folder / "large.npy", np.full((1, 3, 16, 16), 50000, np.float32))
    report = quantize(tool, folder, "--calib", folder / "large.npy")
    left = [one for one in report["nodes"] if one["op"] in ("Conv", "Gemm", "MatMul") and one["outcome"] == "float"]
    assert left and all("on the calibration data, which float16 cannot hold" in one["reason"] for one in left)
    written(folder)


@promise("nnpa", 2, "A model that another framework quantized, statically or dynamically, keeps its 8-bit operators without any flag.")
@pytest.mark.parametrize("how", ["static", "dynamic"])
def test_a_quantized_model_keeps_its_operators(tool, folder, how):
    arrays = samples(folder / "data")

    class Reader(onnxruntime.quantization.CalibrationDataReader):
        left = iter(arrays)

        def get_next(self):
            return next(({"x": one} for one in self.left), None)

    (folder / "net.onnx").rename(folder / "float.onnx")
    if how == "static":
        onnxruntime.quantization.quantize_static(folder / "float.onnx", folder / "net.onnx", Reader(),
                                                 quant_format=onnxruntime.quantization.QuantFormat.QOperator)
    else:
        onnxruntime.quantization.quantize_dynamic(folder / "float.onnx", folder / "net.onnx")
    integers = {"QLinearConv", "QLinearMatMul", "QGemm", "ConvInteger", "MatMulInteger"}
    before = [op for op in ops(onnx.load(folder / "net.onnx")) if op in integers]
    quantize(tool, folder)
    assert before and [op for op in ops(onnx.load(folder / "q.onnx")) if op in integers] == before


@promise("nnpa", 3, "A float32 model is quantized dynamically, without calibration data.")
def test_a_float_model_is_quantized_dynamically(tool, folder):
    report = quantize(tool, folder, "--nnpa-quant-dynamic=asymActivation,symWeight")
    assert report["samples"] == 0 and outcomes(report, "MatMul", "Gemm") == {"dynamic"}
    feeds = {"x": np.concatenate(samples(folder / "data"))}
    reference = in_onnxruntime(folder / "net.onnx", feeds)[0]
    for run in (in_onnxruntime, in_anybit):
        assert decibels(reference, run(folder / "q.onnx", feeds)[0]) > 24


@promise("nnpa", 4, "Scales and zero points are scalars, one per tensor.")
@pytest.mark.parametrize("how", COMBINATIONS)
def test_scales_and_zero_points_are_scalars(tool, folder, how):
    quantize(tool, folder, f"--nnpa-quant-dynamic={how}")
    stored = constants(written(folder))
    parameters = {name: value for name, value in stored.items() if "scale" in name or "zero_point" in name}
    assert parameters and all(value.size == 1 for value in parameters.values())


@promise("nnpa", 5, "The quantized type is int8.")
@pytest.mark.parametrize("how", COMBINATIONS)
def test_the_quantized_type_is_int8(tool, folder, how):
    quantize(tool, folder, f"--nnpa-quant-dynamic={how}")
    model = onnx.shape_inference.infer_shapes(written(folder))
    types = {one.name: one.type.tensor_type.elem_type for one in model.graph.value_info}
    types |= {one.name: one.data_type for one in model.graph.initializer}
    nodes = [node for node in model.graph.node if node.op_type == "MatMulInteger"]
    assert len(nodes) == 2 and {types[name] for node in nodes for name in node.input if name} == {TensorProto.INT8}


@promise("nnpa", 6, "-maccel=NNPA -march=arch15 is the machine with quantization.")
@pytest.mark.parametrize("flags", [["-maccel=NNPA", "-march=arch15"], ["--maccel=NNPA", "--march=z17"], ["--maccel", "NNPA", "-mcpu=z17"]])
def test_the_flags_of_the_machine(tool, folder, flags):
    run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "q.onnx", *flags, "--nnpa-quant-dynamic=symActivation")
    metadata = {one.key: one.value for one in written(folder).metadata_props}
    assert metadata["anybit.target"] == "nnpa" and ops(written(folder)).count("MatMulInteger") == 2


@promise("nnpa", 6, "-maccel=NNPA -march=arch15 is the machine with quantization.")
@pytest.mark.parametrize("flags, said", [(["-march=z16"], "-march=arch15"), (["-maccel=NPU"], "-maccel=NNPA"),
                                         (["-maccel=NNPA", "--target", "ort"], "contradict")])
def test_another_machine_is_an_error(tool, folder, flags, said):
    done = run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "q.onnx", *flags, code=2)
    assert said in done.stderr


@promise("nnpa", 7, "What is in 8-bit integers already is not quantized again.")
def test_integers_are_not_quantized_again(tool, folder):
    quantize(tool, folder, "--nnpa-quant-dynamic=symActivation,symWeight", "--nnpa-quant-op-types=MatMul")
    (folder / "q.onnx").rename(folder / "net.onnx")
    report = quantize(tool, folder, "--nnpa-quant-dynamic=asymActivation,asymWeight")
    assert any("quantized already" in one for one in report["remarks"])
    assert ops(onnx.load(folder / "q.onnx")) == ops(onnx.load(folder / "net.onnx"))


@promise("nnpa", 8, "--nnpa-quant-op-types names the operators to quantize; what the accelerator does not run is not an error.")
@pytest.mark.parametrize("types", ["MatMul,Conv", "MatMul, Conv", "Conv ,MatMul"])
def test_operators_are_quantized_by_type(tool, folder, types):
    report = quantize(tool, folder, "--nnpa-quant-dynamic", f"--nnpa-quant-op-types={types}")
    assert outcomes(report, "MatMul", "Gemm") == {"dynamic"} and outcomes(report, "Conv") == {"float"}
    assert any(one.startswith("Conv: nnpa does not run it") for one in report["remarks"])
    assert "error" in quantize(tool, folder, "--nnpa-quant-dynamic", f"--nnpa-quant-op-types={types}", "--strict", code=2)


@promise("nnpa", 9, "symActivation or asymActivation, symWeight or asymWeight choose the scheme of each of the two.")
@pytest.mark.parametrize("how", COMBINATIONS)
def test_each_of_the_four_combinations(tool, folder, how):
    report = quantize(tool, folder, f"--nnpa-quant-dynamic={how.replace(',', ', ')}")
    data, weight = ("asym" if word.startswith("asym") else "sym" for word in how.split(","))
    assert {one["to"] for one in report["nodes"] if one["outcome"] == "dynamic"} == {f"int8 {data} dynamic, int8 {weight}"}
    feeds = {"x": np.concatenate(samples(folder / "data"))}
    assert decibels(in_onnxruntime(folder / "q.onnx", feeds)[0], in_anybit(folder / "q.onnx", feeds)[0]) > 40


@promise("nnpa", 10, "--nnpa-quant-dynamic alone decides the scheme and the operators by itself.")
@pytest.mark.parametrize("calibrated", [False, True])
def test_the_flag_alone_decides(tool, folder, calibrated):
    """Each layer gets the scheme with which its output is about as close as with the best, and the report says why."""
    rng = np.random.default_rng(3)
    wide = rng.standard_normal((64, 64)).astype(np.float32)
    weights = {"even": wide, "one_sided": np.abs(wide), "outlier": rng.standard_normal((64, 1024)), "narrow": wide[:, :1]}
    weights["one_sided"][5, 5] = 30
    weights["outlier"][7, 7] = 200
    nodes = [helper.make_node("Relu", ["x"], ["r"])]
    nodes += [helper.make_node("MatMul", ["r" if name == "even" else "x", name], [f"y_{name}"], name=name) for name in weights]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 64])],
                              [helper.make_tensor_value_info(f"y_{name}", TensorProto.FLOAT, [None, weight.shape[1]])
                               for name, weight in weights.items()],
                              [numpy_helper.from_array(weight.astype(np.float32), name) for name, weight in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    x = rng.standard_normal((16, 64)).astype(np.float32)
    np.save(folder / "x.npy", x)
    report = quantize(tool, folder, "--nnpa-quant-dynamic", *(["--calib", folder / "x.npy"] if calibrated else []))
    made = {one["name"]: one for one in report["nodes"]}
    assert made["even"]["to"] == "int8 asym dynamic, int8 sym"  # never negative after the Relu
    assert made["one_sided"]["to"].endswith("int8 asym")
    assert made["outlier"]["outcome"] == "float" and "below 20 dB" in made["outlier"]["reason"]
    assert made["narrow"]["outcome"] == "float" and "not slower" in made["narrow"]["reason"]
    said = "on the calibration data" if calibrated else "by the weights"
    assert all(said in one["reason"] for name, one in made.items() if name in weights)
    reference, ours = in_onnxruntime(folder / "net.onnx", {"x": x}), in_onnxruntime(folder / "q.onnx", {"x": x})
    assert min(decibels(a, b) for a, b in zip(reference, ours)) > 28


@promise("nnpa", 11, "Asymmetric: scale = (max(0, max x) - min(0, min x)) / 255, zero point = round(saturate(-128 - min x / scale)).")
@pytest.mark.parametrize("values", DATA)
def test_the_equations_of_asymmetric_quantization(tool, folder, values):
    weight = np.resize(values[::-1], (24, 5)).astype(np.float32)
    x = values.reshape(1, 24).astype(np.float32)
    one_matmul(folder, weight)
    quantize(tool, folder, "--nnpa-quant-dynamic=asymActivation,asymWeight")
    for tensor, (_, scale, zero_point) in ((weight, weight_of(folder)), (x, data_of(folder, x))):
        wanted_scale, wanted_zero = asymmetric(tensor)
        if wanted_scale is not None:
            np.testing.assert_allclose(scale, wanted_scale, rtol=3e-7)
            assert int(zero_point) == wanted_zero


@promise("nnpa", 12, "The range of asymmetric quantization includes 0, and zero is represented exactly.")
@pytest.mark.parametrize("values", DATA)
def test_the_range_includes_zero(tool, folder, values):
    one_matmul(folder, np.resize(values, (24, 5)).astype(np.float32))
    quantize(tool, folder, "--nnpa-quant-dynamic=asymActivation,asymWeight")
    for q, scale, zero_point in (weight_of(folder), data_of(folder, values.reshape(1, 24).astype(np.float32))):
        assert -128 <= int(zero_point) <= 127 and q.dtype == np.int8


@promise("nnpa", 13, "Symmetric: scale = max|x| / 127, zero point = 0.")
@pytest.mark.parametrize("values", DATA)
def test_the_equations_of_symmetric_quantization(tool, folder, values):
    weight = np.resize(values[::-1], (24, 5)).astype(np.float32)
    x = values.reshape(1, 24).astype(np.float32)
    one_matmul(folder, weight)
    quantize(tool, folder, "--nnpa-quant-dynamic=symActivation,symWeight")
    for tensor, (_, scale, zero_point) in ((weight, weight_of(folder)), (x, data_of(folder, x))):
        assert int(zero_point) == 0
        if symmetric(tensor)[0] is not None:
            np.testing.assert_allclose(scale, symmetric(tensor)[0], rtol=3e-7)


@promise("nnpa", 14, "A quantized value is x / scale + zero_point, rounded to the nearest integer and saturated to -128 … 127.")
@pytest.mark.parametrize("how", COMBINATIONS)
def test_values_are_rounded_to_nearest(tool, folder, how):
    rng = np.random.default_rng(11)
    weight = rng.standard_normal((96, 40)).astype(np.float32)
    x = (rng.standard_normal((7, 96)) * 3 + 1).astype(np.float32)
    one_matmul(folder, weight)
    quantize(tool, folder, f"--nnpa-quant-dynamic={how}")
    for tensor, (q, scale, zero_point) in ((weight, weight_of(folder)), (x, data_of(folder, x))):
        exact = tensor.astype(np.float64) / np.float64(scale) + int(zero_point)
        assert np.abs(q - np.clip(exact, -128, 127)).max() <= 0.5 + 1e-4
        np.testing.assert_array_equal(q, np.clip(np.rint(tensor / scale) + int(zero_point), -128, 127))


@promise("nnpa", 14, "A quantized value is x / scale + zero_point, rounded to the nearest integer and saturated to -128 … 127.")
def test_refinements_are_applied_on_request_only(tool, folder):
    assert all(one["rounded_for_sums"] == 0 for one in quantize(tool, folder, "--recipe", "nnpa")["weights"])
    asked = quantize(tool, folder, "--recipe", "nnpa", "--refine", "sums")["weights"]
    assert any(one["rounded_for_sums"] > 0 for one in asked)


@promise("nnpa", 15, "Users can try the schemes and compare them: asymmetric is the more accurate, symmetric the faster.")
def test_schemes_can_be_compared(tool, folder):
    samples(folder / "data")
    found = {}
    for how in COMBINATIONS:
        quantize(tool, folder, f"--nnpa-quant-dynamic={how}")
        done = run_tool(tool, "compare", folder / "net.onnx", folder / "q.onnx", "--data", folder / "data", "--json")
        found[how] = json.loads(done.stdout)["outputs"][0]["sqnr_db"]
    assert min(found.values()) > 24
    reasons = [one["reason"] for one in quantize(tool, folder, "--nnpa-quant-dynamic", "--op-types", "MatMul")["nodes"]]
    told = [reason for reason in reasons if "of the cost of float" in reason]
    assert told and all(f"{how} " in reason for how in COMBINATIONS for reason in told)
