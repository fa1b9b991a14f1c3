"""Compares two models on the same samples."""

from __future__ import annotations

from typing import Annotated, Any, Iterable, NamedTuple, Optional

from . import _anybit
from ._checks import Count, Memory, Threads, checked
from ._copies import NeverChanges
from ._html import Figure, Page, error_color, page, table, xml_text
from ._metric import Metric, judged
from ._model import Model, Source, load
from ._samples import Limit, Samples, open_source
from ._text import columns, decibels, percent, shown as shown_text
from .errors import InvalidArgument
from .progress import Progress, shown

_BAR, _GAP, _NAME, _WIDTH = 16, 4, 260, 640  # of the chart, in pixels


class Difference(NamedTuple):
    """The difference of one tensor from the reference. A list of them goes into ``pandas.DataFrame``, a row each.

    >>> layers = anybit.compare(digits, anybit.quantize(digits, "w8"), images[:5]).layers
    >>> layers[0]._fields
    ('name', 'op', 'node', 'quantized', 'count', 'sqnr', 'cosine', 'largest_error', 'largest_value')
    """

    name: str
    op: str
    node: str
    quantized: bool
    count: int
    sqnr: float
    cosine: float
    largest_error: float
    largest_value: float

    @property
    def signal_to_noise(self) -> float:
        """Alias of sqnr."""
        return self.sqnr

    def __repr__(self) -> str:
        return f"{shown_text(self.name)}: {decibels(self.sqnr)} dB"


def _differences(facts: Iterable[Any]) -> list[Difference]:
    return [Difference(*(getattr(one, field) for field in Difference._fields)) for one in facts]


def _noise(sqnr: float) -> float:
    """The power of the noise relative to the signal's; at most that of a signal that is lost."""
    return 0.0 if sqnr >= 200 else 1.0 if sqnr <= 0 else 10 ** (-sqnr / 10)


class Comparison(NeverChanges):
    """The error of a model against its reference: the verdict, SQNR of outputs and layers, agreement, and accuracy if there are labels.

    ``verdict`` has ``level`` ("ok", "degraded", "broken", "unknown"), ``reason``, ``recipe`` (the preset to try next) and ``parts``.
    ``outputs`` and ``layers`` have ``name``, ``op``, ``count``, ``sqnr`` in dB (alias ``signal_to_noise``), ``cosine``,
    ``largest_error`` and ``largest_value``.

    >>> int8 = anybit.quantize(digits, "int8", calibration=images[:50])
    >>> result = anybit.compare(digits, int8, images, labels=labels)
    >>> result.agreement > 0.98, result.top1 > 0.98
    (True, True)
    >>> result.worst(1)[0].sqnr > 20
    True
    >>> result.verdict.level
    'ok'
    >>> anybit.compare(digits, anybit.quantize(digits, "ternary"), images).verdict.recipe
    'int8'
    """

    @checked
    def __init__(self, facts: Annotated[_anybit.Comparison, "anybit.compare makes comparisons"], reference: _anybit.Model, other: _anybit.Model):
        self._facts = facts
        self._models = reference, other
        self.samples: int = facts.samples
        self.verdict: _anybit.Verdict = facts.verdict
        self.outputs: list[Difference] = _differences(facts.outputs)
        self.layers: list[Difference] = _differences(facts.layers)
        self.remarks: list[str] = facts.remarks  # what could not be compared, and why

    def _share(self, part: int, whole: int) -> Optional[float]:
        return part / whole if whole else None

    @property
    def agreement(self) -> Optional[float]:
        """How often both models have the same top-1 class; None if the outputs are not scores."""
        return self._share(self._facts.agreed, self._facts.rows)

    @property
    def reference_top1(self) -> Optional[float]:
        """Top-1 accuracy of the reference; None without labels."""
        return self._share(self._facts.reference_top1, self._facts.labelled)

    @property
    def top1(self) -> Optional[float]:
        """Top-1 accuracy of the other model; None without labels."""
        return self._share(self._facts.other_top1, self._facts.labelled)

    @property
    def reference_top5(self) -> Optional[float]:
        """Top-5 accuracy of the reference; None without labels."""
        return self._share(self._facts.reference_top5, self._facts.labelled)

    @property
    def top5(self) -> Optional[float]:
        """Top-5 accuracy of the other model; None without labels."""
        return self._share(self._facts.other_top5, self._facts.labelled)

    @checked
    def worst(self, count: Count = 10) -> list[Difference]:
        """The layers with the lowest SQNR, lowest first; without float and pass-through nodes, which forward the error of others.

        >>> worst = anybit.compare(digits, anybit.quantize(digits, "w4"), images[:20]).worst(3)
        >>> len(worst), worst[0].sqnr <= worst[1].sqnr
        (3, True)
        """
        blamed = [one for one in self.layers if one.quantized] or self.layers
        return sorted(blamed, key=lambda one: one.sqnr)[:count]

    @checked
    def plot(self, count: Count = 40) -> Figure:
        """A bar chart of the layers with the lowest SQNR: a notebook shows it, ``save`` writes it.

        The length of a bar is the noise in the layer's output, as a share of the signal.

        >>> anybit.compare(digits, digits, images[:5]).plot()._repr_svg_().startswith("<svg")
        True
        """
        layers = self.worst(count)
        noises = [_noise(one.sqnr) for one in layers]
        most = max([1e-9] + noises)
        height = (len(layers) + 2) * (_BAR + _GAP)
        rows = [f'<text x="4" y="{_BAR}" font-weight="bold">Noise, and SQNR in dB (higher is better)</text>']
        for i, (one, noise) in enumerate(zip(layers, noises), 1):
            y = i * (_BAR + _GAP) + _GAP
            colour = error_color(one.sqnr)
            label = one.node or one.name
            name = label if len(label) <= 36 else "…" + label[-35:]
            length = noise / most * (_WIDTH - _NAME - 60)
            rows.append(f'<g><title>{xml_text(one.name)} ({xml_text(one.op)})</title>'
                        f'<text x="{_NAME - 6}" y="{y + 12}" text-anchor="end">{xml_text(name)}</text>'
                        f'<rect x="{_NAME}" y="{y}" width="{length:.1f}" height="{_BAR}" fill="{colour}"/>'
                        f'<text x="{_NAME + length + 5:.1f}" y="{y + 12}">{decibels(one.sqnr)}</text></g>')
        return Figure(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" '
                       f'font-family="sans-serif" font-size="12" fill="currentColor">{"".join(rows)}</svg>')

    def page(self) -> Page:
        """The HTML report: graph, layers by SQNR, tensors."""
        return Page(_anybit.report_page("compare", *self._models, None, self._facts, None))

    def _summary(self) -> str:
        facts, text = self._facts, f"{self.samples} samples"
        if facts.rows:
            text += f", same top-1 class in {percent(facts.agreed, facts.rows)}"
        if facts.labelled:
            text += (f", top-1 {percent(facts.reference_top1, facts.labelled)} -> "
                     f"{percent(facts.other_top1, facts.labelled)}")
        return text

    def _rows(self, differences: Iterable[Any]) -> list[tuple]:
        return [(one.node or one.name, one.op, decibels(one.sqnr), f"{one.cosine:.5f}", f"{one.largest_error:.4g}")
                for one in differences]

    def __repr__(self) -> str:
        head = ("output or node", "operator", "SQNR dB", "cosine", "largest error")
        return f"Comparison: {self.verdict!r}\n{self._summary()}\n" + columns([head, *self._rows(self.outputs), *self._rows(self.worst(5))])

    def _repr_html_(self) -> str:
        head = ("output", "operator", "SQNR dB", "cosine", "largest error")
        return page("Comparison", f"{self.verdict!r}. {self._summary()}", table(head, self._rows(self.outputs)), self.plot(20).svg)


@checked
def compare(reference: Source, other: Source, data: Samples, *, labels: Optional[Iterable[int]] = None,
            samples: Limit = None, mean: Iterable[float] = (), std: Iterable[float] = (), size: Iterable[int] = (),
            layout: str = "", resize: str = "", channels: str = "", scale: float = 0, metric: Optional[Metric] = None, layers: bool = True,
            threads: Threads = 0, max_memory: Memory = 0,
            progress: Progress = None) -> Comparison:
    """Runs both models on the same samples and measures their differences.

    Parameters
    ----------
    reference, other : models, usually a float model and its quantized form.
    data : samples, as for ``anybit.quantize``.
    labels : correct classes, in the order of the samples.
    samples : largest number of samples; None for all.
    mean, std, size, layout, resize, channels, scale : preprocessing of images, as on the command line: ``size=(224, 224),
        resize="crop:256", channels="BGR", scale=255``. The last one takes arrays of uint8 for pixels, too.
    metric : a function from a model to a number, where more is better: it takes the place of the verdict's own measures.
    layers : whether to compare every layer, not only the outputs.
    threads : number of threads; 0 for one per core.
    max_memory : memory limit in bytes; 0 for none.
    progress : see ``anybit.progress``.

    Returns
    -------
    The differences of outputs and layers, and the accuracy if there are labels.

    >>> anybit.compare(digits, anybit.quantize(digits, "w8"), images[:20], labels=labels[:20], layers=False).agreement
    1.0
    >>> def right(model):
    ...     return (anybit.Session(model).run(images)["logits"].argmax(1) == labels).mean()
    >>> anybit.compare(digits, anybit.quantize(digits, "ternary"), images[:20], metric=right).verdict.level
    'broken'
    """
    if labels is not None and not labels:  # @checked has converted any iterable to a list
        raise InvalidArgument("labels=[]", "", "one label per sample, or None")
    ours, theirs = load(reference)._native, load(other)._native
    source, total = open_source(data, ours, samples, mean, std, size, layout, resize, channels, scale)
    with shown(progress, "comparing", total) as bar:
        found = _anybit.compare(ours, theirs, source, bar, threads, max_memory, layers, list(labels or ()))
    result = Comparison(found, ours, theirs)
    if metric is not None:
        result.verdict = judged(result.verdict, metric, Model(ours), Model(theirs))
    return result
