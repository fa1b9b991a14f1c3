"""What AMD Quark's page on microscaling promises, numbered in its order; the library for ONNX Runtime is in test_quark_library.py."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.one_node import model_of, ours
from support.promises import promise

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits/digits.onnx"
# Largest element, smallest step between elements, of the formats in the table.
ELEMENTS = {"fp8_e5m2": (57344, 2.0**-16), "fp8_e4m3": (448, 2.0**-9), "fp6_e3m2": (28, 2.0**-4), "fp6_e2m3": (7.5, 2.0**-3),
            "fp4_e2m1": (6, 0.5), "int8": (127 / 64, 1 / 64)}
EXPONENTS = {"fp8_e5m2": 15, "fp8_e4m3": 8, "fp6_e3m2": 4, "fp6_e2m3": 2, "fp4_e2m1": 2, "int8": 0}


@pytest.fixture
def images():
    return ((np.load(ROOT / "examples/digits/test_images.npy")[:200].astype(np.float32) / 255 - 0.1307) / 0.3081).reshape(-1, 1, 28, 28)


def block_of(seed, size=32):
    return np.float32(np.random.default_rng(seed).standard_normal((1, size)))


def run(op, x, domain="com.amd.quark", **attributes):
    return ours(model_of(op, [x], domain=domain, axis=1, **attributes), [x])[0]


def quantized(attributes, **options):
    import anybit

    return onnx.load_from_string(anybit.quantize(str(DIGITS), attributes, emit="quark", **options).to_bytes())


def example(build, folder, name, *arguments):
    """What a program of examples/from-quark prints."""
    return subprocess.run([sys.executable, ROOT / "examples/from-quark" / name, *arguments], check=True, capture_output=True, text=True,
                          env={"PYTHONPATH": str(build / "python"), "PATH": "/usr/bin:/bin"}, cwd=folder).stdout


@promise("quark", 1, "In block floating point the values of a block share an exponent and have mantissas of their own.")
def test_values_of_a_block_are_multiples_of_one_power_of_two():
    for seed in range(20):
        x = block_of(seed, 8) * np.float32(2.0 ** (seed - 10))
        y = run("BFPQuantizeDequantize", x, bit_width=16, block_size=8, rounding_mode=2)
        step = 2.0 ** (np.floor(np.log2(np.abs(x).max())) - 6)
        steps = y.astype(np.float64) / step
        assert (steps == np.round(steps)).all() and np.abs(steps).max() <= 127
        assert np.abs(y - x).max() <= step  # half a step, or one where the largest mantissa saturates


@promise("quark", 2, "A scale of their own for smaller groups of values makes the error smaller than one exponent for the block.")
def test_shifts_of_sub_blocks_reduce_the_error():
    x = np.concatenate([np.float32(block_of(seed, 16) * 2.0 ** np.repeat(np.arange(8) % 3, 2)) for seed in range(200)])
    common = dict(bit_width=13, block_size=16, rounding_mode=2)
    one, finer = (np.square(run("BFPQuantizeDequantize", x, bfp_method=method, **common) - x).mean() for method in ("to_bfp", "to_bfp_prime"))
    assert finer < one


@promise("quark", 3, "MXFixNeuron has the formats MXFP8 (E5M2, E4M3), MXFP6 (E3M2, E2M3), MXFP4 (E2M1) and MXINT8, chosen by element_dtype.")
@pytest.mark.parametrize("element", list(ELEMENTS))
def test_every_format_of_the_table_has_its_elements(element):
    largest, step = ELEMENTS[element]
    for seed in range(20):
        x = block_of(seed)
        y = run("MXFixNeuron", x, domain="com.vai.quantize", element_dtype=element, block_size=32, rounding_mode=2)
        scale = 2.0 ** (np.floor(np.log2(np.abs(x).max())) - EXPONENTS[element])
        elements = y.astype(np.float64) / scale
        assert (elements / step == np.round(elements / step)).all() and np.abs(elements).max() <= largest
        assert np.abs(y - x).max() <= np.abs(x).max() / (64 if element == "int8" else 4)


@promise("quark", 4, "The shared scale is always E8M0, a power of two.")
def test_the_scale_is_a_power_of_two():
    x = block_of(3)
    for factor in 2.0 ** np.arange(-20, 20):
        np.testing.assert_array_equal(run("MXQuantizeDequantize", x * np.float32(factor)), run("MXQuantizeDequantize", x) * np.float32(factor))


@promise("quark", 5, "With a configuration for MX, all activations and weights pass through the operator.")
def test_every_value_of_the_network_passes_through_the_operator():
    model = quantized({"MXAttributes": {}})
    operators = [node for node in model.graph.node if node.op_type == "MXQuantizeDequantize"]
    assert len(operators) == 33
    behind = {node.output[0] for node in operators}
    for node in model.graph.node:
        if node in operators:
            continue
        assert all(name in behind for name in node.input if name), node.name


@promise("quark", 6, "The attributes in extra_options['MXAttributes'] are those of the operator: element_dtype, axis, block_size, rounding_mode.")
def test_the_attributes_reach_the_operators():
    model = quantized({"MXAttributes": {"element_dtype": "fp6_e3m2", "axis": 1, "block_size": 16, "rounding_mode": 2}})
    for node in model.graph.node:
        if node.op_type == "MXQuantizeDequantize":
            got = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
            assert (got["element_dtype"], got["block_size"], got["rounding_mode"]) == (b"fp6_e3m2", 16, 2)


@promise("quark", 7, "The example that enables MX quantization runs: a configuration, a quantizer, quantize_model(input, output, reader).")
def test_the_example_runs_with_other_import_lines(tmp_path, build, images):
    import anybit

    made = tmp_path / "digits.mx.onnx"
    example(build, tmp_path, "quantize_mx.py", DIGITS, made)
    labels = np.load(ROOT / "examples/digits/test_labels.npy")[:200]
    assert anybit.compare(str(DIGITS), str(made), images, labels=labels).top1 > 0.98
    written = onnx.load(made)
    [attributes] = {tuple(sorted((one.name, onnx.helper.get_attribute_value(one)) for one in node.attribute if one.name != "axis"))
                    for node in written.graph.node if node.op_type == "MXQuantizeDequantize"}
    assert attributes == (("block_size", 8), ("element_dtype", b"int8"), ("rounding_mode", 2))


@promise("quark", 8, "ONNX Runtime runs a model with these operators if their library is registered in the session options.")
def test_the_example_of_a_session_runs_with_other_import_lines(tmp_path, build, images):
    import anybit

    made = tmp_path / "digits.mx.onnx"
    example(build, tmp_path, "quantize_mx.py", DIGITS, made)
    np.save(tmp_path / "images.npy", images)
    printed = np.array(example(build, tmp_path, "run_mx.py", made, tmp_path / "images.npy").split(), int)
    [ours] = anybit.Session(str(made)).run({"image": images}).values()
    assert (printed == ours.argmax(axis=1)).all()
    assert (printed == np.load(ROOT / "examples/digits/test_labels.npy")[:200]).mean() > 0.98


@promise("quark", 7, "The example that enables MX quantization runs: a configuration, a quantizer, quantize_model(input, output, reader).")
def test_block_floating_point_is_configured_the_same_way():
    from anybit.compat.quark import CalibrationMethod, Config, ModelQuantizer, QuantizationConfig, VitisQuantFormat, VitisQuantType

    config = QuantizationConfig(calibrate_method=CalibrationMethod.MinMax, quant_format=VitisQuantFormat.BFPFixNeuron,
                                activation_type=VitisQuantType.QBFP, weight_type=VitisQuantType.QBFP,
                                extra_options={"BFPAttributes": {"bfp_method": "to_bfp_prime", "bit_width": 13, "block_size": 16}})
    model = onnx.load_from_string(ModelQuantizer(Config(global_quant_config=config)).quantize_model(str(DIGITS)).to_bytes())
    assert sum(node.op_type == "BFPQuantizeDequantize" for node in model.graph.node) == 33


@pytest.mark.parametrize("options, hint", [({"extra_options": {"MXAtributes": {}}}, "did you mean 'MXAttributes'"),
                                           ({"extra_options": {"MXAttributes": {"element_type": "int8"}}}, "element_dtype"),
                                           ({"nodes_to_exlude": []}, "did you mean 'nodes_to_exclude'"),
                                           ({"include_fast_ft": True}, "False")])
def test_unknown_options_are_refused_with_the_nearest_spelling(options, hint):
    import anybit
    from anybit.compat.quark import Config, ModelQuantizer, QuantizationConfig, VitisQuantFormat, VitisQuantType

    with pytest.raises(anybit.Error, match=hint):
        config = QuantizationConfig(quant_format=VitisQuantFormat.MXFixNeuron, activation_type=VitisQuantType.QMX,
                                    weight_type=VitisQuantType.QMX, **options)
        ModelQuantizer(Config(global_quant_config=config)).quantize_model(str(DIGITS))
