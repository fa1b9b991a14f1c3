"""Which layers cost the most."""

from __future__ import annotations

import json
from typing import Annotated, Any, Iterable, Optional, Union

from . import _anybit
from ._checks import Count, Memory, Threads, Within, checked
from ._copies import NeverChanges
from ._html import page, table
from ._model import Source, load
from ._quantizer import Recipe, _recipe
from ._samples import Limit, Samples, open_source
from ._text import columns, decibels, names
from .progress import Progress, shown

_Measured = Annotated[int, Within(1)]


class Sensitivity(NeverChanges):
    """How much each layer of a model costs at the outputs, measured.

    ``layers`` have ``node`` (what ``exclude`` takes), ``op``, ``harm``, ``alone`` and ``left``: the effect if only this layer is
    quantized, and if everything else is. ``exclude`` are the fewest of the most harmful layers that have to stay in float for a
    verdict of "ok"; ``excluded`` is the effect then. See docs/sensitivity.md.

    >>> found = anybit.sensitivity(digits, "w4", images[:20])
    >>> len(found.layers), found.layers[0].harm >= found.layers[1].harm
    (7, True)
    >>> found.all.level, found.exclude
    ('ok', [])
    >>> [row["node"] for row in found.rows()][0] == found.layers[0].node
    True
    """

    def __init__(self, facts: Any):
        self._facts = facts
        self.recipe: str = facts.recipe
        self.all: _anybit.Effect = facts.all
        self.plain: _anybit.Effect = facts.plain
        self.refinements_harm: bool = facts.refinements_harm
        self.layers: list[_anybit.LayerSensitivity] = facts.layers
        self.exclude: list[str] = facts.exclude
        self.excluded: _anybit.Effect = facts.excluded
        self.samples: int = facts.samples
        self.runs: int = facts.runs
        self.seconds: float = facts.seconds
        self.remarks: list[str] = facts.remarks

    def rows(self) -> list[dict[str, Any]]:
        """One dict per layer, as a data frame takes them: ``pandas.DataFrame(found.rows())``."""
        return [{"node": one.node, "op": one.op, "measured": one.measured, "harm": one.harm, "alone": one.alone.harm,
                 "alone_sqnr": one.alone.sqnr, "left": one.left.harm, "estimate": one.estimate} for one in self.layers]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as in the JSON of the command line."""
        return json.loads(self._facts.json())

    def _table(self, count: int) -> tuple[tuple, list[tuple]]:
        head = ("node", "operator", "harm", "alone", "dB", "left in float")
        return head, [(one.node, one.op, f"{one.harm:.3g}", f"{one.alone.harm:.3g}", decibels(one.alone.sqnr), f"{one.left.harm:.3g}")
                      for one in self.layers[:count] if one.measured]

    def _summary(self) -> str:
        text = f"{self.recipe}: {self.all!r}"
        if self.excluded.level != "unknown":
            what = ", ".join(self.exclude) if self.exclude else "nothing"
            text += f"; with {what} in float{' and no refinements' if self.refinements_harm else ''}: {self.excluded!r}"
        return text

    def __repr__(self) -> str:
        head, rows = self._table(10)
        return f"Sensitivity of {self._summary()}\n" + columns([head, *rows])

    def _repr_html_(self) -> str:
        return page("Sensitivity", self._summary(), table(*self._table(20)), "")


@checked
def sensitivity(model: Source, recipe: Optional[Recipe] = None, calibration: Samples = None, *, target: str = "generic",
                exclude: Union[str, Iterable[str]] = (), layers: Count = 0, measure: _Measured = 4, samples: Limit = None,
                mean: Iterable[float] = (), std: Iterable[float] = (), size: Iterable[int] = (), layout: str = "",
                allow_nan: bool = False, threads: Threads = 0, max_memory: Memory = 0, max_kept: Memory = 0,
                progress: Progress = None) -> Sensitivity:
    """Measures how much each layer costs at the outputs when it is quantized.

    Parameters
    ----------
    model : path, bytes, ``onnx.ModelProto`` or ``anybit.Model``.
    recipe : as for ``anybit.quantize``.
    calibration : calibration data (see docs/python.md).
    target : hardware or runtime, one of ``anybit.targets()``, or a file.
    exclude : operators or nodes to leave in float.
    layers : measure only this many layers, those with the largest first-order estimates; 0 for all.
    measure : number of samples of the measurement; calibration uses all.
    samples : largest number of samples; None for all.
    mean, std, size, layout : preprocessing of images.
    allow_nan : whether to count and ignore NaN and infinity in activations.
    threads : number of threads; 0 for one per core.
    max_memory : memory limit in bytes; 0 for none.
    max_kept : bytes of values that are kept between runs; 0 for 512 MiB.
    progress : see ``anybit.progress``; it counts layers.

    Returns
    -------
    The layers, most harmful first, and those that have to stay in float.

    >>> anybit.sensitivity(digits, "int8", images[:20], layers=2).layers[0].measured
    True
    """
    native = load(model)._native
    made = _recipe(recipe, target)
    for word in names(exclude):
        made = made.with_rule("type" if _anybit.is_operator(word) else "name", word, "float")
    source, _ = open_source(calibration, native, samples, mean, std, size, layout)
    with shown(progress, "measuring", None, "layers") as bar:
        return Sensitivity(_anybit.sensitivity(native, made, source, bar, target, layers, measure, threads, max_memory, max_kept, allow_nan))
