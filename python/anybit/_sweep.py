"""One model by many recipes."""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Mapping, Optional, Union

from . import _anybit
from ._checks import Memory, Threads, checked
from ._copies import NeverChanges
from ._html import page, table
from ._metric import Metric, name_of, value_of
from ._model import Model, Source, load
from ._quantizer import _recipe, presets
from ._samples import Limit, Samples, open_source
from ._text import columns, decibels, names
from .errors import InvalidArgument

#: Those that most people choose from.
USUAL = ("int8", "int16x8", "w8", "dynamic-int8", "w4", "mxfp8", "mxfp6", "mxfp4")


class Sweep(NeverChanges):
    """What many recipes make of one model: ``rows`` have ``recipe``, ``bytes``, ``verdict``, ``sqnr``, ``top1``, ``speed``,
    ``metric`` and ``failed``.

    >>> result = anybit.sweep(digits, ["int8", "w4", "ternary"], images[:20], labels=labels[:20], speed=False)
    >>> [(row.recipe, row.verdict.level) for row in result.rows]
    [('int8', 'ok'), ('w4', 'ok'), ('ternary', 'broken')]
    >>> result.best().recipe
    'w4'
    """

    def __init__(self, facts: Any):
        self._facts = facts
        self.bytes: int = facts.bytes
        self.milliseconds: float = facts.milliseconds
        self.metric: Optional[float] = facts.metric  # of the float model
        self.rows: list[_anybit.SweepRow] = facts.rows

    def best(self) -> Optional[_anybit.SweepRow]:
        """The smallest model with a verdict of "ok"; None if there is none."""
        return min((row for row in self.rows if not row.failed and row.verdict.level == "ok"), key=lambda row: row.bytes, default=None)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict per recipe, as a data frame takes them: ``pandas.DataFrame(result.to_dicts())``."""
        return json.loads(self._facts.json())

    def _table(self) -> tuple[tuple, list[tuple]]:
        head = ("recipe", "bytes", "verdict", "dB", "top-1", "metric", "speed", "reason")
        rows = [(row.recipe, "", "-", "", "", "", "", row.failed) if row.failed else
                (row.recipe, str(row.bytes), row.verdict.level, decibels(row.sqnr), "" if row.top1 is None else f"{100 * row.top1:.2f} %",
                 "" if row.metric is None else f"{row.metric:.4g}", f"{row.speed:.2f} x" if row.speed else "", row.verdict.reason)
                for row in self.rows]
        shown = [i for i, name in enumerate(head) if name != "metric" or self.metric is not None]
        return tuple(head[i] for i in shown), [tuple(row[i] for i in shown) for row in rows]

    def __repr__(self) -> str:
        head, rows = self._table()
        return f"Sweep: {len(rows)} recipes\n" + columns([head, *rows])

    def _repr_html_(self) -> str:
        return page("Sweep", f"{len(self.rows)} recipes", table(*self._table()), "")


@checked
def sweep(model: Source, recipes: Any = USUAL, calibration: Samples = None, *,
          labels: Optional[Iterable[int]] = None, target: str = "generic", emit: str = "portable",
          exclude: Union[str, Iterable[str]] = (), samples: Limit = None, mean: Iterable[float] = (), std: Iterable[float] = (),
          size: Iterable[int] = (), layout: str = "", metric: Optional[Metric] = None, speed: bool = True, allow_nan: bool = False, threads: Threads = 0,
          max_memory: Memory = 0) -> Sweep:
    """Quantizes a model by many recipes, and compares size, accuracy and speed with the float model.

    Parameters
    ----------
    model : path, bytes, ``onnx.ModelProto`` or ``anybit.Model``.
    recipes : presets or paths of recipes; "all" for every preset; or a dict of recipes by name.
    calibration : samples for calibration and comparison: an array, a dict of arrays, or paths.
    labels : correct classes, in the order of the samples.
    target : hardware or runtime, one of ``anybit.targets()``, or a file.
    emit : as for ``anybit.quantize``.
    exclude : operators or nodes to leave in float.
    samples : largest number of samples; None for all.
    mean, std, size, layout : preprocessing of images.
    metric : a function from a model to a number, where more is better: it takes the place of the verdict's own measures.
    speed : whether to measure the speed, in turns with the float model.
    allow_nan : whether to count and ignore NaN and infinity in activations.
    threads : number of threads; 0 for one per core.
    max_memory : memory limit in bytes; 0 for none.

    Returns
    -------
    A row per recipe; a recipe that the model cannot take has the reason in ``failed``.

    >>> anybit.sweep(digits, {"mine": {"global": "w8"}}, images[:5], speed=False).rows[0].recipe
    'mine'
    >>> def right(model):
    ...     return (anybit.Session(model).run(images)["logits"].argmax(1) == labels).mean()
    >>> result = anybit.sweep(digits, ["int8", "ternary"], images[:20], metric=right, speed=False)
    >>> result.rows[0].metric > 0.98 * result.metric, [row.verdict.level for row in result.rows]
    (True, ['ok', 'broken'])
    """
    if calibration is None:
        raise InvalidArgument("there are no samples", "", "an array, a dict of arrays, or paths")
    native = load(model)._native
    if not isinstance(recipes, Iterable):
        raise InvalidArgument(f"{type(recipes).__name__} is given", "recipes", "names of presets, or a dict of recipes by name")
    if isinstance(recipes, str):
        recipes = [one.name for one in presets()] if recipes == "all" else [recipes]
    named = dict(recipes) if isinstance(recipes, Mapping) else {os.fspath(one): one for one in recipes}
    made = []
    for name, recipe in named.items():
        rules = _recipe(recipe, target)
        for word in names(exclude):
            rules = rules.with_rule("type" if _anybit.is_operator(word) else "name", word, "float")
        made.append((name, rules))
    source, _ = open_source(calibration, native, samples, mean, std, size, layout)
    measure = None if metric is None else lambda one: value_of(metric, Model(one))
    return Sweep(_anybit.sweep(native, made, source, target, emit, threads, max_memory, speed, allow_nan, list(labels or ()),
                               "" if metric is None else name_of(metric), measure))
