"""The report of a quantization."""

from __future__ import annotations

import html
from collections import Counter
from typing import Annotated, Any, Optional

from . import _anybit
from ._checks import checked
from ._compare import Comparison
from ._copies import NeverChanges
from ._format_colors import format_color
from ._html import Colored, Page, page, table
from ._text import shown, size


class Report(NeverChanges):
    """The outcome of each node, tensor and weight, with reasons.

    >>> report = anybit.quantize(digits, "w8").report
    >>> report
    Report of w8: weights 152.7 KiB -> 39.2 KiB, 7 weights only, 11 float
    >>> report.nodes[0].outcome
    'weights only'

    It has the members of the command line's JSON: ``recipe``, ``samples``, ``remarks``, ``weight_bytes_before`` and ``_after``,
    ``opset_before`` and ``_after``, ``prepare_seconds``, ``calibrate_seconds``, ``train_seconds``, ``quantize_seconds``, and lists of

    - ``nodes``: ``graph``, ``name``, ``op``, ``outcome``, ``what`` format it uses, and the ``reason`` for the outcome;
    - ``tensors``: ``name``, ``spec``, ``low``, ``high``, ``seen_low``, ``seen_high``, ``scale``, ``zero_point``, ``fixed``,
      ``saturated``, ``samples``;
    - ``weights``: ``name``, ``spec``, ``bytes_before``, ``bytes_after``, ``sqnr`` in dB, ``scales_raised``,
      ``rounded_for_sums``.

    ``bias_corrected_layers`` is the number of layers with bias correction, and ``refinements`` has that of every refinement.
    Earlier names are aliases: ``signal_to_noise`` of ``sqnr``, ``raised`` of ``scales_raised``, ``moved`` of
    ``rounded_for_sums``, ``means_kept`` of ``bias_corrected_layers``.
    """

    @checked
    def __init__(self, facts: Annotated[_anybit.QuantizationReport, "models that anybit.quantize made have a report"], before: _anybit.Model, after: _anybit.Model,
                 verdict: Optional[_anybit.Verdict] = None):
        self._facts = facts
        self._models = before, after
        #: By ``labels=`` or ``metric=`` of ``anybit.quantize``; else None: ``anybit.compare`` makes one on other samples.
        self.verdict = verdict

    @checked
    def page(self, comparison: Optional[Comparison] = None) -> Page:
        """The HTML report, with the result of ``anybit.compare`` if given.

        >>> anybit.quantize(digits, "w8").report.page().save(folder / "report.html")
        >>> "<html" in (folder / "report.html").read_text()
        True
        """
        facts = None if comparison is None else comparison._facts
        return Page(_anybit.report_page("quantize", *self._models, self._facts, facts, None))

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_facts"), name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self._facts) if not name.startswith("_"))})

    def _sizes(self) -> str:
        return f"weights {size(self._facts.weight_bytes_before)} -> {size(self._facts.weight_bytes_after)}"

    def __repr__(self) -> str:
        outcomes = Counter(node.outcome for node in self._facts.nodes)
        parts = "".join(f", {count} {outcome}" for outcome, count in outcomes.most_common()[::-1])
        return f"Report of {self._facts.recipe}: {self._sizes()}{parts}" + (f"; {self.verdict!r}" if self.verdict else "")

    def _repr_html_(self) -> str:
        facts = self._facts
        counts = Counter((node.outcome, node.reason) for node in facts.nodes)
        summary = table(("nodes", "outcome", "why"), [(count, *key) for key, count in counts.most_common()])
        rows = table(("node", "operator", "outcome", "to", "why"),
                     [(one.name, one.op, one.outcome, Colored(one.what, format_color(one.what, one.outcome == "weights only")), one.reason)
                      for one in facts.nodes])
        every = f"<details><summary>all {len(facts.nodes)} nodes</summary>{rows}</details>"
        remarks = "".join(f"<li>{html.escape(shown(one))}</li>" for one in facts.remarks)
        judged = f". {self.verdict!r}" if self.verdict else ""
        return page(facts.recipe, f"{self._sizes()}, {facts.samples} samples{judged}", summary, every, f"<ul>{remarks}</ul>")
