"""Calibration: statistics and ranges of the tensors of a model."""

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
    """The statistics of every float tensor by name, from ``anybit.calibrate``.

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
        """Reads a file that ``save`` wrote. A damaged file is rejected."""
        return cls(_anybit.load_ranges(os.fspath(path)))

    @checked
    def save(self, path: Path) -> None:
        """Writes a file atomically.

        >>> anybit.calibrate(digits, images[:20]).save(folder / "ranges.json")
        >>> anybit.Ranges.load(folder / "ranges.json")
        Ranges of 25 values from 20 samples
        """
        self._native.save(os.fspath(path))

    @property
    def samples(self) -> int:
        """The number of calibration samples."""
        return self._native.samples

    @property
    def model_hash(self) -> str:
        """The content hash of the model."""
        return self._native.model_hash

    @checked
    def merged(self, other: Ranges) -> Ranges:
        """Merges two calibrations of the same model: the result is that of one run on all samples.

        >>> anybit.calibrate(digits, images[:20]).merged(anybit.calibrate(digits, images[20:50])).samples
        50
        """
        return Ranges(self._native.merged(other._native))

    @checked
    def range(self, tensor: str, observer: str = "minmax", levels: Annotated[int, Within(2, 2**31 - 1)] = 256, symmetric: bool = False,
              percentile: float = 99.999) -> tuple[float, float]:
        """The range that an observer chooses.

        Parameters
        ----------
        tensor : name of the tensor.
        observer : one of ``anybit.observers()``.
        levels : number of values on the integer grid.
        symmetric : whether the range is symmetric.
        percentile : percentage of values inside the range, for the observer "percentile".

        Returns
        -------
        The lower and upper end of the range.

        >>> ranges = anybit.calibrate(digits, images[:20])
        >>> all_of_it, most = ranges.range("image"), ranges.range("logits", "percentile", percentile=99)
        >>> all_of_it == (ranges["image"].min, ranges["image"].max), most[1] < ranges["logits"].max
        (True, True)
        """
        return self._native.range(tensor, observer, levels, symmetric, percentile)

    @checked
    def collected(self, tensor: str, collector: str, view: str = "") -> np.ndarray:
        """The statistic of a collector for a layer's input, as float64: ``second-moment`` (XᵀX), ``channel-maxima``.

        ``view`` distinguishes layers that read the tensor in different ways; ``all_collected`` lists the views.

        >>> ranges = anybit.calibrate(digits, images[:20], collect=["second-moment", "channel-maxima"])
        >>> ranges.collected("head/flatten.out", "second-moment").shape
        (64, 64)
        >>> float(ranges.collected("head/flatten.out", "channel-maxima").max()) == ranges["head/flatten.out"].max
        True
        """
        return self._native.collected(tensor, collector, view)

    @property
    def all_collected(self) -> list[tuple[str, str, str]]:
        """The available statistics of additional collectors: tensor, collector, view."""
        return self._native.all_collected()

    @checked
    def page(self, model: Source) -> Page:
        """The HTML report of the model, with the histograms of its tensors."""
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

    def __reduce__(self) -> tuple:  # parts may be calibrated in several processes
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
              std: Iterable[float] = (), size: Iterable[int] = (), layout: str = "", resize: str = "", channels: str = "",
              scale: float = 0, bins: bool = True,
              momentum: float = 0.01, allow_nan: bool = False, reproducible: bool = False, threads: Threads = 0,
              max_memory: Memory = 0, progress: Progress = None, collect: Union[str, Iterable[str]] = ()) -> Ranges:
    """Runs a model on calibration data and collects statistics of every float tensor.

    Parameters
    ----------
    model : path, bytes, ``onnx.ModelProto`` or ``anybit.Model``.
    calibration : calibration data, as for ``anybit.quantize``.
    samples : largest number of samples; None for all.
    mean, std, size, layout, resize, channels, scale : preprocessing of images, as on the command line: ``size=(224, 224),
        resize="crop:256", channels="BGR", scale=255``. The last one takes arrays of uint8 for pixels, too.
    bins : whether to collect histograms, which the clipping observers need.
    momentum : momentum of moving averages.
    allow_nan : whether to count and ignore NaN and infinity instead of raising an error.
    reproducible : whether ranges are identical on every x86-64 CPU, with slower float kernels.
    threads : number of threads; 0 for one per core.
    max_memory : memory limit in bytes; 0 for none.
    progress : see ``anybit.progress``.
    collect : additional ``anybit.collectors()``; ``Ranges.collected`` returns their results.

    Returns
    -------
    The statistics, from which an observer chooses ranges.

    Raises
    ------
    InvalidData : a tensor holds NaN or infinity, and ``allow_nan`` is False.

    >>> anybit.calibrate(digits, ({"image": image[None]} for image in images), samples=10)["image"].count
    7840
    """
    native = load(model)._native
    source, total = open_source(calibration, native, samples, mean, std, size, layout, resize, channels, scale)
    with shown(progress, "calibrating", total) as bar:
        return Ranges(_anybit.calibrate(native, source, bar, threads, max_memory, bins, momentum, allow_nan,
                                         reproducible, [collect] if isinstance(collect, str) else list(collect)))


def collectors() -> dict[str, str]:
    """The collectors of statistics by name, with a one-line summary of each.

    >>> sorted(anybit.collectors())
    ['bins', 'channel-maxima', 'dynamic-error', 'extent', 'moving-average', 'second-moment']
    """
    return _anybit.collectors()


def observers() -> dict[str, str]:
    """The observers, which choose ranges, by name, with a one-line summary of each.

    >>> sorted(anybit.observers())
    ['entropy', 'minmax', 'moving_average', 'mse', 'percentile']
    """
    return _anybit.observers()
