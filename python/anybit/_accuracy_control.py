"""Quantization until a metric of the caller's own holds."""

from __future__ import annotations

import itertools
from typing import Any, Optional

from . import _anybit
from ._checks import checked
from ._metric import Metric, value_of
from ._model import Model, Source, load
from ._quantizer import Recipe, _recipe, quantize
from ._samples import Samples
from ._sensitivity import sensitivity
from .errors import InvalidArgument, NotFound

#: What the layers that cost the most get, the cheapest first.
PROMOTIONS = ("{weights: int8 sym channel, activations: int16 sym}", "float")


@checked
def quantize_with_accuracy_control(model: Source, recipe: Optional[Recipe] = None, calibration: Samples = None, *, metric: Metric,
                                   max_drop: float = 0.01, target: str = "generic", **options: Any) -> Model:
    """Quantizes a model, and promotes the layers that cost the most until the metric drops by at most ``max_drop``.

    Layers are promoted in the order of ``anybit.sensitivity``: first to activations of 16 bits, then, if that is not enough
    for all of them, to float; as few as are enough.

    Parameters
    ----------
    model, recipe, calibration, target, options : as for ``anybit.quantize``. The calibration data are read several times: no iterator.
    metric : a function from a model to a number, where more is better.
    max_drop : by how much the metric of the quantized model may be less than that of the float model.

    Returns
    -------
    The quantized model; ``report.nodes`` show which layers were promoted. A bound that no mixture keeps is an error that says the best one.

    >>> def right(model):
    ...     return (anybit.Session(model).run(images)["logits"].argmax(1) == labels).mean()
    >>> made = anybit.quantize_with_accuracy_control(digits, "w2", images[:50], metric=right, max_drop=0.02)
    >>> bool(right(digits) - right(made) <= 0.02)
    True
    """
    if not max_drop >= 0:
        raise InvalidArgument(f"max_drop={max_drop}", "", "0 or more")
    if calibration is None or hasattr(calibration, "__next__"):
        raise InvalidArgument("the calibration data are read several times", "", "a list, an array, or the path of a folder")
    floating = load(model)
    wanted = value_of(metric, floating) - max_drop
    best: tuple[float, str] = (float("-inf"), "")

    def tried(nodes: list[str], scheme: str) -> Optional[Model]:
        """The model with these layers promoted, if it keeps the bound."""
        nonlocal best
        made = _recipe(recipe, target)
        for node in nodes:
            made = made.with_rule("name", node, scheme)
        try:
            result = quantize(floating, made, calibration, target=target, **options)
        except InvalidArgument as error:
            if nodes and "nothing to quantize" in str(error):  # what remains only passes values through
                return None
            raise
        value = value_of(metric, result)
        what = f"{len(nodes)} layers as {scheme}" if nodes else "nothing promoted"
        best = max(best, (value, what))
        if value < wanted:
            return None
        return result

    if (result := tried([], "")) is not None:
        return result
    layers = [one.node for one in sensitivity(floating, recipe, calibration, target=target).layers if one.measured]
    for scheme in PROMOTIONS:
        most = len(layers) - (scheme == "float")  # all in float: nothing would be quantized
        bad = 0
        for count in itertools.accumulate(itertools.repeat(2), lambda now, by: now * by, initial=1):
            count = min(count, most)
            if count <= bad:
                break
            if (result := tried(layers[:count], scheme)) is None:
                bad = count
                continue
            while bad + 1 < count:  # fewer
                middle = (bad + count) // 2
                fewer = tried(layers[:middle], scheme)
                result, count, bad = (result, count, middle) if fewer is None else (fewer, middle, bad)
            return result
    raise NotFound(f"no mixture keeps the metric at {wanted:g}: the best is {best[0]:g}, with {best[1]}", "", "a larger max_drop, or a recipe with more bits")
