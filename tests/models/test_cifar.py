"""The CIFAR example: the shipped file has the properties that its README and metadata state."""
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "cifar"


@pytest.fixture(scope="module")
def model():
    return onnx.load(FOLDER / "cifar.onnx")


def facts(model):
    return {entry.key: entry.value for entry in model.metadata_props}


def test_the_shipped_model_is_small_and_valid(model):
    assert (FOLDER / "cifar.onnx").stat().st_size <= 1_500_000
    onnx.checker.check_model(model, full_check=True)


def test_the_model_states_an_accuracy_of_at_least_85_percent_as_its_readme_does(model):
    stated = float(facts(model)["test_accuracy"])
    assert stated >= 0.85
    assert f"**{100 * stated:.2f} %**" in (FOLDER / "README.md").read_text()


def test_the_model_is_depthwise_separable_with_residuals(model):
    groups = [helper.i for node in model.graph.node if node.op_type == "Conv"
              for helper in node.attribute if helper.name == "group" and helper.i > 1]
    assert len(groups) >= 8
    assert sum(node.op_type == "Add" for node in model.graph.node) >= 6


def test_the_model_accepts_any_batch_size(model):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    images = np.random.default_rng(1).standard_normal((3, 3, 32, 32)).astype(np.float32)
    together, = session.run(None, {"image": images})
    assert together.shape == (3, 10)
    alone, = session.run(None, {"image": images[:1]})
    np.testing.assert_allclose(together[:1], alone, rtol=1e-4, atol=1e-4)
