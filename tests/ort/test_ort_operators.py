"""libanybit_ort.so: its operators in ONNX Runtime, compared with anybit's library and with the portable functions in stock ONNX
Runtime, bit for bit."""
import threading

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor
from support.ort_library import ANYBIT, OLD_QUARK, QUARK, WithLibrary, as_operators, assert_same_bits, one_node
from support.portable_functions import Peer, decode_model, formats, quantize, quantize_model
from support.uses import ONLY_DECODED, SHAPES, ranks_of, uses_of, values_of, with_nonfinite

FORMATS = formats()
NAMES = [name for name, _, _ in FORMATS]
MX = ["fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1", "int8"]
DOMAINS = [QUARK, OLD_QUARK]
MX_OPS = {QUARK: "MXQuantizeDequantize", OLD_QUARK: "MXFixNeuron"}
BFP_OPS = {QUARK: "BFPQuantizeDequantize", OLD_QUARK: "BFPFixNeuron"}


@pytest.fixture
def rng():
    seed = int(np.random.SeedSequence().entropy % 2**32)
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def all_uses(name):
    return uses_of(*next(one for one in FORMATS if one[0] == name))


def rounding(use):
    return one_node("QuantizeDequantize", ANYBIT, format=use)


@pytest.mark.parametrize("name", NAMES)
def test_every_format_rounds_as_in_the_library(name, rng):
    for use in all_uses(name):
        session = WithLibrary(rounding(use))  # one session for all shapes
        for rank in ranks_of(use):
            arrays = values_of(rng, SHAPES[rank])
            for x in [*arrays, with_nonfinite(rng, arrays[0])]:
                assert_same_bits(session.run(x=x)[0], quantize(use, x), f"{use} on {x.shape}")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "bfp_prime"])  # it is for activations only
def test_every_format_decodes_as_in_the_library(name, rng):
    packable = [use for use in all_uses(name) if "quark" not in use and "nonfinite=element" not in use]
    for use in [*packable[:4], *[use for use in ONLY_DECODED if use.split()[0] == name]]:
        x = values_of(rng, SHAPES[rng.choice(ranks_of(use))])[rng.integers(0, 6)]
        portable, expected = decode_model(use, x)
        assert_same_bits(WithLibrary(as_operators(portable)).run()[0], expected, use)


@pytest.mark.parametrize("use", ["mxfp4_e2m1 axis=1", "binary scale=mean", "int4 granularity=channel axis=0", "nvfp4"])
def test_the_operator_and_the_portable_function_agree_in_onnx_runtime(use, rng):
    x = values_of(rng, (5, 70))[0]
    assert_same_bits(WithLibrary(as_operators(quantize_model(use))).run(x=x)[0], Peer(quantize_model(use)).run(x), use)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("element", MX)
def test_mx_operators_of_quark(domain, element, rng):
    for mode in (0, 1, 2):
        session = WithLibrary(one_node(MX_OPS[domain], domain, element_dtype=element, axis=1, block_size=16, rounding_mode=mode))
        for x in values_of(rng, (3, 40, 5)):
            wanted = quantize(f"mx{element} profile=quark rounding_mode={mode} axis=1 block_size=16", x)
            assert_same_bits(session.run(x=x)[0], wanted, f"{element} {mode}")


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("attributes", [{}, dict(bit_width=13, block_size=16, axis=2), dict(rounding_mode=1), dict(rounding_mode=2, axis=-1),
                                        dict(use_compiler_version_cpu_kernel=1)], ids=str)
def test_bfp_operators_of_quark_as_in_our_runtime(domain, attributes, rng):
    model = one_node(BFP_OPS[domain], domain, **attributes)
    session, ours = WithLibrary(model), Executor(model)
    for x in values_of(rng, (3, 40, 33)):
        assert_same_bits(session.run(x=x)[0], ours.run({"x": x})[0], str(attributes))


def test_defaults_are_quarks():
    x = np.random.default_rng(1).standard_normal((2, 64, 3)).astype(np.float32)
    for op, about in (("MXQuantizeDequantize", dict(element_dtype="int8", axis=1, block_size=32, rounding_mode=0)),
                      ("BFPQuantizeDequantize", dict(bfp_method="to_bfp", axis=1, bit_width=16, block_size=8, rounding_mode=0))):
        plain, told = (WithLibrary(one_node(op, QUARK, **given)).run(x=x)[0] for given in ({}, about))
        assert_same_bits(plain, told)


@pytest.mark.parametrize("op", ["MXQuantizeDequantize", "BFPQuantizeDequantize"])
def test_quarks_operators_round_half_precision_as_float32(op):
    x = np.random.default_rng(1).standard_normal((3, 64)).astype(np.float16)
    half = WithLibrary(one_node(op, QUARK, kind=TensorProto.FLOAT16)).run(x=x)[0]
    wide = WithLibrary(one_node(op, QUARK)).run(x=x.astype(np.float32))[0]
    assert_same_bits(half, wide.astype(np.float16))


def test_shapes_may_change_between_runs_and_tensors_may_be_empty():
    session = WithLibrary(rounding("mxint8 axis=1 block_size=8"))
    for shape in [(2, 3), (1, 1), (0, 5), (4, 0), (5, 100), (2, 3, 4), (1, 9, 1, 1, 2), (2, 3)]:
        x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
        assert_same_bits(session.run(x=x)[0], quantize("mxint8 axis=1 block_size=8", x))
    scalar = WithLibrary(rounding("fp8_e4m3"))
    assert_same_bits(scalar.run(x=np.array(0.3, np.float32))[0], quantize("fp8_e4m3", np.float32(0.3)))


def test_values_at_any_address_are_read(rng):
    x = rng.standard_normal(1001).astype(np.float32)
    session = WithLibrary(rounding("bfloat16"))
    for first in range(4):
        assert_same_bits(session.run(x=x[first:])[0], quantize("bfloat16", x[first:]))


@pytest.mark.parametrize("use", ["mxfp4_e2m1", "binary scale=mean", "mx9 axis=0", "int8 granularity=channel axis=0"])
def test_the_number_of_threads_changes_no_bit(use, rng):
    x = rng.standard_normal((300, 1024)).astype(np.float32)
    wanted = quantize(use, x)
    for threads in (1, 2, 5):
        session = WithLibrary(rounding(use), threads)
        for _ in range(3):
            assert_same_bits(session.run(x=x)[0], wanted)


def test_one_session_runs_in_several_threads_at_once(rng):
    session = WithLibrary(rounding("mxfp6_e2m3 axis=0"), threads=2)
    arrays = [rng.standard_normal((64, 100 * (i + 1))).astype(np.float32) for i in range(4)]
    wanted = [quantize("mxfp6_e2m3 axis=0", x) for x in arrays]
    wrong = []

    def work(i):
        for _ in range(20):
            if not np.array_equal(session.run(x=arrays[i])[0], wanted[i]):
                wrong.append(i)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert wrong == []


def matmul_of(use, x, weight, addend=None, **attributes):
    """A DecodeMatMul; the weight as it is decoded."""
    portable, decoded = decode_model(use, weight)
    model = as_operators(portable)
    [node] = model.graph.node
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    model.graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, None))
    inputs = ["x", ""] if addend is None else ["x", "b"]
    if addend is not None:
        model.graph.input.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, None))
    stored = list(node.input)
    del node.input[:], node.output[:]
    node.op_type, node.input[:], node.output[:] = "DecodeMatMul", inputs + stored, ["y"]
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return model, decoded


@pytest.mark.parametrize("use", ["mxfp4_e2m1 axis=0", "mxint8 axis=0", "nvfp4 axis=0", "ternary scale=mean", "mx6 axis=0"])
@pytest.mark.parametrize("shape", [(1, 48), (7, 48), (2, 3, 48), (0, 48)])
def test_a_matmul_with_packed_weights(use, shape, rng):
    weight, x = (rng.standard_normal(one).astype(np.float32) for one in ((48, 40), shape))
    model, decoded = matmul_of(use, x, weight)
    np.testing.assert_allclose(WithLibrary(model).run(x=x)[0], x @ decoded, rtol=1e-5, atol=1e-5)


def test_a_gemm_with_a_large_packed_weight_as_in_our_runtime(rng):
    weight, x, addend = (rng.standard_normal(one).astype(np.float32) for one in ((1040, 1024), (5, 1024), (1040,)))
    model, decoded = matmul_of("mxfp4_e2m1 axis=1", x, weight, addend, transB=1, alpha=0.5, beta=2.0)
    wanted = Executor(model).run({"x": x, "b": addend})[0]
    for threads in (1, 2):
        assert_same_bits(WithLibrary(model, threads).run(x=x, b=addend)[0], wanted)
    np.testing.assert_allclose(wanted, 0.5 * (x @ decoded.T) + 2 * addend, rtol=1e-4, atol=1e-4)


def test_packed_weights_may_be_computed(rng):
    """Not constant: they are read in every run."""
    x = rng.standard_normal((6, 64)).astype(np.float32)
    portable, expected = decode_model("mxfp8_e4m3 axis=1", x)
    model = as_operators(portable)
    for tensor in list(model.graph.initializer):
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    del model.graph.initializer[:]
    assert_same_bits(WithLibrary(model).run(**stored)[0], expected)
