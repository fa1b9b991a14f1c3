"""`quantize_with_accuracy_control`: layers are promoted until the caller's metric holds; and NNCF's names for it."""
import anybit
import numpy as np
import pytest
from anybit.compat import nncf


def accuracy_of(images, labels):
    return lambda model: float((anybit.Session(model).run(images)["logits"].argmax(1) == labels).mean())


def test_layers_are_promoted_until_the_metric_holds(digits, images, labels):
    right = accuracy_of(images, labels)
    wanted = right(anybit.load(digits)) - 0.01
    assert right(anybit.quantize(digits, "binary", images[:50])) < wanted
    made = anybit.quantize_with_accuracy_control(digits, "binary", images[:50], metric=right, max_drop=0.01)
    assert right(made) >= wanted
    assert made.report.weight_bytes_after < made.report.weight_bytes_before


def test_a_model_that_is_good_enough_is_quantized_as_it_is(digits, images, labels):
    made = anybit.quantize_with_accuracy_control(digits, "int8", images[:50], metric=accuracy_of(images, labels), max_drop=0.05)
    assert made.to_bytes() == anybit.quantize(digits, "int8", images[:50]).to_bytes()


def test_a_bound_that_cannot_be_kept_is_an_error_with_the_best(digits, images):
    values = iter([1.0, *np.linspace(0.1, 0.2, 100)])
    with pytest.raises(anybit.NotFound, match="no mixture keeps the metric at 1: the best is 0.1[0-9]*, with [0-9]+ layers as"):
        anybit.quantize_with_accuracy_control(digits, "int8", images[:20], metric=lambda model: next(values), max_drop=0)


@pytest.mark.parametrize("given, message", [({"max_drop": -1.0}, "max_drop=-1"), ({"calibration": iter([])}, "read several times"),
                                            ({"calibration": None}, "read several times")])
def test_wrong_arguments_are_errors(digits, images, given, message):
    with pytest.raises(anybit.InvalidArgument, match=message):
        anybit.quantize_with_accuracy_control(digits, "int8", **{"calibration": images[:4], "metric": lambda model: 1, **given})


def test_code_for_nncf_runs(digits, images, labels):
    dataset = nncf.Dataset(images[:60], lambda image: {"image": image})
    assert nncf.quantize(digits, dataset, subset_size=20).to_bytes() == anybit.quantize(digits, "int8", list(images[:20])).to_bytes()
    small = nncf.compress_weights(digits, mode=nncf.CompressWeightsMode.INT4_SYM, group_size=16, dataset=dataset, gptq=True, subset_size=20)
    assert {one.spec for one in small.report.weights} == {"int4 sym block 16"}
    assert "gptq" not in " ".join(small.report.remarks)
    right = accuracy_of(images, labels)
    made = nncf.quantize_with_accuracy_control(digits, dataset, nncf.Dataset(list(zip(images, labels))),
                                               lambda model, data: right(model), subset_size=20, max_drop=0.01)
    assert right(made) >= right(anybit.load(digits)) - 0.01


def test_options_of_nncf_that_do_not_exist_here_are_errors(digits, images):
    dataset = nncf.Dataset(images[:4])
    with pytest.raises(anybit.InvalidArgument, match="mode"):
        nncf.compress_weights(digits, mode="int5")
    with pytest.raises(anybit.InvalidArgument, match="gptq needs a dataset"):
        nncf.compress_weights(digits, mode=nncf.CompressWeightsMode.INT4_SYM, gptq=True)
    with pytest.raises(anybit.InvalidArgument, match="subset_size"):
        nncf.quantize(digits, dataset, subset_size=0)
