"""Binary GEMM: the fusion of a binary input, a binary weight and a linear operator, compared with the unfused steps."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor

ANYBIT = "ai.anybit"


def model_of(op="MatMul", depth=100, width=70, transposed=False, bias=False, data="binary scale=mean", weight="binary scale=mean",
             shape=("m",)):
    rng = np.random.default_rng(5)
    dims = [width, depth] if transposed else [depth, width]
    axis = 0 if transposed else 1
    codes = np.packbits(rng.integers(0, 2, dims), axis=1, bitorder="little")
    constants = {"codes": codes}
    if "scale=mean" in weight:
        constants["scale"] = (rng.random((width, 1) if transposed else (1, width)) + 0.1).astype(np.float32)
    if bias:
        constants["bias"] = rng.standard_normal(width).astype(np.float32)
    about = dict(transB=int(transposed), alpha=0.5, beta=2.0) if op == "Gemm" else {}
    nodes = [helper.make_node("QuantizeDequantize", ["x"], ["q"], domain=ANYBIT, format=data),
             helper.make_node("Decode", [name for name in constants if name != "bias"], ["w"], domain=ANYBIT,
                              format=f"{weight} granularity=channel axis={axis} rank=2", coded=dims, dims=dims),
             helper.make_node(op, ["q", "w"] + (["bias"] if bias else []), ["y"], **about)]
    graph = helper.make_graph(nodes, "binary", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [*shape, depth])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(ANYBIT, 1)], ir_version=10)


def names(executor):
    return [step.split(":")[-1] for step in executor.steps()]


def same(model, x, **about):
    fused, plain = Executor(model, **about), Executor(model, fuse=False)
    assert fused.steps() == ["ai.anybit:BinaryMatMul"]
    expected, = plain.run({"x": x})
    # Sums of the unfused steps are rounded: the tolerance is relative to their terms.
    np.testing.assert_allclose(fused.run({"x": x})[0], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("op,transposed,bias", [("MatMul", False, False), ("Gemm", False, True), ("Gemm", True, False),
                                                ("Gemm", True, True)])
@pytest.mark.parametrize("depth,width", [(100, 70), (7, 3), (1300, 130)])
def test_a_binary_gemm_matches_the_decoded_tensors(op, transposed, bias, depth, width):
    for rows in (1, 3, 40):
        x = np.random.default_rng(rows).standard_normal((rows, depth)).astype(np.float32)
        same(model_of(op, depth, width, transposed, bias), x, threads=2)


@pytest.mark.parametrize("data", ["binary", "binary scale=mean"])
@pytest.mark.parametrize("weight", ["binary", "binary scale=mean"])
def test_scales_may_be_left_out(data, weight):
    same(model_of(data=data, weight=weight), np.random.default_rng(1).standard_normal((5, 100)).astype(np.float32))


def test_batches_of_matrices_share_one_scale():
    x = np.random.default_rng(2).standard_normal((2, 3, 4, 100)).astype(np.float32) * [[[[1]]], [[[9]]]]
    same(model_of(shape=("a", "b", "m")), x.astype(np.float32))


@pytest.mark.parametrize("special", [0.0, -0.0, np.nan, np.inf, -np.inf])
def test_special_values_have_the_sign_of_the_format(special):
    x = np.random.default_rng(3).standard_normal((4, 100)).astype(np.float32)
    x[1, ::7] = special
    same(model_of(), x)
    same(model_of(), np.full((2, 100), special, np.float32))


@pytest.mark.parametrize("data,weight", [("binary bipolar=false scale=mean", "binary scale=mean"),
                                         ("binary scale=mean", "binary bipolar=false scale=mean"),
                                         ("binary scale=mean granularity=channel axis=0", "binary scale=mean"),
                                         ("ternary", "binary scale=mean")])
def test_other_formats_are_not_fused(data, weight):
    assert "BinaryMatMul" not in names(Executor(model_of(data=data, weight=weight)))


def test_a_quantized_input_with_other_consumers_is_still_computed():
    model = model_of()
    model.graph.output.append(helper.make_tensor_value_info("q", TensorProto.FLOAT, None))
    executor = Executor(model)
    assert sorted(names(executor)) == ["BinaryMatMul", "QuantizeDequantize"]
    x = np.random.default_rng(4).standard_normal((3, 100)).astype(np.float32)
    for fused, plain in zip(executor.run({"x": x}), Executor(model, fuse=False).run({"x": x})):
        np.testing.assert_allclose(fused, plain, rtol=1e-5, atol=1e-4)


def test_a_matrix_of_another_depth_is_rejected():
    with pytest.raises(Exception, match="99"):
        Executor(model_of(shape=())).run({"x": np.ones(99, np.float32)})
    model = model_of()
    model.graph.input[0].type.tensor_type.shape.dim[1].ClearField("dim_value")
    with pytest.raises(Exception, match="99"):
        Executor(model).run({"x": np.ones((2, 99), np.float32)})


def test_codes_of_the_wrong_length_are_rejected_by_name():
    model = model_of()
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.zeros((100, 8), np.uint8), "codes"))
    with pytest.raises(Exception, match="bytes of packed data"):
        Executor(model).run({"x": np.zeros((1, 100), np.float32)})


def conv_of(channels=16, outputs=24, kernel=(3, 3), bias=True, **about):
    rng = np.random.default_rng(7)
    depth = channels // about.get("group", 1) * int(np.prod(kernel))
    constants = {"codes": np.packbits(rng.integers(0, 2, (outputs, depth)), axis=1, bitorder="little"),
                 "scale": (rng.random((outputs, 1)) + 0.1).astype(np.float32)}
    nodes = [helper.make_node("QuantizeDequantize", ["x"], ["q"], domain=ANYBIT, format="binary scale=mean"),
             helper.make_node("Decode", list(constants), ["w"], domain=ANYBIT, coded=[outputs, depth],
                              dims=[outputs, channels // about.get("group", 1), *kernel],
                              format="binary scale=mean granularity=channel axis=0 rank=2"),
             helper.make_node("Conv", ["q", "w"] + (["bias"] if bias else []), ["y"], **about)]
    if bias:
        constants["bias"] = rng.standard_normal(outputs).astype(np.float32)
    shape = ["n", channels] + [None] * len(kernel)
    graph = helper.make_graph(nodes, "binary", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(ANYBIT, 1)], ir_version=10)


@pytest.mark.parametrize("about", [
    dict(), dict(pads=[1] * 4), dict(pads=[2, 0, 1, 3], strides=[2, 1], bias=False), dict(pads=[2] * 4, dilations=[2, 2]),
    dict(group=2, pads=[1] * 4), dict(kernel=(1, 1)), dict(channels=3, outputs=70, auto_pad="SAME_UPPER"),
    dict(kernel=(3,), pads=[1, 1]), dict(kernel=(2, 3, 2), pads=[1, 0, 1, 0, 1, 0]), dict(channels=150, pads=[1] * 4)])
def test_padding_of_a_binary_convolution_counts_as_zero(about):
    model = conv_of(**about)
    fused = Executor(model, threads=2)
    assert fused.steps() == ["ai.anybit:BinaryConv"]
    rank = len(about.get("kernel", (3, 3)))
    x = np.random.default_rng(8).standard_normal((2, about.get("channels", 16), *(9, 7, 8)[:rank])).astype(np.float32)
    expected, = Executor(model, fuse=False).run({"x": x})
    np.testing.assert_allclose(fused.run({"x": x})[0], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_a_depthwise_convolution_is_not_fused():
    assert "BinaryConv" not in names(Executor(conv_of(16, 16, group=16)))
