"""Arm's quantizer for Ethos-U: its promises, on models as PyTorch's exporter writes them.

tests/python/test_torch.py (`make test-torch`) holds the same on modules of PyTorch.
"""
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from support import torch_files
from support.promises import promise
from support.tree import ROOT

import anybit
from anybit.compat.ethosu import (EthosUCompileSpec, EthosUQuantizer, get_symmetric_a16w8_quantization_config,
                                  get_symmetric_quantization_config)

INT8, INT16 = get_symmetric_quantization_config(), get_symmetric_a16w8_quantization_config()
LAYERS = ["blocks.first", "blocks.sub", "last", "head"]  # of torch_files.net()


@pytest.fixture(scope="module")
def net():
    return torch_files.net()


def quantizer(target="ethos-u55-128"):
    return EthosUQuantizer(EthosUCompileSpec(target))


def samples(*shape, count=16):
    random = np.random.default_rng(3)
    return [(random.normal(size=shape).astype(np.float32),) for _ in range(count)]


IMAGES = samples(1, 1, 8, 8)


def quantized(rules, model):
    return rules.quantize_with_submodules(model, IMAGES)


def bits_by_layer(model):
    """Bits of the activations of every layer; 0 in float."""
    layers = [node for node in model.report.nodes if node.op in ("Conv", "Gemm")]
    return dict(zip(LAYERS, [int(node.what.removeprefix("int").split()[0]) if node.outcome == "quantized" else 0 for node in layers]))


def run(model, **inputs):
    session = onnxruntime.InferenceSession(model if isinstance(model, bytes) else model.to_bytes(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def user_class(name):
    """A class with the names and bases of a user's torch module."""
    module = type("Module", (), {"__module__": "torch.nn.modules.module"})
    return type(name, (module,), {"__module__": torch_files.MODULE})


@promise("arm", 1, "A model quantized by EthosUQuantizer is one that the delegate can execute: every operator in it that Ethos-U has is integer.")
@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_every_operator_of_the_hardware_is_quantized(net, target):
    made = quantized(quantizer(target).set_global(INT8), net)
    assert {node.outcome for node in made.report.nodes} <= {"quantized", "fused", "pass-through"}
    assert made.metadata["anybit.target"] == target


@promise("arm", 2, "The symmetric int8 config of get_symmetric_quantization_config is the main one, and works for the whole model.")
def test_the_main_config_keeps_what_the_model_computes(net):
    made = quantized(quantizer().set_global(INT8), net)
    given = np.concatenate([image for image, in IMAGES])
    (before,), (after,) = run(net.SerializeToString(), x=given), run(made, x=given)
    assert 10 * np.log10(np.sum(before**2) / np.sum((before - after)**2)) > 25


@promise("arm", 3, "Weights have 8 bits and are symmetric; activations have 8 bits and are asymmetric.")
@pytest.mark.parametrize("per_channel, scales", [(True, 4), (False, 1)])
def test_8_bit_weights_are_symmetric_and_activations_asymmetric(net, per_channel, scales):
    made = quantized(quantizer().set_global(get_symmetric_quantization_config(is_per_channel=per_channel)), net)
    file = onnx.load_from_string(made.to_bytes())
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in file.graph.initializer}
    weights = [node for node in file.graph.node if node.op_type == "DequantizeLinear" and constants.get(node.input[0], np.int8(0)).ndim == 4]
    assert len(weights) == 3
    for node in weights:
        values, scale, *zero = (constants[name] for name in node.input)
        assert values.dtype == np.int8 and values.min() >= -127 and scale.size == scales and not np.any(zero)
    activations = [constants[node.input[2]] for node in file.graph.node if node.op_type == "QuantizeLinear"]
    assert {one.dtype for one in activations} == {np.dtype(np.int8)} and any(np.any(one) for one in activations)


@promise("arm", 4, "16x8 quantization has 16-bit activations and 8-bit weights.")
def test_16_bit_activations_with_8_bit_weights(net):
    made = quantized(quantizer().set_global(INT16), net)
    assert bits_by_layer(made) == dict.fromkeys(LAYERS, 16)
    assert {node.what for node in made.report.nodes if node.op == "Conv"} == {"int16 sym, int8 sym channel"}


@promise("arm", 5, "EthosUQuantizer is made from the compile specification of an Ethos-U.")
def test_the_compile_specification_is_the_hardware():
    spec = EthosUCompileSpec("ethos-u55-128", system_config="Ethos_U55_Deep_Embedded", memory_mode="Sram_Only",
                             extra_flags=["--verbose-performance"], config_ini="own.ini")
    made = quantized(EthosUQuantizer(spec).set_global(INT8), torch_files.net())
    assert made.metadata["anybit.system_configuration"] == "Ethos_U55_Deep_Embedded"
    assert made.metadata["anybit.memory_mode"] == "Sram_Only"
    assert spec.compiler_flags == ["--verbose-performance", "--accelerator-config=ethos-u55-128", "--config=own.ini", "--output-format=raw",
                                   "--system-config=Ethos_U55_Deep_Embedded", "--memory-mode=Sram_Only"]


@pytest.mark.parametrize("arguments, words", [
    ({"target": "ethos-u55-100"}, "ethos-u55-100"), ({"target": "cortex-m55"}, "not an Ethos-U"),
    ({"target": "ethos-u55-128", "external_block_placements": object()}, "writes no .pte file")])
def test_a_specification_that_cannot_be_met_is_refused(arguments, words):
    with pytest.raises(anybit.Error, match=words):
        EthosUCompileSpec(**arguments)


@promise("arm", 6, "quantize_with_submodules quantizes conditional submodules, too.")
def test_both_branches_of_a_condition_are_quantized():
    model = torch_files.conditional()
    both = [(sign * given,) for given, in samples(1, 4) for sign in (1, -1)]
    made = quantizer().set_global(INT8).quantize_with_submodules(model, both)
    assert [node.outcome for node in made.report.nodes if node.op == "Gemm"] == ["quantized", "quantized"]
    for given, in both:
        np.testing.assert_allclose(made(given), run(model.SerializeToString(), x=given)[0], atol=0.1)


@promise("arm", 7, "Calibration needs a sample for each path; a path without one stays in float, and the report says so.")
def test_a_branch_that_no_sample_enters_stays_in_float():
    positive = [(np.abs(given),) for given, in samples(1, 4)]
    made = quantizer().set_global(INT8).quantize_with_submodules(torch_files.conditional(), positive)
    assert {node.name: node.outcome for node in made.report.nodes if node.op == "Gemm"} == {
        "node_positive_gemm_0": "quantized", "node_negative_gemm_0": "float"}
    assert any("no sample reached" in remark and "else_branch" in remark for remark in made.report.remarks)


@promise("arm", 8, "quantize_with_submodules takes a list of tuples of inputs, and returns the quantized model, which can be called.")
def test_the_quantized_model_is_called_like_the_module(net):
    made = quantized(quantizer().set_global(INT8), net)
    assert isinstance(made, anybit.Model) and made.report.samples == len(IMAGES)
    image, = IMAGES[0]
    np.testing.assert_allclose(made(image), run(made, x=image)[0], atol=1e-5)
    with pytest.raises(anybit.InvalidArgument, match="2 inputs for a model with 1"):
        made(image, image)


@promise("arm", 10, "set_global sets the config of modules that no other filter matches.")
def test_the_global_config_is_for_what_no_other_filter_matches(net):
    made = quantized(quantizer().set_module_name("blocks", INT16).set_global(INT8), net)
    assert bits_by_layer(made) == {"blocks.first": 16, "blocks.sub": 16, "last": 8, "head": 8}


@promise("arm", 11, "set_io sets the config of the input and output nodes of the model.")
def test_the_config_of_inputs_and_outputs(net):
    made = quantized(quantizer().set_module_name("blocks.sub", INT8).set_io(INT16), net)
    file = onnx.load_from_string(made.to_bytes())
    zeros = {one.name: one.data_type for one in file.graph.initializer}
    by_input = {node.input[0]: node for node in file.graph.node if node.op_type == "QuantizeLinear"}
    assert zeros[by_input["x"].input[2]] == onnx.TensorProto.INT16
    last, = (node for node in file.graph.node if file.graph.output[0].name in node.output)
    assert last.op_type == "DequantizeLinear" and zeros[last.input[2]] == onnx.TensorProto.INT16
    assert bits_by_layer(made) == {"blocks.first": 0, "blocks.sub": 8, "last": 0, "head": 0}


@promise("arm", 12, 'set_module_name("blocks.sub", config) quantizes the submodule of this full name.')
def test_a_module_is_found_by_its_full_name(net):
    made = quantized(quantizer().set_module_name("blocks.sub", INT8), net)
    assert bits_by_layer(made) == {"blocks.first": 0, "blocks.sub": 8, "last": 0, "head": 0}
    inner = quantized(quantizer().set_module_name("blocks.sub.conv", INT8), net)
    assert bits_by_layer(inner) == bits_by_layer(made)
    with pytest.raises(anybit.InvalidArgument, match="did you mean 'blocks.sub"):
        quantized(quantizer().set_module_name("blocks.sup", INT8), net)


@promise("arm", 13, "None as the config of a module leaves it in float.")
def test_a_module_with_the_config_none_stays_in_float(net):
    made = quantized(quantizer().set_global(INT8).set_module_name("blocks.sub", None), net)
    assert bits_by_layer(made) == {"blocks.first": 8, "blocks.sub": 0, "last": 8, "head": 8}


@promise("arm", 14, "set_module_type(Sub, config) quantizes every instance of the class Sub.")
def test_a_class_of_modules_is_found_in_every_instance(net):
    """Though an operator of ONNX has the same name."""
    made = quantized(quantizer().set_module_type(user_class("Sub"), INT8), net)
    assert bits_by_layer(made) == {"blocks.first": 8, "blocks.sub": 8, "last": 8, "head": 0}
    outer = quantized(quantizer().set_module_type(user_class("Blocks"), INT8), net)
    assert bits_by_layer(outer) == {"blocks.first": 8, "blocks.sub": 8, "last": 0, "head": 0}
    assert bits_by_layer(quantized(quantizer().set_module_type("Blocks", INT8), net)) == bits_by_layer(outer)


@promise("arm", 15, "set_module_type takes the classes of PyTorch.")
def test_a_class_of_pytorch_is_its_operator(net):
    linear = type("Linear", (), {"__module__": "torch.nn.modules.linear"})
    made = quantized(quantizer().set_module_type(linear, INT8), net)
    assert bits_by_layer(made) == {"blocks.first": 0, "blocks.sub": 0, "last": 0, "head": 8}


def test_a_class_that_the_model_does_not_have_is_reported(net):
    made = quantized(quantizer().set_global(INT8).set_module_type(user_class("Other"), INT16), net)
    assert any("models.Other" in remark for remark in made.report.remarks)
    with pytest.raises(anybit.InvalidArgument, match="did you mean 'Blocks'"):
        quantized(quantizer().set_module_type("Block", INT8), net)


def test_a_class_needs_a_model_that_names_its_modules():
    digits = anybit.load(ROOT / "examples/digits/digits.onnx")
    with pytest.raises(anybit.InvalidArgument, match="do not name the classes of their modules"):
        quantizer().set_module_type(user_class("Sub"), INT8).quantize(digits, samples(1, 1, 28, 28))


@promise("arm", 16, "The methods that set configs return the quantizer.")
def test_setters_are_chained():
    one = quantizer()
    assert one.set_global(INT8) is one.set_io(INT8) is one.set_module_name("a", INT8) is one.set_module_type("Conv", INT8) is one


@promise("arm", 17, "transform_for_annotation returns the model prepared: scalars are tensors, and it computes the same.")
def test_the_prepared_model_computes_the_same():
    writer = torch_files.Writer()
    half = writer.node("Constant", [], value_float=0.5)
    result = writer.node("Mul", ["x", half])
    model = writer.model([torch_files.value("x", 1, 4)], [torch_files.value(result, 1, 4)])
    prepared = quantizer().transform_for_annotation(model)
    file = onnx.load_from_string(prepared.to_bytes())
    assert [node.op_type for node in file.graph.node] == ["Mul"] and len(file.graph.initializer) == 1
    given, = samples(1, 4)[0]
    np.testing.assert_array_equal(prepared(given), given * np.float32(0.5))


@promise("arm", 9, "is_qat=True trains the model with simulated quantization.")
def test_training_trains():
    config = get_symmetric_quantization_config(is_qat=True)
    training = quantizer().set_global(config).quantize_with_submodules(torch_files.net(), IMAGES, is_qat=True).report.training
    assert training["steps"] >= 600 and min(loss for _, loss, _ in training["curve"]) < training["loss_before"]


@pytest.mark.parametrize("ask, words", [
    (lambda: get_symmetric_quantization_config(eps=0.1), "eps=0.1"),
    (lambda: get_symmetric_a16w8_quantization_config(epsilon=0.1), "epsilon=0.1"),
    (lambda: get_symmetric_quantization_config(act_qmin=-100), "-100")])
def test_what_a_config_cannot_say_is_refused(ask, words):
    with pytest.raises(anybit.Error, match=words):
        ask()


@promise("arm", 18, "The code of the reference runs with only its import lines changed.")
def test_the_example_runs(tmp_path):
    script = ROOT / "examples/from-arm/quantize_digits.py"
    assert [line for line in script.read_text().splitlines() if "anybit" in line][0].startswith("from anybit.compat.ethosu import")
    folder = str(Path(anybit.__file__).parents[1])
    subprocess.run([sys.executable, script, tmp_path / "u55.onnx"], check=True, env={"PYTHONPATH": folder}, timeout=120)
    assert anybit.load(tmp_path / "u55.onnx").metadata["anybit.target"] == "ethos-u55-128"
