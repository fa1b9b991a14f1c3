"""anybit.compat.mase on modules of PyTorch; `make test-torch` runs it. tests/reference/test_mase.py has the rest, on ONNX models."""
import os
import pathlib
import subprocess
import sys

import pytest
from support.tree import ROOT

import anybit
from anybit.compat.mase import (MaseGraph, add_common_metadata_analysis_pass, deepcopy_mase_graph, init_metadata_analysis_pass,
                                quantize_transform_pass)

pytestmark = pytest.mark.torch

CONFIG = {"name": "integer", "data_in_width": 8, "data_in_frac_width": 4, "weight_width": 8, "weight_frac_width": 6,
          "bias_width": 8, "bias_frac_width": 5}


@pytest.fixture(scope="module")
def torch():
    import torch

    torch.manual_seed(0)
    return torch


@pytest.fixture(scope="module")
def module(torch):
    body = torch.nn.Sequential(torch.nn.Linear(24, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
    return torch.nn.Sequential(body, torch.nn.Tanh())


def passed(model, dummy_in, args):
    mg = MaseGraph(model=model)
    mg, _ = init_metadata_analysis_pass(mg, {})
    mg, _ = add_common_metadata_analysis_pass(mg, {"dummy_in": dummy_in, "add_value": False})
    original = deepcopy_mase_graph(mg)
    mg, _ = quantize_transform_pass(mg, args)
    assert original.model is model
    return mg


def nearest(torch, x, width, frac):
    return torch.clamp(torch.round(x * 2**frac), -(2 ** (width - 1)), 2 ** (width - 1) - 1) / 2**frac


def layer(torch, linear, x):
    """A Linear as MASE's LinearInteger computes it with CONFIG."""
    return torch.nn.functional.linear(nearest(torch, x, 8, 4), nearest(torch, linear.weight, 8, 6), nearest(torch, linear.bias, 8, 5))


def test_the_example_of_the_guide_runs():
    package = {"PYTHONPATH": str(pathlib.Path(anybit.__file__).parents[1])}
    done = subprocess.run([sys.executable, ROOT / "examples/from-mase/quantize_by_type.py"], env=os.environ | package, capture_output=True,
                          text=True, check=True)
    assert done.stdout.endswith("Tensor (1, 10)\n")


def test_a_module_is_quantized_and_called_with_tensors(torch, module):
    x = torch.randn(5, 24)
    mg = passed(module, {"input": x[:1]}, {"by": "type", "default": {"config": {"name": None}}, "linear": {"config": CONFIG}})
    result = mg.model(x)
    hidden = torch.relu(layer(torch, module[0][0], x))
    wanted = torch.tanh(layer(torch, module[0][2], hidden))
    assert isinstance(result, torch.Tensor)
    torch.testing.assert_close(result, wanted.detach(), rtol=1e-5, atol=1e-5)
    assert not isinstance(mg.model(x.numpy()), torch.Tensor)


@pytest.mark.parametrize("name", ["0.2", "0_2"])
def test_names_have_dots_or_underscores(torch, module, name):
    mg = passed(module, {"input": torch.randn(1, 24)}, {"by": "name", "default": {"config": {"name": None}}, name: {"config": CONFIG}})
    assert [node.outcome for node in mg.model.report.nodes if node.op == "Gemm"] == ["float", "quantized"]
