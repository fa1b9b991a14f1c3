"""Packed weights: the fusion of Decode and a linear operator, compared with decoded weights."""
import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor, ExecutorError

ANYBIT = "ai.anybit"
DEPTH, WIDTH = 1024, 1040  # large enough for the fusion to pay off


def weight_of(name, transposed, depth=DEPTH, width=WIDTH):
    """The attributes of Decode for the format, with random codes and fields."""
    rng = np.random.default_rng(5)
    dims = [width, depth] if transposed else [depth, width]
    axis = 1 if transposed else 0
    block = {"mxfp4_e2m1": 32, "mxint8": 32, "mxfp8_e4m3": 32, "nvfp4": 16, "bfp16": 8, "int4": 32}[name]
    bits = 4 if name in ("mxfp4_e2m1", "nvfp4", "int4") else 8
    grid = [width, depth // block] if transposed else [depth // block, width]
    # 0x7F and 0xFF are NaN in e4m3.
    codes = rng.integers(0, 256, (width, depth * bits // 8)).astype(np.uint8) & (0xF7 if name == "mxfp8_e4m3" else 0xFF)
    fields = {"mxfp4_e2m1": [rng.integers(110, 130, grid).astype(np.uint8)],
              "mxint8": [rng.integers(110, 130, grid).astype(np.uint8)],
              "mxfp8_e4m3": [rng.integers(110, 130, grid).astype(np.uint8)],
              "bfp16": [rng.integers(110, 130, grid).astype(np.uint8)],
              "nvfp4": [np.array(0.01, np.float32), rng.integers(40, 100, grid).astype(np.uint8)],
              "int4": [rng.random(grid).astype(np.float32) + 0.1]}[name]
    text = f"{name} granularity=block axis={axis} block_size={block}"
    return text, dims, codes, fields


def model_of(name, op, transposed=False, bias=False, depth=DEPTH, width=WIDTH, **decode):
    """`decode`: more attributes of Decode."""
    text, dims, codes, fields = weight_of(name, transposed, depth, width)
    constants = {"codes": codes} | {f"f{i}": field for i, field in enumerate(fields)}
    if bias:
        constants["bias"] = np.random.default_rng(6).standard_normal(width).astype(np.float32)
    about = dict(transB=int(transposed), alpha=0.5, beta=2.0) if op == "Gemm" else {}
    nodes = [helper.make_node("Decode", [key for key in constants if key != "bias"], ["w"], domain=ANYBIT, format=text,
                              coded=dims, dims=dims, **decode),
             helper.make_node(op, ["x", "w"] + (["bias"] if bias else []), ["y"], **about)]
    graph = helper.make_graph(nodes, "packed", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["m", depth])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, key) for key, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(ANYBIT, 1)],
                             ir_version=10)


@pytest.mark.parametrize("name", ["mxfp4_e2m1", "mxint8", "mxfp8_e4m3", "nvfp4", "bfp16", "int4"])
@pytest.mark.parametrize("op,transposed,bias", [("MatMul", False, False), ("Gemm", False, True), ("Gemm", True, False)])
def test_a_linear_operator_with_packed_weights_matches_decoded_ones(name, op, transposed, bias):
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


def rounded_rows(x, block):
    """Rows quantized to int8 per block."""
    parts = x.reshape(len(x), -1, block)
    scale = np.abs(parts).max(axis=2, keepdims=True) / np.float32(127)
    return (np.rint(parts / scale) * scale).reshape(x.shape)


def assert_near(got, wanted):
    assert np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max()


@pytest.mark.parametrize("name, block", [("mxfp4_e2m1", 32), ("nvfp4", 16), ("int4", 32), ("mxint8", 32)])
@pytest.mark.parametrize("op,transposed,bias", [("MatMul", False, False), ("Gemm", True, True)])
def test_compute_int8_multiplies_rows_that_are_quantized_per_block(name, block, op, transposed, bias):
    model = model_of(name, op, transposed, bias, compute="int8")
    packed, decoded = Executor(model), Executor(model, fuse=False)
    assert packed.steps() == ["ai.anybit:DecodeMatMul"]
    for rows in (1, 2, 7):
        x = np.random.default_rng(rows).standard_normal((rows, DEPTH)).astype(np.float32)
        assert_near(packed.run({"x": x})[0], decoded.run({"x": rounded_rows(x, block)})[0])


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "bfp16"])
def test_compute_int8_is_not_for_other_formats(name):
    x = np.random.default_rng(1).standard_normal((2, DEPTH)).astype(np.float32)
    plain, asked = (Executor(model_of(name, "MatMul", **about)).run({"x": x})[0] for about in ({}, {"compute": "int8"}))
    np.testing.assert_array_equal(plain, asked)


@pytest.mark.parametrize("bits, zeros", [(4, False), (4, True), (8, False), (8, True)])
def test_matmul_nbits_of_accuracy_level_4_quantizes_its_rows(bits, zeros):
    rng = np.random.default_rng(8)
    depth, width, block = 200, 40, 32
    blocks = -(-depth // block)
    constants = {"b": rng.integers(0, 256, (width, blocks, block * bits // 8)).astype(np.uint8),
                 "s": rng.random(width * blocks).astype(np.float32) + 0.1}
    if zeros:
        constants["z"] = rng.integers(0, 256, width * -(-blocks * bits // 8)).astype(np.uint8)
    x = rng.standard_normal((3, depth)).astype(np.float32)
    padded = rounded_rows(np.pad(x, ((0, 0), (0, blocks * block - depth))), block)[:, :depth]

    def run(level, rows):
        node = helper.make_node("MatMulNBits", ["x", *constants], ["y"], domain="com.microsoft", K=depth, N=width, bits=bits,
                                block_size=block, accuracy_level=level)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["m", depth])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(value, key) for key, value in constants.items()])
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return Executor(helper.make_model(graph, opset_imports=opsets, ir_version=10)).run({"x": rows})[0]

    assert_near(run(4, x), run(0, padded))
    assert not np.array_equal(run(4, x), run(0, x))


def test_a_small_weight_is_decoded_once_when_the_model_is_loaded():
    model = model_of("mxfp4_e2m1", "MatMul", depth=64, width=48)
    assert [step.split(":")[-1] for step in Executor(model).steps()] == ["MatMul"]


def test_a_weight_with_another_consumer_is_decoded():
    model = model_of("mxint8", "MatMul")
    model.graph.output.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, None))
    executor = Executor(model)
    assert [step.split(":")[-1] for step in executor.steps()] == ["MatMul"]


def test_codes_of_the_wrong_length_are_rejected_by_name():
    model = model_of("mxint8", "MatMul")
    short = numpy_helper.from_array(np.zeros((WIDTH, DEPTH - 1), np.uint8), "codes")
    model.graph.initializer[0].CopyFrom(short)
    with pytest.raises(Exception, match="bytes of packed data"):
        Executor(model).run({"x": np.zeros((1, DEPTH), np.float32)})


def test_a_nan_scale_reaches_the_result():
    model = model_of("mxint8", "MatMul")
    exponents = numpy_helper.to_array(model.graph.initializer[1]).copy()
    exponents[0, 3] = 255
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(exponents, model.graph.initializer[1].name))
    result = Executor(model).run({"x": np.ones((1, DEPTH), np.float32)})[0]
    assert np.isnan(result[0, 3]) and np.isfinite(np.delete(result, 3, axis=1)).all()


def blocked(kind, op, transposed, zeros, block=32, depth=DEPTH, width=WIDTH):
    """A linear operator with weights of a blocked DequantizeLinear."""
    rng = np.random.default_rng(9)
    axis = 1 if transposed else 0
    dims, grid = ([width, depth], [width, -(-depth // block)]) if transposed else ([depth, width], [-(-depth // block), width])
    kinds = {"int4": TensorProto.INT4, "uint4": TensorProto.UINT4, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8,
             "e2m1": TensorProto.FLOAT4E2M1, "e4m3": TensorProto.FLOAT8E4M3FN, "e5m2": TensorProto.FLOAT8E5M2}
    bits = 4 if kind in ("int4", "uint4", "e2m1") else 8

    def codes(name, shape):
        count = int(np.prod(shape)) * bits // 8
        # 0x7F and similar codes are NaN in the floats.
        raw = rng.integers(0, 256, count).astype(np.uint8) & (0xB7 if kind in ("e4m3", "e5m2") else 0xFF)
        return helper.make_tensor(name, kinds[kind], shape, raw.tobytes(), raw=True)

    constants = [codes("codes", dims), numpy_helper.from_array(rng.random(grid).astype(np.float32) + 0.1, "scale")]
    if zeros:
        constants.append(codes("zero", grid))
    about = dict(transB=int(transposed), alpha=0.5) if op == "Gemm" else {}
    nodes = [helper.make_node("DequantizeLinear", [one.name for one in constants], ["w"], axis=axis - 2, block_size=block),
             helper.make_node(op, ["x", "w"], ["y"], **about)]
    graph = helper.make_graph(nodes, "blocked", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["m", depth])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


@pytest.mark.parametrize("kind, zeros", [("int4", False), ("int4", True), ("uint4", True), ("int8", False), ("int8", True),
                                         ("uint8", True), ("e2m1", False), ("e4m3", False), ("e5m2", False)])
@pytest.mark.parametrize("op, transposed", [("MatMul", False), ("Gemm", False), ("Gemm", True)])
def test_a_linear_operator_with_blocked_weights_matches_float_weights(kind, zeros, op, transposed):
    model = blocked(kind, op, transposed, zeros)
    packed, decoded = Executor(model), Executor(model, fuse=False)
    assert packed.steps() == ["ai.anybit:DequantizeMatMul"]
    assert [step.split(":")[-1] for step in decoded.steps()] == [op]
    for rows in (1, 3, 20):
        x = np.random.default_rng(rows).standard_normal((rows, DEPTH)).astype(np.float32)
        np.testing.assert_array_equal(packed.run({"x": x})[0], decoded.run({"x": x})[0])


def test_a_partial_last_block_is_multiplied():
    model = blocked("int4", "MatMul", False, True, block=48, depth=1030)
    x = np.random.default_rng(1).standard_normal((2, 1030)).astype(np.float32)
    packed = Executor(model)
    assert packed.steps() == ["ai.anybit:DequantizeMatMul"]
    np.testing.assert_array_equal(packed.run({"x": x})[0], Executor(model, fuse=False).run({"x": x})[0])


def test_blocks_with_nan_codes_match_float_weights():
    model = blocked("e4m3", "MatMul", False, False)
    raw = bytearray(model.graph.initializer[0].raw_data)
    raw[5] = 0x7F
    model.graph.initializer[0].raw_data = bytes(raw)
    x = np.random.default_rng(1).standard_normal((2, DEPTH)).astype(np.float32)
    y, = Executor(model).run({"x": x})
    assert np.isnan(y[:, 5]).all()
    np.testing.assert_array_equal(y, Executor(model, fuse=False).run({"x": x})[0])


def test_scales_that_do_not_match_their_blocks_are_rejected():
    model = blocked("int8", "MatMul", False, False)
    scale = model.graph.initializer[1]
    scale.CopyFrom(numpy_helper.from_array(np.ones((DEPTH // 32 - 1, WIDTH), np.float32), "scale"))
    with pytest.raises(ExecutorError, match="scales"):
        Executor(model).run({"x": np.zeros((1, DEPTH), np.float32)})


def test_huge_and_tiny_values_with_power_of_two_scales():
    """Sums are in units of the block scale only where that is exact; rows are independent of each other."""
    depth, width, block = 1024, 1024, 32
    codes = np.random.default_rng(0).integers(1, 8, (depth, width)).astype(ml_dtypes.int4)

    def runs(scales, x):
        nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=block), helper.make_node("MatMul", ["x", "d"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["m", depth])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m", width])],
                                  [numpy_helper.from_array(codes, "w"), numpy_helper.from_array(scales, "s")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        fused, plain = Executor(model), Executor(model, fuse=False)
        assert "DequantizeMatMul" in " ".join(fused.steps())
        return fused.run({"x": x})[0], plain.run({"x": x})[0]

    far = np.ones((depth // block, width), np.float32)
    far[:16], far[16:] = 2.0 ** 40, 2.0 ** -40
    np.testing.assert_array_equal(*runs(far, np.full((1, depth), 2.0 ** 39.5, np.float32)))
    near = np.full((depth // block, width), 2.0 ** 10, np.float32)
    near[0] = 2.0 ** -1
    x = np.ones((2, depth), np.float32)
    x[0, :32], x[0, 32:] = 1e-36, 0
    for rows in (x, x[:1], x * np.float32(1e30)):
        np.testing.assert_array_equal(*runs(near, rows))
