"""Ranges of a model's values."""

from __future__ import annotations

import os
from typing import Iterable, Mapping, Optional, Union

from . import _anybit
from ._html import Page
from ._model import Source, load
from ._samples import Samples, check_memory, open_source
from .progress import Progress, shown


class Ranges(Mapping[str, _anybit.TensorRange]):
    """What was seen of every real value, by name.

    >>> ranges = anybit.calibrate(digits, images[:20])
    >>> ranges
    Ranges of 25 values from 20 samples
    >>> ranges["image"].max
    2.821486711502075
    >>> low, high = ranges.range("logits", observer="percentile", percentile=99.9)
    """

    def __init__(self, native: _anybit.Ranges):
        self._native = native
        self._by_name = {one.name: one for one in native.tensors}

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Ranges:
        """From a file. One that is damaged is refused."""
        return cls(_anybit.load_ranges(os.fspath(path)))

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """To a file, which appears whole or not at all."""
        self._native.save(os.fspath(path))

    @property
    def samples(self) -> int:
        """How many samples there were."""
        return self._native.samples

    @property
    def model_hash(self) -> str:
        """The content hash of the model that they belong to."""
        return self._native.model_hash

    def merged(self, other: Ranges) -> Ranges:
        """As if the other's samples had followed these."""
        return Ranges(self._native.merged(other._native))

    def range(self, tensor: str, observer: str = "minmax", levels: int = 256, symmetric: bool = False,
              percentile: float = 99.999) -> tuple[float, float]:
        """The range that an observer chooses for a grid of so many levels."""
        return self._native.range(tensor, observer, levels, symmetric, percentile)

    def page(self, model: Source) -> Page:
        """The report to look at: the model that they belong to, with the histograms of its values."""
        native = load(model)._native
        self._native.check_belongs(native)
        return Page(_anybit.report_page("calibrate", native, None, None, None, self._native))

    def __getitem__(self, name: str) -> _anybit.TensorRange:
        return self._by_name[name]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"Ranges of {len(self)} values from {self.samples} samples"


def calibrate(model: Source, calibration: Samples, *, samples: Optional[int] = None, mean: Iterable[float] = (),
              std: Iterable[float] = (), size: Iterable[int] = (), layout: str = "", bins: bool = True,
              momentum: float = 0.01, allow_nan: bool = False, threads: int = 0, max_memory: int = 0,
              progress: Progress = None) -> Ranges:
    """Runs a model on samples and finds what range each of its values has.

    ``calibration`` is a source of samples as for ``anybit.quantize``. Without ``bins`` the observers that clip cannot be used.
    """
    check_memory(max_memory)
    native = load(model)._native
    source, total = open_source(calibration, native, samples, tuple(mean), tuple(std), tuple(size), layout)
    with shown(progress, "calibrating", total) as bar:
        return Ranges(_anybit.calibrate(native, source, bar, threads, max_memory, bins, momentum, allow_nan))


def observers() -> dict[str, str]:
    """Ways to choose a range, with a line about each.

    >>> sorted(anybit.observers())
    ['entropy', 'minmax', 'moving_average', 'mse', 'percentile']
    """
    return _anybit.observers()
