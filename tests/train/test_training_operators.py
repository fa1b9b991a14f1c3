"""Operators of ai.anybit.training that rules emit, by themselves: float32 beside float64, far values, errors."""
import zlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from support.differences import LOSS, feeds_in_double, in_double, with_loss
from support.executing import Executor, ExecutorError, with_gradients
from support.gradient_cases import RANDOM, random_models
from support.one_node import model_of

TRAINING = "ai.anybit.training"
SLOPES = {
    "CeluGradient": ({"alpha": 0.7}, (0, 1)), "EluGradient": ({"alpha": 0.7}, (0, 1)), "ErfGradient": ({}, (0, 0)),
    "LeakyReluGradient": ({"alpha": 0.3}, (0.3, 1)), "MishGradient": ({}, (0, 1)), "QuickGeluGradient": ({}, (0, 1)),
    "SeluGradient": ({"gamma": 1.0}, (0, 1)), "SoftplusGradient": ({}, (0, 1)), "SoftsignGradient": ({}, (0, 0)),
    "SwishGradient": ({}, (0, 1)), "ThresholdedReluGradient": ({}, (0, 1)),
}


def run(op_type, inputs, outputs=1, **attributes):
    inputs = [None if x is None else np.asarray(x) for x in inputs]
    model = model_of(op_type, inputs, outputs, domain=TRAINING, **attributes)
    return Executor(model.SerializeToString()).run({f"x{i}": x for i, x in enumerate(inputs) if x is not None})


@pytest.mark.parametrize("operator", sorted(set(RANDOM) - {":Cast"}))  # it casts to float64
def test_gradients_in_float32_are_near_those_in_float64(operator):
    seed = zlib.crc32(operator.encode())
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    for about, model, feeds in random_models(operator, rng, in_float32=True):
        double = feeds_in_double(model, feeds)
        lossy = with_loss(in_double(model), double, rng)
        wanted = [name for name, x in double.items() if x.dtype == np.float64]
        exact = Executor(with_gradients(lossy, LOSS, wanted).SerializeToString()).run(double)[1:]
        single = Executor(with_gradients(in_float32(lossy), LOSS, wanted).SerializeToString()).run(feeds)[1:]
        for name, one, other in zip(wanted, exact, single):
            assert other.dtype == np.float32
            scale = max(np.abs(one).max(initial=0), 1e-3)
            np.testing.assert_allclose(other / scale, one / scale, rtol=0, atol=1e-4, err_msg=f"{about}, {name}")


def in_float32(model):
    """The model in float32; the inverse of in_double."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for port in [*model.graph.input, *model.graph.output]:
        if port.type.tensor_type.elem_type == TensorProto.DOUBLE:
            port.type.tensor_type.elem_type = TensorProto.FLOAT
    for i, one in enumerate(model.graph.initializer):
        if one.data_type == TensorProto.DOUBLE:
            single = numpy_helper.to_array(one).astype(np.float32)
            model.graph.initializer[i].CopyFrom(numpy_helper.from_array(single, one.name))
    return model


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("op_type", sorted(SLOPES))
def test_slopes_far_from_zero_are_their_limits(op_type, kind):
    attributes, (below, above) = SLOPES[op_type]
    x = np.array([-np.inf, -3e38, -1e6, 1e6, 3e38, np.inf, np.nan], kind)
    found = run(op_type, [np.ones_like(x), x], **attributes)[0]
    np.testing.assert_allclose(found[:3], below, atol=1e-5)
    np.testing.assert_allclose(found[3:6], above, atol=1e-5)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_layer_normalization_of_rows_far_from_zero_keeps_its_precision(kind):
    rng = np.random.default_rng(3)
    x, dy, scale = rng.normal(size=(5, 40)) + 1000, rng.normal(size=(5, 40)), rng.normal(size=40)
    deviation = np.sqrt(x.var(1, keepdims=True) + 1e-5)
    normal, g = (x - x.mean(1, keepdims=True)) / deviation, dy * scale
    wanted = (g - g.mean(1, keepdims=True) - normal * (g * normal).mean(1, keepdims=True)) / deviation
    found = run("LayerNormalizationGradient", [v.astype(kind) for v in (dy, x, scale)], 3)
    atol = 1e-9 if kind == np.float64 else 2e-3
    for one, other in zip(found, (wanted, (dy * normal).sum(0), dy.sum(0))):
        np.testing.assert_allclose(one, other, atol=atol)


F = np.ones
WRONG = [
    ("SliceGradient", [F((2, 2)), np.array([4, 4]), np.array([0]), np.array([3])], {}, "shape \\[3, 4\\]"),
    ("SliceGradient", [F((2, 2)), np.array([2, 2]), np.array([0]), np.array([2]), np.array([0]), np.array([0])], {}, "a step is 0"),
    ("SliceGradient", [F((2, 2)), np.array([2, 2]), np.array([0, 0]), np.array([2])], {}, "differ in number"),
    ("PadGradient", [F((2, 2)), np.array([2, 2]), np.array([1, 0, 0, 0])], {"mode": "edge"}, "shape \\[3, 2\\]"),
    ("PadGradient", [F((2, 2)), np.array([2, 2]), np.array([1, 0])], {"mode": "edge"}, "2 pads"),
    ("LayerNormalizationGradient", [F((2, 3)), F((2, 3)), F(2)], {}, "normalized axes"),
    ("LayerNormalizationGradient", [F((2, 3)), F((3, 2)), F(2)], {}, "the shapes of x"),
    ("NegativeLogLikelihoodLossGradient", [F(()), np.array([0, 3]), np.array([2, 3])], {}, "target 3 is not a class"),
    ("NegativeLogLikelihoodLossGradient", [F(()), np.array([0]), np.array([2, 3])], {}, "one for each position"),
    ("NegativeLogLikelihoodLossGradient", [F(2), np.array([0, 0]), np.array([2, 3])], {}, "the shape of the loss"),
    ("NegativeLogLikelihoodLossGradient", [F(()), np.array([0, 0]), np.array([2, 3]), F(2)], {}, "one for each class"),
]


@pytest.mark.parametrize("op_type, inputs, attributes, words", WRONG, ids=range(len(WRONG)))
def test_what_does_not_fit_is_refused_with_the_reason(op_type, inputs, attributes, words):
    with pytest.raises(ExecutorError, match=words):
        run(op_type, inputs, **attributes)


def test_the_gradient_of_a_slice_backwards_is_put_back_in_its_order():
    dy = np.arange(4.0)
    found = run("SliceGradient", [dy, np.array([9]), np.array([7]), np.array([0]), np.array([0]), np.array([-2])])[0]
    np.testing.assert_array_equal(found, [0, 3, 0, 2, 0, 1, 0, 0, 0])
