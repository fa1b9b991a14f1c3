"""The caller's own measure of a model, in place of the verdict's guesses."""

from __future__ import annotations

from typing import Any, Callable, Optional

from . import _anybit
from ._model import Model
from .errors import InvalidArgument

#: From a model to a number, where more is better.
Metric = Callable[[Model], Any]


def name_of(metric: Metric) -> str:
    return getattr(metric, "__name__", "metric")


def value_of(metric: Metric, model: Model) -> float:
    value = metric(model)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"the metric returns {type(value).__name__}", name_of(metric), "a number, where more is better") from None


def judged(verdict: Optional[_anybit.Verdict], metric: Metric, reference: Model, other: Model) -> _anybit.Verdict:
    """The verdict by the metric: ok if at most 1 % of the reference's value is lost, degraded if at most 5 %."""
    values = [value_of(metric, model) for model in (reference, other)]
    return _anybit.judged_by(verdict, name_of(metric), *values, other._native)
