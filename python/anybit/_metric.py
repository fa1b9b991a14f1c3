"""The caller's own measure of a model, in place of the verdict's guesses."""

from __future__ import annotations

from typing import Any, Callable

from . import _anybit
from ._model import Model
from .errors import InvalidArgument

#: From a model to a number, where more is better.
Metric = Callable[[Model], Any]


def judged(verdict: _anybit.Verdict, metric: Metric, reference: Model, other: Model) -> _anybit.Verdict:
    """The verdict by the metric: ok if at most 1 % of the reference's value is lost, degraded if at most 5 %."""
    name = getattr(metric, "__name__", "metric")
    values = []
    for model in (reference, other):
        value = metric(model)
        try:
            values.append(float(value))
        except (TypeError, ValueError):
            raise InvalidArgument(f"the metric returns {type(value).__name__}", name, "a number, where more is better") from None
    return _anybit.judged_by(verdict, name, *values)
