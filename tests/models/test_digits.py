"""The digits example: the shipped files have the properties that README and metadata state."""
import importlib.util
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "digits"


def module(name):
    spec = importlib.util.spec_from_file_location(f"digits_{name}", FOLDER / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


layers, export = module("layers"), module("export")


@pytest.fixture(scope="module")
def model():
    return onnx.load(FOLDER / "digits.onnx")


@pytest.fixture(scope="module")
def shipped():
    return np.load(FOLDER / "test_images.npy"), np.load(FOLDER / "test_labels.npy")


def facts(model):
    return {entry.key: entry.value for entry in model.metadata_props}


def normalize(images):
    return ((images.astype(np.float32) / 255 - 0.1307) / 0.3081).astype(np.float32)


def test_the_shipped_files_are_small():
    assert (FOLDER / "digits.onnx").stat().st_size <= 400_000
    assert (FOLDER / "test_images.npy").stat().st_size <= 1_600_000


def test_the_shipped_images_are_2000_byte_images_of_all_ten_digits(shipped):
    images, labels = shipped
    assert images.dtype == np.uint8 and images.shape == (2000, 1, 28, 28)
    assert labels.shape == (2000,) and np.bincount(labels, minlength=10).min() >= 150


def test_the_model_reaches_its_stated_accuracy_on_the_shipped_images(model, shipped):
    images, labels = shipped
    assert float(facts(model)["test_accuracy"]) >= 0.992  # on all 10,000
    # As in the README, with a tolerance of one image for the rounding of other CPUs.
    assert export.accuracy(model, normalize(images), labels) == pytest.approx(0.9950, abs=0.0006)


def test_the_normalizing_model_gives_the_input_of_the_network(shipped):
    session = onnxruntime.InferenceSession(FOLDER / "normalize.onnx", providers=["CPUExecutionProvider"])
    image, = session.run(None, {"pixels": shipped[0][:10]})
    np.testing.assert_allclose(image, normalize(shipped[0][:10]), atol=1e-6)


def test_the_calibration_images_are_none_of_the_test_images(shipped):
    calibration = np.load(FOLDER / "calibration_images.npy")
    assert calibration.dtype == np.uint8 and calibration.shape == (100, 1, 28, 28)
    assert not {one.tobytes() for one in calibration} & {one.tobytes() for one in shipped[0]}


def test_the_stated_normalization_is_the_one_used_here(model):
    assert facts(model)["normalization"] == "(pixel / 255 - 0.1307) / 0.3081"


@pytest.mark.parametrize("digit", range(10))
def test_a_sample_is_a_normalized_input_and_is_classified_correctly(model, digit):
    sample = np.load(FOLDER / "samples" / f"{digit}.npy")
    assert sample.dtype == np.float32 and sample.shape == (1, 1, 28, 28)
    assert export.accuracy(model, sample, np.array([digit])) == 1


def test_the_graph_has_the_operators_and_shapes_that_the_demo_needs(model):
    onnx.checker.check_model(model, full_check=True)
    nodes = model.graph.node
    assert {node.op_type for node in nodes} == {
        "Conv", "BatchNormalization", "Relu", "MaxPool", "Add", "GlobalAveragePool", "Flatten", "Gemm"}
    assert sum(node.op_type == "BatchNormalization" for node in nodes) == 6
    groups = [a.i for node in nodes for a in node.attribute if a.name == "group"]
    assert groups == [16], "one depthwise convolution"
    assert len({node.name for node in nodes} - {""}) == len(nodes)

    def shape(value):
        return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]

    assert [(v.name, shape(v)) for v in model.graph.input] == [("image", ["batch", 1, 28, 28])]
    assert [(v.name, shape(v)) for v in model.graph.output] == [("logits", ["batch", 10])]
    inferred = {value.name: shape(value) for value in model.graph.value_info}
    assert set(inferred) == {node.output[0] for node in nodes} - {"logits"}
    assert all(dims[0] == "batch" and all(isinstance(d, int) and d > 0 for d in dims[1:])
               for dims in inferred.values())


def every_layer(rng):
    return [layers.Conv("conv", rng, 3, 5), layers.Conv("pointwise", rng, 3, 5, kernel=1),
            layers.Depthwise("depthwise", rng, 3), layers.BatchNorm("norm", 3), layers.Relu("relu"),
            layers.MaxPool("pool"), layers.GlobalAverage("average"),
            layers.Chain("chain", layers.GlobalAverage("average"), layers.Linear("linear", rng, 3, 4)),
            layers.Residual("residual", layers.Conv("conv", rng, 3, 3), layers.BatchNorm("norm", 3))]


@pytest.mark.parametrize("index", range(9))
def test_gradients_of_a_layer_match_finite_differences(index):
    rng = np.random.default_rng(7)
    layer = every_layer(rng)[index]
    x = rng.normal(size=(2, 4, 4, 3))
    weights = rng.normal(size=layer.forward(x, True).shape)
    gradients = [(x, layer.backward(weights))]
    for part in layer.layers():
        gradients += [(part.parameters[key], part.gradients[key]) for key in part.parameters]
    for values, gradient in gradients:
        direction, centre, h = rng.normal(size=values.shape), values.copy(), 1e-6
        losses = []
        for sign in (1, -1):
            values[...] = centre + sign * h * direction
            losses.append((layer.forward(x, True) * weights).sum())
        values[...] = centre
        slope = (losses[0] - losses[1]) / (2 * h)
        assert slope == pytest.approx((gradient * direction).sum(), rel=1e-5, abs=1e-7)
