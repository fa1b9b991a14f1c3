"""Ranges of a model's values."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Annotated, Iterable, Iterator, Mapping, Union

from . import _anybit
from ._checks import Memory, Path, Threads, Within, checked
from ._copies import NeverChanges
from ._html import Page
from ._model import Source, load
from ._numpy import np
from ._samples import Limit, Samples, open_source
from .errors import NoSuchKey
from .progress import Progress, shown


class Ranges(NeverChanges, Mapping[str, _anybit.TensorRange]):
    """What was seen of every real value, by name.

    >>> ranges = anybit.calibrate(digits, images[:20])
    >>> ranges
    Ranges of 25 values from 20 samples
    >>> ranges["image"].max
    2.821486711502075
    >>> low, high = ranges.range("logits", observer="percentile", percentile=99.9)
    """

    @checked
    def __init__(self, native: Annotated[_anybit.Ranges, "anybit.calibrate and Ranges.load make ranges"]):
        self._native = native
        self._by_name = {one.name: one for one in native.tensors}

    @classmethod
    @checked
    def load(cls, path: Path) -> Ranges:
        """From a file. One that is damaged is refused."""
        return cls(_anybit.load_ranges(os.fspath(path)))

    @checked
    def save(self, path: Path) -> None:
        """To a file, which appears whole or not at all.

        >>> anybit.calibrate(digits, images[:20]).save(folder / "ranges.json")
        >>> anybit.Ranges.load(folder / "ranges.json")
        Ranges of 25 values from 20 samples
        """
        self._native.save(os.fspath(path))

    @property
    def samples(self) -> int:
        """How many samples there were."""
        return self._native.samples

    @property
    def model_hash(self) -> str:
        """The content hash of the model that they belong to."""
        return self._native.model_hash

    @checked
    def merged(self, other: Ranges) -> Ranges:
        """As if the other's samples had followed these.

        >>> anybit.calibrate(digits, images[:20]).merged(anybit.calibrate(digits, images[20:50])).samples
        50
        """
        return Ranges(self._native.merged(other._native))

    @checked
    def range(self, tensor: str, observer: str = "minmax", levels: Annotated[int, Within(2, 2**31 - 1)] = 256, symmetric: bool = False,
              percentile: float = 99.999) -> tuple[float, float]:
        """The range that an observer (``anybit.observers()``) chooses for a grid of so many levels.

        >>> ranges = anybit.calibrate(digits, images[:20])
        >>> all_of_it, most = ranges.range("image"), ranges.range("logits", "percentile", percentile=99)
        >>> all_of_it == (ranges["image"].min, ranges["image"].max), most[1] < ranges["logits"].max
        (True, True)
        """
        return self._native.range(tensor, observer, levels, symmetric, percentile)

    @checked
    def collected(self, tensor: str, collector: str, view: str = "") -> np.ndarray:
        """What a collector found of a value that layers take, as float64: ``second-moment`` (XᵀX), ``channel-maxima``.

        ``view`` tells layers apart that take the value in different ways; ``all_collected`` has them.

        >>> ranges = anybit.calibrate(digits, images[:20], collect=["second-moment", "channel-maxima"])
        >>> ranges.collected("head/flatten.out", "second-moment").shape
        (64, 64)
        >>> float(ranges.collected("head/flatten.out", "channel-maxima").max()) == ranges["head/flatten.out"].max
        True
        """
        return self._native.collected(tensor, collector, view)

    @property
    def all_collected(self) -> list[tuple[str, str, str]]:
        """What further collectors found: value, collector, view."""
        return self._native.all_collected()

    @checked
    def page(self, model: Source) -> Page:
        """The report to look at: the model that they belong to, with the histograms of its values."""
        native = load(model)._native
        self._native.check_belongs(native)
        return Page(_anybit.report_page("calibrate", native, None, None, None, self._native))

    def __getitem__(self, name: str) -> _anybit.TensorRange:
        if name in self._by_name:
            return self._by_name[name]
        raise NoSuchKey(f"there are no ranges of {name!r}", "", "list(ranges) has the names")

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __reduce__(self) -> tuple:  # so that parts may be calibrated by several processes
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ranges.json"
            self.save(path)
            return _read_back, (path.read_bytes(),)

    def __repr__(self) -> str:
        return f"Ranges of {len(self)} values from {self.samples} samples"


def _read_back(content: bytes) -> Ranges:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "ranges.json"
        path.write_bytes(content)
        return Ranges.load(path)


@checked
def calibrate(model: Source, calibration: Samples, *, samples: Limit = None, mean: Iterable[float] = (),
              std: Iterable[float] = (), size: Iterable[int] = (), layout: str = "", bins: bool = True,
              momentum: float = 0.01, allow_nan: bool = False, reproducible: bool = False, threads: Threads = 0,
              max_memory: Memory = 0, progress: Progress = None, collect: Union[str, Iterable[str]] = ()) -> Ranges:
    """Runs a model on samples and finds what range each of its values has.

    ``calibration`` is a source of samples as for ``anybit.quantize``. Without ``bins`` the observers that clip cannot be used.
    ``reproducible``: the same ranges on every x86-64 CPU, by slower float kernels. ``collect`` names further
    ``anybit.collectors()``, whose results ``Ranges.collected`` gives.

    >>> anybit.calibrate(digits, ({"image": image[None]} for image in images), samples=10)["image"].count
    7840
    """
    native = load(model)._native
    source, total = open_source(calibration, native, samples, mean, std, size, layout)
    with shown(progress, "calibrating", total) as bar:
        return Ranges(_anybit.calibrate(native, source, bar, threads, max_memory, bins, momentum, allow_nan,
                                         reproducible, [collect] if isinstance(collect, str) else list(collect)))


def collectors() -> dict[str, str]:
    """What can be gathered of values, with a line about each.

    >>> sorted(anybit.collectors())
    ['bins', 'channel-maxima', 'extent', 'moving-average', 'second-moment']
    """
    return _anybit.collectors()


def observers() -> dict[str, str]:
    """Ways to choose a range, with a line about each.

    >>> sorted(anybit.observers())
    ['entropy', 'minmax', 'moving_average', 'mse', 'percentile']
    """
    return _anybit.observers()
