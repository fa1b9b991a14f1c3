"""The functions of ai.anybit, built from ONNX operators, against the library: bit for bit, for every number format. Stock ONNX
Runtime runs them; anybit recognizes them, and runs a modified one as written."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from support.executing import Executor, raise_opset
from support.portable_functions import Peer, decode_model, differences, formats, quantize, quantize_model, same_bits
from support.uses import ONLY_DECODED, SHAPES, ranks_of, uses_of, values_of, with_nonfinite

FORMATS = formats()
NAMES = [name for name, _, _ in FORMATS]


@pytest.fixture
def rng():
    seed = int(np.random.SeedSequence().entropy % 2**32)
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def all_uses(name):
    return uses_of(*next(one for one in FORMATS if one[0] == name))


def packable_uses(name):
    """Infinities that are passed through, and scales that are not clamped, cannot be encoded."""
    only_decoded = [use for use in ONLY_DECODED if use.split()[0] == name]
    return [use for use in all_uses(name) if is_packable(use)] + only_decoded


def is_packable(use):
    kept_apart = "profile=quark" in use and "nonfinite=saturate" not in use
    return not kept_apart and "nonfinite=element" not in use and "fit_positive" not in use


def check(use, x, given, expected):
    assert same_bits(given, expected), f"{use} on {x.shape}: {differences(x, given, expected)}"


def tampered(model):
    """The same function without the attributes that identify it."""
    changed = onnx.load_from_string(model)
    changed.functions[0].doc_string = "changed"
    return changed.SerializeToString()


@pytest.mark.parametrize("name", NAMES)
def test_onnx_runtime_quantizes_to_the_same_bits(name, rng):
    for use in all_uses(name):
        peer = Peer(quantize_model(use))
        for rank in ranks_of(use):
            arrays = values_of(rng, SHAPES[rank])
            arrays += [with_nonfinite(rng, x) for x in arrays[:3]]
            for x in arrays:
                check(use, x, peer.run(x), quantize(use, x))


# Where it knows shapes, ONNX Runtime leaves more out of a graph.
@pytest.mark.parametrize("name", NAMES)
def test_it_does_so_where_shapes_are_known(name, rng):
    for use in all_uses(name):
        shape = SHAPES[rng.choice(ranks_of(use))]
        peer = Peer(quantize_model(use, shape=shape))
        for x in values_of(rng, shape):
            check(use, x, peer.run(x), quantize(use, x))


@pytest.mark.parametrize("name", NAMES)
def test_onnx_runtime_decodes_to_the_same_bits(name, rng):
    for use in packable_uses(name):
        shape = SHAPES[rng.choice(ranks_of(use))]
        arrays = values_of(rng, shape)
        for x in (arrays[0], arrays[rng.integers(1, len(arrays))]):
            model, expected = decode_model(use, x)
            check(use, x, Peer(model).run(), expected)


@pytest.mark.parametrize("name", NAMES)
def test_unused_codes_are_decoded_identically(name, rng):
    for use in packable_uses(name)[:3]:
        x = values_of(rng, (9, 33))[0]
        codes = rng.integers(0, 256, 2 * x.size, np.uint8)  # more than needed
        model, expected = decode_model(use, x, dims=(3, 3, 33), codes=codes)
        check(use, x.reshape(3, 3, 33), Peer(model).run(), expected)


@pytest.mark.parametrize("name", NAMES)
def test_anybit_runs_a_modified_function_as_written(name, rng):
    use = all_uses(name)[-1]
    x = values_of(rng, SHAPES[ranks_of(use)[-1]])[0]
    model, expected = quantize_model(use), quantize(use, x)
    native, written = Executor(model), Executor(tampered(model))
    assert native.steps() == ["ai.anybit:QuantizeDequantize"]
    assert len(written.steps()) > 1
    check(use, x, native.run({"x": x})[0], expected)
    check(use, x, written.run({"x": x})[0], expected)


@pytest.mark.parametrize("name", NAMES)
def test_anybit_decodes_by_a_modified_function_as_written(name, rng):
    use = packable_uses(name)[-1]
    x = values_of(rng, SHAPES[ranks_of(use)[-1]])[0]
    model, expected = decode_model(use, x)
    check(use, x, Executor(model).run({})[0], expected)
    check(use, x, Executor(tampered(model)).run({})[0], expected)


# One of each family suffices where only shapes matter.
OF_FAMILIES = ["int4 granularity=channel axis=0", "uint3", "fp8_e4m3", "mxfp4_e2m1 block_size=4", "mxint8 axis=0", "nvfp4", "mx9 axis=0", "bfp_prime axis=0",
               "mx6 granularity=channel axis=0", "mx4 granularity=tensor", "binary scale=mean",
               "ternary scale=mean granularity=channel axis=0", "block_log axis=0 block_size=3", "log", "binary_residual gammas=1,0.5"]


@pytest.mark.parametrize("use", OF_FAMILIES)
@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 2, 3, 2, 17), (17, 1, 1, 1, 3), (4, 4), (5, 1), (2, 0), (0, 3), (0,)])
def test_any_shape_will_do(use, shape, rng):
    x = np.float32(rng.standard_normal(shape))
    for given in (Peer(quantize_model(use)).run(x), Executor(tampered(quantize_model(use))).run({"x": x})[0]):
        check(use, x, given, quantize(use, x))
    model, expected = decode_model(use, x)
    for given in (Peer(model).run(), Executor(tampered(model)).run({})[0]):
        check(use, x, given, expected)


@pytest.mark.parametrize("use", [use for use in OF_FAMILIES if "axis=0" not in use])
def test_a_single_value_without_dimensions_will_do(use):
    x = np.array(-0.6, np.float32)
    check(use, x, Peer(quantize_model(use)).run(x), quantize(use, x))
    model, expected = decode_model(use, x)
    check(use, x, Peer(model).run(), expected)


# A mean between two float32 values: the order of summation decides which of them it becomes.
@pytest.mark.parametrize("use", ["binary scale=mean block_size=16", "binary scale=mean", "ternary scale=mean threshold=0",
                                 "binary bipolar=false scale=mean granularity=channel axis=1"])
@pytest.mark.parametrize("length", [16, 4099, 9000])
def test_means_are_added_up_in_the_order_of_the_library(use, length):
    line = np.full(length, 2.0**-54, np.float32)
    line[:2] = 1, 2.0**-24
    for x in (np.stack([line, line[::-1]]), np.stack([line, line[::-1]], axis=1)):
        model = quantize_model(use)
        expected = quantize(use, x)
        check(use, x, Peer(model).run(x), expected)
        check(use, x, Executor(tampered(model)).run({"x": x})[0], expected)
        check(use, x, ReferenceEvaluator(onnx.load_from_string(model)).run(None, {"x": x})[0], expected)


# A second implementation of ONNX's operators, in numpy.
@pytest.mark.parametrize("name", NAMES)
def test_the_reference_evaluator_of_onnx_comes_to_the_same_bits(name, rng):
    quantizing, decoding = all_uses(name)[-1], packable_uses(name)[-1]
    x = values_of(rng, (2, 5, 33))[0]
    model = onnx.load_from_string(quantize_model(quantizing, shape=x.shape))
    onnx.checker.check_model(model, full_check=True)
    with np.errstate(all="ignore"):
        check(quantizing, x, ReferenceEvaluator(model).run(None, {"x": x})[0], quantize(quantizing, x))
    model, expected = decode_model(decoding, x)
    model = onnx.load_from_string(model)
    onnx.checker.check_model(model, full_check=True)
    with np.errstate(all="ignore"):
        check(decoding, x, ReferenceEvaluator(model).run(None, {})[0], expected)


@pytest.mark.parametrize("use", OF_FAMILIES)
def test_a_function_in_a_newer_opset_is_recognized(use, rng):
    x = np.float32(rng.standard_normal((6, 8)))
    for model, inputs, expected in ((quantize_model(use), {"x": x}, quantize(use, x)), (decode_model(use, x)[0], {}, None)):
        raised = raise_opset(onnx.load_from_string(model))
        assert raised.opset_import[0].version > onnx.load_from_string(model).opset_import[0].version
        executor = Executor(raised)
        if inputs:
            assert executor.steps() == ["ai.anybit:QuantizeDequantize"]
            check(use, x, executor.run(inputs)[0], expected)


@pytest.mark.parametrize("opset", [19, 21, 23, 25])
@pytest.mark.parametrize("use", OF_FAMILIES)
def test_functions_mean_the_same_in_newer_opsets(use, opset, rng):
    x = values_of(rng, (6, 8))[0]
    check(use, x, Peer(quantize_model(use, opset)).run(x), quantize(use, x))
    model, expected = decode_model(use, x, opset=opset)
    check(use, x, Peer(model).run(), expected)
