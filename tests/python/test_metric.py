"""A measure of the caller's own, and labels, in place of the verdict's guesses: docs/verdict.md."""

import threading

import anybit
import numpy as np
import pytest


@pytest.fixture
def right(images, labels):
    """The accuracy on the images; `calls` has the threads that asked for it."""
    def accuracy(model):
        accuracy.calls.append(threading.get_ident())
        return (anybit.Session(model).run(images)["logits"].argmax(1) == labels).mean()
    accuracy.calls = []
    return accuracy


def accuracy_of(model, images, labels):
    """By ONNX Runtime."""
    import onnxruntime
    session = onnxruntime.InferenceSession(model.to_bytes())
    return (session.run(None, {"image": images})[0].argmax(1) == labels).mean()


def test_the_report_of_a_quantized_model_has_the_verdict_by_the_metric(digits, images, labels, right):
    good, bad = (anybit.quantize(digits, recipe, images[:20], metric=right) for recipe in ("int8", "ternary"))
    assert (good.report.verdict.level, good.report.verdict.recipe) == ("ok", "")
    assert (bad.report.verdict.level, bad.report.verdict.recipe) == ("broken", "int8")
    float_value, value = accuracy_of(anybit.load(digits), images, labels), accuracy_of(bad, images, labels)
    assert bad.report.verdict.reason == f"accuracy {float_value:.4g} -> {value:.4g}"
    assert "broken: accuracy" in repr(bad.report) and "broken: accuracy" in bad.report._repr_html_()


def test_the_report_has_a_verdict_by_labels(digits, images, labels):
    verdict = anybit.quantize(digits, "ternary", images, labels=labels).report.verdict
    assert verdict.level == "broken" and verdict.reason.startswith("top-1 accuracy")
    assert verdict.reason == anybit.compare(digits, anybit.quantize(digits, "ternary", images), images, labels=labels).verdict.reason
    assert anybit.quantize(digits, "w8").report.verdict is None


@pytest.mark.parametrize("samples", [None, iter([]), "labels"])
def test_labels_need_samples_that_can_be_read_twice(digits, images, samples):
    given, labels = (images[:2], []) if samples == "labels" else (samples, [1])
    with pytest.raises(anybit.errors.InvalidArgument, match="labels="):
        anybit.quantize(digits, "w8", given, labels=labels)


def test_a_sweep_has_a_column_of_the_metric(digits, images, labels, right):
    recipes = ["w2", "int8", "ternary"]
    result = anybit.sweep(digits, recipes, images[:20], metric=right, speed=False)
    assert [row.recipe for row in result.rows] == recipes and set(right.calls) == {threading.get_ident()}
    assert result.metric == accuracy_of(anybit.load(digits), images, labels)
    for row in result.rows:
        assert row.metric == accuracy_of(anybit.quantize(digits, row.recipe, images[:20]), images, labels), row.recipe
        assert row.verdict.reason == f"accuracy {result.metric:.4g} -> {row.metric:.4g}"
    assert [row["metric"] for row in result.to_dicts()] == [row.metric for row in result.rows]
    assert "metric" in repr(result) and f"{result.rows[1].metric:.4g}" in result._repr_html_()
    assert "metric" not in repr(anybit.sweep(digits, ["w8"], images[:5], speed=False))


def test_a_verdict_by_the_metric_does_not_keep_the_recipe_of_the_guess(digits, images):
    ternary = anybit.quantize(digits, "ternary", images[:20])
    fine = anybit.compare(digits, ternary, images[:20], metric=lambda model: 1.0).verdict
    assert (fine.level, fine.recipe) == ("ok", "")
    values = iter([1.0, 0.5])
    worse = anybit.compare(digits, anybit.quantize(digits, "int8", images[:20]), images[:20], metric=lambda model: next(values)).verdict
    assert (worse.level, worse.recipe) == ("broken", "int16x8")


@pytest.mark.parametrize("call", ["quantize", "sweep", "compare"])
def test_a_metric_that_fails_says_so(call, digits, images):
    def lost(model):
        raise LookupError("no data")
    calls = {"quantize": lambda metric: anybit.quantize(digits, "w8", metric=metric),
             "sweep": lambda metric: anybit.sweep(digits, ["w8"], images[:2], metric=metric, speed=False),
             "compare": lambda metric: anybit.compare(digits, digits, np.array(images[:2]), metric=metric)}
    with pytest.raises(LookupError, match="no data"):
        calls[call](lost)
    with pytest.raises(anybit.errors.InvalidArgument, match="the metric returns str"):
        calls[call](lambda model: "good")
