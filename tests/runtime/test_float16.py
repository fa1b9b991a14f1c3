"""Islands of float16 and bfloat16 between Casts, and Casts through small floats. A single linear operator gives the same bits
fused and unfused; larger islands keep the precision of float32 inside."""
import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor

SEED = 20261117
FLOATS_OF_16_BITS = {TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16}
SMALL = {TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2FNUZ} | set(FLOATS_OF_16_BITS)


def cast(source, result, kind):
    return helper.make_node("Cast", [source], [result], to=kind)


def model_of(nodes, inputs, outputs, constants=None, opset=21):
    ports = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in inputs.items()]
    weights = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    return helper.make_model(helper.make_graph(nodes, "g", ports, results, weights), ir_version=10,
                             opset_imports=[helper.make_opsetid("", opset)])


def check_bits(model, feeds, steps):
    """Fusion gives `steps`, and results are bit-identical to those without fusion."""
    fused = Executor(model)
    assert sorted(step.split(":")[1] for step in fused.steps()) == sorted(steps)
    for got, wanted in zip(fused.run(feeds), Executor(model, fuse=False).run(feeds)):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("kind", FLOATS_OF_16_BITS)
def test_linear_operators_that_share_a_cast_are_computed_in_float32(kind):
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((3, 20)).astype(np.float32)
    constants = {f"w{i}": rng.standard_normal((20, 5)).astype(FLOATS_OF_16_BITS[kind]) for i in range(3)}
    nodes = [cast("x", "h", kind)]
    for i in range(3):
        nodes += [helper.make_node("MatMul", ["h", f"w{i}"], [f"p{i}"]), cast(f"p{i}", f"y{i}", TensorProto.FLOAT)]
    model = model_of(nodes, {"x": x}, {f"y{i}": TensorProto.FLOAT for i in range(3)}, constants)
    check_bits(model, {"x": x}, ["CastThrough"] + ["MatMul"] * 3)


def test_matmuls_of_two_activations_are_computed_in_float32():
    rng = np.random.default_rng(SEED)
    feeds = {"a": rng.standard_normal((2, 4, 6)).astype(np.float32), "b": rng.standard_normal((2, 6, 5)).astype(np.float32)}
    nodes = [cast("a", "ah", TensorProto.FLOAT16), cast("b", "bh", TensorProto.FLOAT16),
             helper.make_node("MatMul", ["ah", "bh"], ["p"]), cast("p", "y", TensorProto.FLOAT)]
    check_bits(model_of(nodes, feeds, {"y": TensorProto.FLOAT}), feeds, ["CastThrough"] * 2 + ["MatMul"])


def test_a_cast_with_other_consumers_stays_and_so_do_its_linear_operators():
    rng = np.random.default_rng(SEED)
    x, w = rng.standard_normal((3, 20)).astype(np.float32), rng.standard_normal((20, 5)).astype(np.float16)
    nodes = [cast("x", "h", TensorProto.FLOAT16), helper.make_node("Neg", ["h"], ["n"]),
             helper.make_node("MatMul", ["h", "w"], ["p"]), cast("p", "y", TensorProto.FLOAT)]
    model = model_of(nodes, {"x": x}, {"y": TensorProto.FLOAT, "n": TensorProto.FLOAT16}, {"w": w})
    check_bits(model, {"x": x}, ["Cast", "Neg", "MatMul", "Cast"])


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float64, np.float16, np.bool_])
def test_the_input_of_a_cast_may_have_any_type(dtype):
    x = (np.arange(12).reshape(3, 4) * 1000.0 % 257).astype(dtype)
    w = np.random.default_rng(SEED).standard_normal((4, 5)).astype(np.float16)
    nodes = [cast("x", "h", TensorProto.FLOAT16), helper.make_node("MatMul", ["h", "w"], ["p"]), cast("p", "y", TensorProto.FLOAT)]
    check_bits(model_of(nodes, {"x": x}, {"y": TensorProto.FLOAT}, {"w": w}), {"x": x}, ["CastThrough", "MatMul"])


def test_text_may_be_cast():
    x = np.array([["1.0009765", "-3e9"], ["0.1", "NaN"]], dtype=object)
    port = helper.make_tensor_value_info("x", TensorProto.STRING, x.shape)
    nodes = [cast("x", "h", TensorProto.FLOAT16), cast("h", "y", TensorProto.FLOAT)]
    graph = helper.make_graph(nodes, "g", [port], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    check_bits(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]), {"x": x}, ["CastThrough"])


@pytest.mark.parametrize("kind", sorted(SMALL))
@pytest.mark.parametrize("saturate", [0, 1])
def test_a_cast_through_a_small_float_is_one_pass(kind, saturate):
    rng = np.random.default_rng(SEED)
    x = rng.integers(0, 2**32, 3000, dtype=np.uint32).view(np.float32)
    x[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -65520]
    about = {} if kind in FLOATS_OF_16_BITS else {"saturate": saturate}
    nodes = [helper.make_node("Cast", ["x"], ["h"], to=kind, **about), cast("h", "y", TensorProto.FLOAT)]
    check_bits(model_of(nodes, {"x": x}, {"y": TensorProto.FLOAT}), {"x": x}, ["CastThrough"])


def island(kind, mean):
    """Two layers with a residual sum of the second, a clamp and a Reshape; `mean`: another consumer of a value inside."""
    node = helper.make_node
    nodes = [cast("x", "h", kind), node("MatMul", ["h", "w"], ["p"]), node("Relu", ["p"], ["r"]), node("MatMul", ["r", "w"], ["q"]),
             node("Add", ["q", "r"], ["s"]), node("Mul", ["s", "half"], ["t"]), node("Reshape", ["t", "shape"], ["u"]), cast("u", "y", TensorProto.FLOAT)]
    return nodes + ([node("ReduceMean", ["r"], ["m"])] if mean else [])


@pytest.mark.parametrize("kind", FLOATS_OF_16_BITS)
def test_an_island_is_computed_in_float32_and_rounded_where_it_ends(kind):
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((3, 20)).astype(np.float32)
    to = FLOATS_OF_16_BITS[kind]
    constants = {"w": (rng.standard_normal((20, 20)) / 5).astype(to), "half": np.array(0.5, to), "shape": np.array([-1], np.int64)}
    model = model_of(island(kind, False), {"x": x}, {"y": TensorProto.FLOAT}, constants)
    fused = Executor(model)
    types = [step.split(":")[1] for step in fused.steps()]
    assert types.count("CastThrough") == 2 and "Cast" not in types
    got, unfused = fused.run({"x": x})[0], Executor(model, fuse=False).run({"x": x})[0]
    h, w = x.astype(to).astype(np.float64), constants["w"].astype(np.float64)
    r = np.maximum(h @ w, 0)
    exact = ((r @ w + r) * 0.5).ravel()
    step = 2.0 ** -(10 if to == np.float16 else 7)
    assert np.abs(got - exact).max() <= step / 2 * np.abs(exact).max() * 1.01
    np.testing.assert_array_equal(got, got.astype(to).astype(np.float32))
    assert np.linalg.norm(got - exact) <= np.linalg.norm(unfused - exact)


def test_an_island_that_others_read_stays_in_float16():
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((3, 20)).astype(np.float32)
    constants = {"w": (rng.standard_normal((20, 20)) / 5).astype(np.float16), "half": np.array(0.5, np.float16), "shape": np.array([-1], np.int64)}
    model = model_of(island(TensorProto.FLOAT16, True), {"x": x}, {"y": TensorProto.FLOAT, "m": TensorProto.FLOAT16}, constants)
    check_bits(model, {"x": x}, [step.split(":")[1] for step in Executor(model, fuse=False).steps()])
