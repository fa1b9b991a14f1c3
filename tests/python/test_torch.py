"""Modules of PyTorch, straight in: `make test-torch`, with Debian's torch or one of PyPI's.

tests/reference/test_arm.py holds the rules for modules without torch, on files as torch.onnx writes them.
"""
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.blocks import blocks_of

import anybit
from anybit.compat.ethosu import (EthosUCompileSpec, EthosUQuantizer, get_symmetric_a16w8_quantization_config,
                                  get_symmetric_quantization_config)

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ["blocks.first.conv", "blocks.sub.conv", "blocks.row.0.conv", "blocks.row.1.0", "blocks.several.0", "blocks.several.1", "head"]

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def torch():
    import torch
    torch.manual_seed(1)
    return torch


@pytest.fixture(scope="module")
def modules(torch):
    from support import torch_modules
    return torch_modules


@pytest.fixture
def net(modules):
    return modules.net()


@pytest.fixture
def images(torch):
    return torch.randn(40, 1, 8, 8)


def forms(torch, module, inputs):
    """A module in every form that this torch has."""
    yield module
    yield torch.fx.symbolic_trace(module)
    if hasattr(torch, "export"):
        program = torch.export.export(module, inputs)
        yield program
        yield program.module()


def close(expected, found, decibels=100):
    expected, found = (np.asarray(getattr(one, "detach", lambda one=one: one)()) for one in (expected, found))
    assert expected.shape == found.shape
    assert np.sum((expected - found)**2) <= np.sum(expected**2) * 10**(-decibels / 10)


def layers(model):
    """The layers that are quantized, by module."""
    found = [node.outcome != "float" for node in model.report.nodes if node.op in ("Conv", "Gemm")]
    return {name for name, quantized in zip(LAYERS, found, strict=True) if quantized}


@pytest.mark.parametrize("example", [1, 3])
def test_the_exported_model_computes_what_the_module_does_for_any_batch(net, images, example):
    model = anybit.load(net, example_inputs=(images[:example],))
    assert [one.name for one in model.inputs] == ["image"] and [one.name for one in model.outputs] == ["output"]
    for count in (1, 2, 7):
        close(net(images[:count]), anybit.Session(model).run(images[:count])["output"])


def test_every_form_of_a_module_is_taken(torch, net, images):
    for module in forms(torch, net, (images[:1],)):
        model = anybit.load(module, example_inputs=images[:1])
        close(net(images[:1]), next(iter(anybit.Session(model).run(images[:1]).values())))


def test_inputs_by_name_and_several_outputs(torch, modules):
    module, a, b = modules.Two().eval(), torch.randn(3, 4), torch.randn(3, 4)
    for example in ((a, b), {"a": a, "b": b}, (a.numpy(), b.numpy())):
        model = anybit.load(module, example_inputs=example)
        results = anybit.Session(model).run({"a": a[:2], "b": b[:2]})
        assert list(results) == ["output_0", "output_1"]
        for expected, found in zip(module(a[:2], b[:2]).values(), results.values()):
            close(expected, found)


def test_a_module_that_takes_one_batch_size_has_a_fixed_one(torch, modules):
    model = anybit.load(modules.Fixed(), example_inputs=torch.randn(2, 3, 4))
    assert model.inputs[0].shape[1:] == (3, 4)
    given = torch.randn(2, 3, 4)
    close(modules.Fixed()(given), anybit.Session(model).run(given)["output"])


def test_a_transformer_of_any_batch(torch, modules):
    module, words = modules.Encoder().eval(), torch.randint(0, 20, (4, 5))
    model = anybit.load(module, example_inputs=words[:1])
    close(module(words), anybit.Session(model).run(words)["output"])
    made = anybit.Quantizer().set_module_name("layers.1", "int8").quantize(model, [(words[k:k + 1],) for k in range(4)])
    weights = [node.outcome for node in made.report.nodes if node.op in ("MatMul", "Gemm") and "sym" in node.what]
    assert weights and set(weights) == {"quantized"}


def test_the_mode_of_a_module_stays(net, images):
    net.train()
    net.blocks.sub.eval()
    model = anybit.load(net, example_inputs=images[:2])
    assert net.training and net.blocks.first.norm.training and not net.blocks.sub.norm.training
    close(net.eval()(images), anybit.Session(model).run(images)["output"])


@pytest.mark.parametrize("name", [*LAYERS, "blocks", "blocks.row", "blocks.row.1", "blocks.several"])
def test_a_rule_by_module_name_finds_its_layers(net, images, name):
    made = anybit.Quantizer().set_module_name(name, "int8").quantize(net, [(images[:4],)])
    assert layers(made) == {one for one in LAYERS if f"{one}.".startswith(f"{name}.")}


def test_a_rule_by_class_finds_every_instance(torch, modules, net, images):
    def found(kind):
        return layers(anybit.Quantizer().set_module_type(kind, "int8").quantize(net, [(images[:4],)]))
    assert found(modules.Sub) == set(LAYERS[:3])
    assert found(modules.Blocks) == set(LAYERS[:6])
    assert found(torch.nn.Sequential) == set(LAYERS[2:4])
    assert found(torch.nn.Conv2d) == set(LAYERS[:6])
    assert found(torch.nn.Linear) == {"head"}


def test_normalizations_are_folded_under_a_rule_for_their_module(modules, net, images):
    made = anybit.Quantizer().set_module_type(modules.Sub, "int8").quantize(net, [(images[:4],)])
    assert "BatchNormalization" not in {node.op for node in made.report.nodes}


def test_calibration_by_a_data_loader(torch, modules, net, images):
    from torch.utils.data import DataLoader, TensorDataset
    expected = net(images)
    labelled = DataLoader(TensorDataset(images, torch.zeros(40)), batch_size=16)
    for loader in (labelled, DataLoader(images, batch_size=16), DataLoader([{"image": one, "label": 0} for one in images], batch_size=16)):
        made = anybit.quantize(net, "int8", calibration=loader, example_inputs=(images[:1],))
        assert made.report.samples == 3
        close(expected, anybit.Session(made).run(images)["output"], decibels=25)
    close(expected, anybit.Session(anybit.quantize(net, calibration=labelled)).run(images)["output"], decibels=25)
    a, b = torch.randn(2, 32, 4)
    pairs = DataLoader([((one, other), 0) for one, other in zip(a, b)], batch_size=8)
    made = anybit.quantize(modules.Two().eval(), "int8", calibration=pairs)
    assert made.report.samples == 4 and any(node.outcome == "quantized" for node in made.report.nodes)


def test_what_cannot_be_exported_is_an_error(torch, modules, net):
    with pytest.raises(anybit.InvalidArgument, match="exported with example inputs"):
        anybit.load(net)
    with pytest.raises(anybit.InvalidArgument, match="exported with example inputs"):
        anybit.quantize(net, "int8", calibration=iter([torch.zeros(1, 1, 8, 8)]))
    with pytest.raises(anybit.InvalidArgument, match="torch cannot export Untraceable: this module computes nothing"):
        anybit.load(modules.Untraceable(), example_inputs=torch.zeros(1))
    with pytest.raises(anybit.Unsupported, match="2.2 GiB of weights"):
        anybit.load(torch.nn.Linear(30000, 20000, device="meta"), example_inputs=torch.zeros(1, 30000))
    with pytest.raises(anybit.InvalidArgument, match="Linear is a class"):
        anybit.load(torch.nn.Linear)


def test_arms_quantizer_takes_every_form(torch, modules, net, images):
    samples = [(images[k:k + 1],) for k in range(32)]
    for module in forms(torch, net, samples[0]):
        quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128")).set_global(get_symmetric_quantization_config())
        quantizer.set_module_name("head", get_symmetric_a16w8_quantization_config())
        made = quantizer.quantize_with_submodules(module, samples)
        assert layers(made) == set(LAYERS)
        assert [node.what for node in made.report.nodes if node.op == "Gemm"] == ["int16 sym, int8 sym channel"]
        result = made(*samples[0])
        assert isinstance(result, torch.Tensor)
        close(net(*samples[0]), result, decibels=20)
    close(result, pickle.loads(pickle.dumps(made))(*samples[0]))


def test_arms_quantizer_finds_classes_in_what_torch_exported(torch, modules, net, images):
    samples = [(images[k:k + 1],) for k in range(4)]
    for module in forms(torch, net, samples[0]):
        if type(module).__name__ == "Net" and isinstance(module, torch.fx.GraphModule):
            continue  # symbolic_trace keeps the names of modules, not their classes
        quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128")).set_module_type(modules.Sub, get_symmetric_quantization_config())
        assert layers(quantizer.quantize_with_submodules(module, samples)) == set(LAYERS[:3])


def test_both_branches_of_a_condition_are_quantized(torch, modules):
    conditions = [modules.Branches().eval()] if hasattr(torch, "cond") else []
    for module in conditions:
        both = [(sign * torch.randn(1, 4),) for _ in range(30) for sign in (1, -1)]
        model = torch.export.export(module, both[0]).module()
        made = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128")).set_global(get_symmetric_quantization_config()).quantize_with_submodules(model, both)
        assert [node.outcome for node in made.report.nodes if node.op == "Gemm"] == ["quantized", "quantized"]
        for given, in both[:8]:
            close(module(given), made(given), decibels=20)


def run_script(*words, cwd=ROOT):
    environment = {**os.environ, "PYTHONPATH": str(Path(anybit.__file__).parents[1])}
    return subprocess.run([sys.executable, *map(str, words)], check=True, capture_output=True, text=True, env=environment, cwd=cwd, timeout=300).stdout


def test_the_example_runs(torch, tmp_path):
    text = (ROOT / "examples/from-arm/quantize_module.py").read_text()
    if not hasattr(torch, "export"):  # torch before 2.1; the module itself does
        text = text.replace("torch.export.export(net, inputs).module()", "net")
        text = text.replace("model = quantizer.transform_for_annotation(model)\n", "")
    (tmp_path / "script.py").write_text(text)
    run_script(tmp_path / "script.py", tmp_path / "net.onnx")
    assert anybit.load(tmp_path / "net.onnx").metadata["anybit.target"] == "ethos-u55-128"


def test_the_guide_runs(tmp_path):
    blocks = [block.text for block in blocks_of((ROOT / "docs" / "from-pytorch.md").read_text()) if block.language == "python"]
    assert len(blocks) >= 3
    (tmp_path / "guide.py").write_text("\n\n".join(blocks))
    run_script("guide.py", cwd=tmp_path)
