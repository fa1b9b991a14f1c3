"""Matrix multiplication compared with ONNX Runtime, numpy and Python integers."""
import itertools

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor, ExecutorError

SEED = 20261115


def model_of(op, inputs, constants=(), domain="", opset=21, **attributes):
    """A model of one node. `inputs`: arrays by position, None for missing ones; those in `constants` are weights."""
    names = [f"i{i}" if value is not None else "" for i, value in enumerate(inputs)]
    kind = lambda value: helper.np_dtype_to_tensor_dtype(value.dtype)
    ports = [helper.make_tensor_value_info(names[i], kind(value), value.shape)
             for i, value in enumerate(inputs) if value is not None and i not in constants]
    weights = [numpy_helper.from_array(np.asarray(inputs[i]), names[i]) for i in constants if inputs[i] is not None]
    node = helper.make_node(op, names, ["y"], domain=domain, **attributes)
    output = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([node], "g", ports, [output], weights)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def feeds_of(inputs, constants):
    return {f"i{i}": np.asarray(value) for i, value in enumerate(inputs) if value is not None and i not in constants}


def ours(op, inputs, constants=(), threads=1, **attributes):
    model = model_of(op, inputs, constants, **attributes)
    return Executor(model, threads=threads).run(feeds_of(inputs, constants))[0]


def theirs(op, inputs, constants=(), **attributes):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = model_of(op, inputs, constants, **attributes)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds_of(inputs, constants))[0]


def close(got, wanted, tolerance=1e-5):
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    assert np.abs(got - wanted).max(initial=0) <= tolerance * max(1, np.abs(wanted).max(initial=0))


SHAPES = [((3,), (3,)), ((4,), (4, 5)), ((2, 4), (4,)), ((5, 7), (7, 18)), ((2, 3, 4), (4, 6)), ((2, 1, 3, 4), (5, 4, 2)),
          ((1, 3, 4), (2, 4, 17)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((7, 300), (300, 40))]


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint32", "uint64"])
def test_matmul_follows_numpy_in_every_type_and_shape(kind):
    random = np.random.default_rng(SEED)
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)) if kind == "bfloat16" else np.dtype(kind)
    for a_shape, b_shape in SHAPES:
        a, b = (random.integers(0, 5, shape).astype(dtype) for shape in (a_shape, b_shape))
        wanted = np.matmul(a.astype(np.float64), b.astype(np.float64))
        for constants in ((), (1,)):
            got = ours("MatMul", [a, b], constants)
            assert got.dtype == dtype
            close(got.astype(np.float64), np.asarray(wanted), 0.01 if kind.endswith("float16") else 1e-12)


def test_matmul_of_integers_wraps():
    a, b = np.array([[2**31 - 1, 5]], np.int32), np.array([[3], [7]], np.int32)
    assert ours("MatMul", [a, b])[0, 0] == np.int64(3 * (2**31 - 1) + 35).astype(np.int32)


def test_matmul_is_close_to_onnx_runtime_and_independent_of_threads():
    random = np.random.default_rng(SEED)
    for m, k, n in ((1, 700, 300), (33, 129, 65), (200, 512, 100)):
        a, b = random.normal(size=(m, k)).astype(np.float32), random.normal(size=(k, n)).astype(np.float32)
        one = ours("MatMul", [a, b], (1,))
        close(one, theirs("MatMul", [a, b], (1,)))
        assert np.array_equal(one, ours("MatMul", [a, b], (), threads=3))


def test_mismatched_shapes_are_an_error():
    for a, b in (((2, 3), (4, 5)), ((2, 3, 4), (3, 4, 5))):
        names = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "ab"]
        graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "g", names, [onnx.ValueInfoProto(name="y")])
        executor = Executor(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
        with pytest.raises(ExecutorError, match="do not"):
            executor.run([np.zeros(a, np.float32), np.zeros(b, np.float32)])


def test_fused_matmul_transposes_and_scales():
    random = np.random.default_rng(SEED)
    x = lambda *shape: random.normal(size=shape).astype(np.float32)
    for ta, tb in itertools.product((0, 1), repeat=2):
        a, b = x(2, *((5, 4) if ta else (4, 5))), x(2, *((6, 5) if tb else (5, 6)))
        for constants in ((), (1,)):
            attributes = {"transA": ta, "transB": tb, "alpha": 0.5, "domain": "com.microsoft"}
            close(ours("FusedMatMul", [a, b], constants, **attributes), theirs("FusedMatMul", [a, b], **attributes))
    a, b = x(4, 3, 5), x(6, 3, 5)
    attributes = {"transBatchA": 1, "transBatchB": 1, "transB": 1, "domain": "com.microsoft"}
    wanted = np.matmul(a.transpose(1, 0, 2), b.transpose(1, 2, 0))
    for constants in ((), (1,)):
        close(ours("FusedMatMul", [a, b], constants, **attributes), wanted)


def test_gemm_in_every_type_with_every_c():
    random = np.random.default_rng(SEED)
    for kind, (ta, tb) in itertools.product(("float32", "float64", "float16", "int32", "int64"), itertools.product((0, 1), repeat=2)):
        whole = kind.startswith("int")
        number = lambda *shape: random.integers(-4, 5, shape).astype(kind)
        a, b = number(*((7, 4) if ta else (4, 7))), number(*((19, 7) if tb else (7, 19)))
        for c_shape in (None, (), (1,), (19,), (1, 19), (4, 1), (4, 19)):
            c = None if c_shape is None else number(*c_shape)
            alpha, beta = (2.0, 3.0) if whole else (0.5, 0.25)
            wanted = alpha * ((a.T if ta else a).astype(np.float64) @ (b.T if tb else b).astype(np.float64))
            wanted = wanted + (0 if c is None else beta * c.astype(np.float64))
            for constants in ((), (1, 2)):
                got = ours("Gemm", [a, b, c], constants, opset=13, transA=ta, transB=tb, alpha=alpha, beta=beta)
                close(got, wanted.astype(kind), 1e-3 if kind == "float16" else 1e-6)


def test_fused_gemm_activates():
    random = np.random.default_rng(SEED)
    a, b, c = (random.normal(size=shape).astype(np.float32) for shape in ((4, 7), (7, 19), (19,)))
    for attributes in ({"activation": "Relu"}, {"activation": "LeakyRelu", "activation_alpha": 0.1}, {"activation": "Tanh"}):
        close(ours("FusedGemm", [a, b, c], (1,), domain="com.microsoft", **attributes),
              theirs("FusedGemm", [a, b, c], (1,), domain="com.microsoft", **attributes))


BYTES = list(itertools.product((np.uint8, np.int8), repeat=2))


def random_integers(random, kind, *shape):
    info = np.iinfo(kind)
    return random.integers(info.min, info.max + 1, shape).astype(kind)


def exact(a, b, a_zero=0, b_zero=0):
    """The result in Python integers."""
    return np.matmul(a.astype(object) - np.asarray(a_zero).astype(object), b.astype(object) - np.asarray(b_zero).astype(object))


@pytest.mark.parametrize("a_kind,b_kind", BYTES)
def test_matmul_integer_is_exact(a_kind, b_kind):
    random = np.random.default_rng(SEED)
    for a_shape, b_shape in (((5, 7), (7, 18)), ((2, 9, 31), (31, 20)), ((2, 3, 4), (2, 4, 5)), ((1, 300), (300, 33)), ((6,), (6, 3))):
        a, b = random_integers(random, a_kind, *a_shape), random_integers(random, b_kind, *b_shape)
        cases = [(None, None), (random_integers(random, a_kind), random_integers(random, b_kind)), (None, random_integers(random, b_kind, b_shape[-1]))]
        if len(a_shape) == 2:
            cases.append((random_integers(random, a_kind, a_shape[0]), random_integers(random, b_kind, b_shape[-1])))
        for a_zero, b_zero in cases:
            row_zero = 0 if a_zero is None else a_zero[:, None] if a_zero.ndim else a_zero
            wanted = exact(a, b, row_zero, 0 if b_zero is None else b_zero)
            for constants in ((), (1,), (1, 3)):
                got = ours("MatMulInteger", [a, b, a_zero, b_zero], constants)
                assert got.dtype == np.int32 and got.tolist() == wanted.tolist()


@pytest.mark.parametrize("a_value,b_value,a_kind,b_kind", [(255, 127, np.uint8, np.int8), (-128, -128, np.int8, np.int8),
                                                         (255, -128, np.uint8, np.int8), (255, 255, np.uint8, np.uint8)])
def test_extreme_products_do_not_saturate(a_value, b_value, a_kind, b_kind):
    for k in (256, 60000):
        for m in (1, 8):
            a, b = np.full((m, k), a_value, a_kind), np.full((k, 3), b_value, b_kind)
            wanted = np.int64(k * a_value * b_value)
            for constants in ((), (1,)):
                assert (ours("MatMulInteger", [a, b], constants) == wanted.astype(np.int32)).all()
            one = np.float32(1)
            real = ours("MatMulIntegerToFloat", [a, b, one, one], (1,), domain="com.microsoft")
            assert (real == np.float32(wanted)).all()


def requantized(sums, scale, zero, kind):
    info = np.iinfo(kind)
    rounded = np.rint(np.asarray(sums, np.float64).astype(np.float32) * np.asarray(scale, np.float32)).astype(np.float64)
    return np.clip(rounded + float(zero), info.min, info.max).astype(kind)


@pytest.mark.parametrize("a_kind,b_kind", BYTES)
def test_qlinear_matmul_rounds_once(a_kind, b_kind):
    random = np.random.default_rng(SEED)
    scale = lambda *shape: random.uniform(0.001, 0.02, shape).astype(np.float32)
    for a_shape, b_shape in (((5, 7), (7, 18)), ((2, 9, 31), (31, 20)), ((2, 3, 4), (2, 4, 5)), ((1, 200), (200, 33))):
        for by_row, by_column in ((0, 0), (0, 1), (1, 1)):
            a, b = random_integers(random, a_kind, *a_shape), random_integers(random, b_kind, *b_shape)
            rows, columns = ((a_shape[-2],) if by_row else ()), ((b_shape[-1],) if by_column else ())
            if by_row and len(a_shape) > 2:
                continue
            a_scale, b_scale, y_scale = scale(*rows), scale(*columns), np.float32(0.05)
            a_zero, b_zero, y_zero = random_integers(random, a_kind, *rows), random_integers(random, b_kind, *columns), random_integers(random, a_kind)
            column = lambda x: x[:, None] if x.ndim else x
            m = (column(a_scale).astype(np.float64) * b_scale.astype(np.float64) / np.float64(y_scale)).astype(np.float32)
            wanted = requantized(exact(a, b, column(a_zero), b_zero), m, y_zero, a_kind)
            inputs = [a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero]
            for constants in ((), (1, 2, 3, 4, 5, 6, 7)):
                assert np.array_equal(ours("QLinearMatMul", inputs, constants), wanted)


def test_qgemm_is_within_a_step_of_onnx_runtime():
    random = np.random.default_rng(SEED)
    for ta, tb, by_column, result in itertools.product((0, 1), (0, 1), (0, 1), ("integers", "floats")):
        a = random.integers(0, 128, (7, 4) if ta else (4, 7)).astype(np.uint8)
        b = random.integers(-60, 60, (19, 7) if tb else (7, 19)).astype(np.int8)
        c = random.integers(-900, 900, (19,)).astype(np.int32)
        columns = (19,) if by_column else ()
        b_scale = random.uniform(0.01, 0.02, columns).astype(np.float32)
        inputs = [a, np.float32(0.02), np.uint8(30), b, b_scale, np.zeros(columns, np.int8), c]
        if result == "integers":
            inputs += [np.float32(0.05), np.uint8(120)]
        attributes = {"transA": ta, "transB": tb, "alpha": 1.5, "domain": "com.microsoft"}
        got, wanted = ours("QGemm", inputs, (3, 4, 5, 6), **attributes), theirs("QGemm", inputs, (3, 4, 5, 6), **attributes)
        if result == "integers":
            assert got.dtype == np.uint8 and np.abs(got.astype(int) - wanted.astype(int)).max() <= 1
        else:
            close(got, wanted)


def test_dynamic_quantize_matmul_agrees_with_onnx_runtime():
    random = np.random.default_rng(SEED)
    for by_column, b_kind, with_bias in itertools.product((0, 1), (np.int8, np.uint8), (0, 1)):
        a = random.normal(size=(2, 5, 33)).astype(np.float32)
        columns = (20,) if by_column else ()
        b = random.integers(0, 60, (33, 20)).astype(b_kind)  # too small to saturate there
        inputs = [a, b, random.uniform(0.01, 0.02, columns).astype(np.float32), np.full(columns, 20, b_kind),
                  random.normal(size=20).astype(np.float32) if with_bias else None]
        while inputs[-1] is None:
            inputs.pop()
        got = ours("DynamicQuantizeMatMul", inputs, (1, 2, 3, 4)[:len(inputs) - 1], domain="com.microsoft")
        close(got, theirs("DynamicQuantizeMatMul", inputs, (1, 2, 3, 4)[:len(inputs) - 1], domain="com.microsoft"))


def test_matmul_integer_to_float_agrees_with_onnx_runtime():
    random = np.random.default_rng(SEED)
    for by_column, a_kind, b_kind in itertools.product((0, 1), (np.uint8, np.int8), (np.uint8, np.int8)):
        a, b = random.integers(0, 100, (5, 33)).astype(a_kind), random.integers(0, 60, (33, 20)).astype(b_kind)
        columns = (20,) if by_column else ()
        inputs = [a, b, np.float32(0.1), random.uniform(0.01, 0.02, columns).astype(np.float32), a_kind(17),
                  np.full(columns, 20, b_kind), random.normal(size=20).astype(np.float32)]
        got = ours("MatMulIntegerToFloat", inputs, (1, 3, 5), domain="com.microsoft")
        close(got, (exact(a, b, 17, 20).astype(np.float64) * 0.1 * inputs[3] + inputs[6]).astype(np.float32))
        if a_kind == np.uint8 or b_kind == np.int8:  # it has no kernel for other types
            close(got, theirs("MatMulIntegerToFloat", inputs, (1, 3, 5), domain="com.microsoft"))


def packed_bits(values, bits):
    """Packs integers […, count], the lowest bits first."""
    per_byte = 8 // bits
    padded = np.concatenate([values, np.zeros((*values.shape[:-1], -values.shape[-1] % per_byte), np.uint8)], -1)
    groups = padded.reshape(*padded.shape[:-1], -1, per_byte)
    return sum(groups[..., i].astype(np.uint8) << (bits * i) for i in range(per_byte)).astype(np.uint8)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_matmul_n_bits_decodes_blocks(bits):
    random = np.random.default_rng(SEED)
    for (m, k, n), block, zeros, kind in itertools.product(((1, 64, 5), (3, 100, 17), (40, 256, 33)), (16, 32, 128),
                                                        ("none", "integers", "floats"), (np.float32, np.float16)):
        blocks = -(-k // block)
        values = random.integers(0, 1 << bits, (n, blocks * block)).astype(np.uint8)
        scales = random.uniform(0.01, 0.1, (n, blocks)).astype(kind)
        zero_integers = random.integers(0, 1 << bits, (n, blocks)).astype(np.uint8)
        zero = {"none": np.full((n, blocks), 1 << (bits - 1)), "integers": zero_integers, "floats": zero_integers + 0.5}[zeros]
        given = {"none": None, "integers": packed_bits(zero_integers, bits), "floats": zero.astype(kind)}[zeros]
        each = lambda x: np.repeat(x.astype(np.float64), block, 1)
        weight = ((values - each(zero)) * each(scales))[:, :k]
        a, bias = random.normal(size=(m, k)).astype(kind), random.normal(size=n).astype(kind)
        inputs = [a, packed_bits(values, bits).reshape(n, blocks, -1), scales, given, None, bias]
        wanted = (a.astype(np.float64) @ weight.T + bias.astype(np.float64)).astype(kind)
        attributes = {"K": k, "N": n, "bits": bits, "block_size": block, "domain": "com.microsoft"}
        constants = (1, 2, 3, 5) if m != 3 else ()
        close(ours("MatMulNBits", inputs, constants, **attributes), wanted, 2e-3 if kind == np.float16 else 1e-5)
        if bits == 4 and zeros == "integers" and kind == np.float32:
            close(ours("MatMulNBits", inputs, constants, **attributes), theirs("MatMulNBits", inputs, (1, 2, 3, 5), **attributes), 1e-4)


def test_matmul_n_bits_supports_g_idx_and_rejects_invalid_ones():
    random = np.random.default_rng(SEED)
    values, scales = random.integers(0, 16, (5, 64)).astype(np.uint8), random.uniform(0.1, 1, (5, 2)).astype(np.float32)
    groups = random.integers(0, 2, 64).astype(np.int32)
    a = random.normal(size=(2, 64)).astype(np.float32)
    attributes = {"K": 64, "N": 5, "bits": 4, "block_size": 32, "domain": "com.microsoft"}
    inputs = [a, packed_bits(values, 4).reshape(5, 2, 16), scales, None, groups]
    close(ours("MatMulNBits", inputs, (1, 2, 4), **attributes), a @ ((values - 8.0) * scales[:, groups]).T.astype(np.float32))
    inputs[4] = np.full(64, 2, np.int32)
    with pytest.raises(ExecutorError, match="g_idx"):
        ours("MatMulNBits", inputs, (), **attributes)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("inner, columns", [(1, 1), (3, 15), (64, 16), (37, 64), (130, 133), (200, 257)])
def test_a_matrix_has_the_same_product_as_a_constant_and_as_an_input(rows, inner, columns):
    rng = np.random.default_rng([rows, inner, columns])
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, inner), (inner, columns)))
    infos = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, x.shape) for name, x in (("a", a), ("b", b))]
    made = [onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["a", "b"], ["y"])], "g", infos[:count],
                                   [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], held)
            for count, held in ((2, []), (1, [onnx.numpy_helper.from_array(b, "b")]))]
    one, other = (onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9) for graph in made)
    got = Executor(one).run({"a": a, "b": b})[0]
    assert np.array_equal(got, Executor(other).run({"a": a})[0])
    np.testing.assert_allclose(got, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-4)
