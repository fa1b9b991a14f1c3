"""Weights that stay packed: what fusion makes of Decode and a product, beside the decoded weights."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from executing import Executor

ANYBIT = "ai.anybit"
DEPTH, WIDTH = 1024, 1040  # large enough to be worth it


def weight_of(name, transposed, depth=DEPTH, width=WIDTH):
    """The format as Decode tells it, and random codes and fields."""
    rng = np.random.default_rng(5)
    dims = [width, depth] if transposed else [depth, width]
    axis = 1 if transposed else 0
    block = {"mxfp4_e2m1": 32, "mxint8": 32, "mxfp8_e4m3": 32, "nvfp4": 16, "bfp16": 8, "int4": 32}[name]
    bits = 4 if name in ("mxfp4_e2m1", "nvfp4", "int4") else 8
    grid = [width, depth // block] if transposed else [depth // block, width]
    # 0x7F and 0xFF are no numbers in e4m3.
    codes = rng.integers(0, 256, (width, depth * bits // 8)).astype(np.uint8) & (0xF7 if name == "mxfp8_e4m3" else 0xFF)
    fields = {"mxfp4_e2m1": [rng.integers(110, 130, grid).astype(np.uint8)],
              "mxint8": [rng.integers(110, 130, grid).astype(np.uint8)],
              "mxfp8_e4m3": [rng.integers(110, 130, grid).astype(np.uint8)],
              "bfp16": [rng.integers(110, 130, grid).astype(np.uint8)],
              "nvfp4": [np.array(0.01, np.float32), rng.integers(40, 100, grid).astype(np.uint8)],
              "int4": [rng.random(grid).astype(np.float32) + 0.1]}[name]
    text = f"{name} granularity=block axis={axis} block_size={block}"
    return text, dims, codes, fields


def model_of(name, op, transposed=False, bias=False, depth=DEPTH, width=WIDTH):
    text, dims, codes, fields = weight_of(name, transposed, depth, width)
    constants = {"codes": codes} | {f"f{i}": field for i, field in enumerate(fields)}
    if bias:
        constants["bias"] = np.random.default_rng(6).standard_normal(width).astype(np.float32)
    about = dict(transB=int(transposed), alpha=0.5, beta=2.0) if op == "Gemm" else {}
    nodes = [helper.make_node("Decode", [key for key in constants if key != "bias"], ["w"], domain=ANYBIT, format=text,
                              coded=dims, dims=dims),
             helper.make_node(op, ["x", "w"] + (["bias"] if bias else []), ["y"], **about)]
    graph = helper.make_graph(nodes, "packed", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["m", depth])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, key) for key, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(ANYBIT, 1)],
                             ir_version=10)


@pytest.mark.parametrize("name", ["mxfp4_e2m1", "mxint8", "mxfp8_e4m3", "nvfp4", "bfp16", "int4"])
@pytest.mark.parametrize("op,transposed,bias", [("MatMul", False, False), ("Gemm", False, True), ("Gemm", True, False)])
def test_a_product_by_a_packed_weight_is_that_by_the_decoded_one(name, op, transposed, bias):
    model = model_of(name, op, transposed, bias)
    packed, decoded = Executor(model), Executor(model, fuse=False)
    assert packed.steps() == ["ai.anybit:DecodeMatMul"]
    assert [step.split(":")[-1] for step in decoded.steps()] == [op]
    for rows in (1, 2, 3, 7, 20):
        x = np.random.default_rng(rows).standard_normal((rows, DEPTH)).astype(np.float32)
        np.testing.assert_array_equal(packed.run({"x": x})[0], decoded.run({"x": x})[0])


def test_results_do_not_depend_on_threads_or_other_rows():
    model = model_of("mxfp4_e2m1", "MatMul")
    x = np.random.default_rng(0).standard_normal((40, DEPTH)).astype(np.float32)
    whole = Executor(model, threads=2).run({"x": x})[0]
    alone = Executor(model, threads=1)
    for row in (0, 17, 39):
        np.testing.assert_array_equal(alone.run({"x": x[row:row + 1]})[0][0], whole[row])


def test_a_small_weight_is_decoded_once_when_the_model_is_loaded():
    model = model_of("mxfp4_e2m1", "MatMul", depth=64, width=48)
    assert [step.split(":")[-1] for step in Executor(model).steps()] == ["MatMul"]


def test_a_weight_that_another_node_uses_too_is_decoded():
    model = model_of("mxint8", "MatMul")
    model.graph.output.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, None))
    executor = Executor(model)
    assert [step.split(":")[-1] for step in executor.steps()] == ["MatMul"]


def test_codes_of_the_wrong_length_are_refused_by_name():
    model = model_of("mxint8", "MatMul")
    short = numpy_helper.from_array(np.zeros((WIDTH, DEPTH - 1), np.uint8), "codes")
    model.graph.initializer[0].CopyFrom(short)
    with pytest.raises(Exception, match="bytes of codes"):
        Executor(model).run({"x": np.zeros((1, DEPTH), np.float32)})


def test_a_scale_that_is_not_a_number_reaches_the_result():
    model = model_of("mxint8", "MatMul")
    exponents = numpy_helper.to_array(model.graph.initializer[1]).copy()
    exponents[0, 3] = 255
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(exponents, model.graph.initializer[1].name))
    result = Executor(model).run({"x": np.ones((1, DEPTH), np.float32)})[0]
    assert np.isnan(result[0, 3]) and np.isfinite(np.delete(result, 3, axis=1)).all()
