"""Converts calibration data to the form that the native module takes.

Calibration data is one of

- a path, or several: files and folders as on the command line (``"images/"``, ``["ids=ids.npy", "mask=mask.npy"]``);
- an array, or a dict of arrays by input, with the samples along the first axis;
- an iterable of samples: arrays, dicts by input, or tuples in the order of the inputs;
- an object with ``get_next()``, like ONNX Runtime's calibration data readers, that returns dicts, and None at the end;
- a ``DataLoader`` of torch, whose labels are left out.

Arrays may be numpy's or anything with ``__dlpack__`` (torch tensors, without importing torch).
"""

from __future__ import annotations

import inspect
import os
import sys
from typing import Annotated, Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from . import _anybit
from ._arrays import as_numpy, to_native
from ._checks import Within
from .errors import InvalidArgument

Samples = Any  # see the docstring of the module
Limit = Annotated[Optional[Annotated[int, Within(1)]], "the largest number of samples, at least 1; None for all"]


def is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))


def is_array(given: Any) -> bool:
    return hasattr(given, "__array__") or hasattr(given, "__dlpack__") or hasattr(given, "__array_interface__")


def _paths(given: Any) -> list[str]:
    return [os.fspath(one) for one in ([given] if is_path(given) else given)]


class _Stream:
    """Callable that returns the samples of an iterable one by one, as dicts by input; None at the end."""

    def __init__(self, items: Iterator[Any], ports: Sequence[Any], limit: Optional[int]):
        self.items, self.limit, self.given = items, limit, 0
        self.required = [port.name for port in ports if port.required]
        self.names = [port.name for port in ports]

    def __call__(self) -> Optional[dict]:
        if self.limit is not None and self.given >= self.limit:
            return None
        try:
            item = next(self.items)
        except StopIteration:
            return None
        try:
            sample = {name: to_native(value, name) for name, value in self._named(item).items()}
        except InvalidArgument as error:
            error.place = f"sample {self.given}" + (f": {error.place}" if error.place else "")
            raise
        self.given += 1
        return sample

    def _named(self, item: Any) -> Mapping[str, Any]:
        if isinstance(item, Mapping):
            return item
        values = item if isinstance(item, (tuple, list)) and not _is_nested(item) else (item,)
        if len(values) not in (len(self.required), len(self.names)):
            raise InvalidArgument(f"{len(values)} arrays for the inputs {', '.join(self.required)}", "",
                                  f"one array per input, or a dict by their names; this is a "
                                  f"{type(item).__name__}")
        return dict(zip(self.names if len(values) == len(self.names) else self.required, values))


def _is_nested(item: Union[tuple, list]) -> bool:
    """True for nested lists of numbers, which are one array, not several."""
    return len(item) > 0 and not any(is_array(one) for one in item)


def _readings(reader: Any) -> Iterator[Any]:
    while True:
        item = reader.get_next()
        if item is None:
            return
        yield item


def is_loader(given: Any) -> bool:
    """Whether it is a DataLoader; torch is not imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(given, torch.utils.data.DataLoader)


def _without_labels(batch: Any, ports: Sequence[Any]) -> Any:
    """The inputs of a batch: of (inputs, labels), with one or more inputs, or of a dict with labels among them."""
    if isinstance(batch, Mapping):
        return {port.name: batch[port.name] for port in ports if port.name in batch}
    if not isinstance(batch, (tuple, list)):
        return batch
    if isinstance(batch[0], (tuple, list, Mapping)):
        return _without_labels(batch[0], ports)
    return tuple(batch[:sum(port.required for port in ports)])


class _Argument(NamedTuple):
    """An argument of a module, like the input of a model."""

    name: str
    required: bool


def example_of(given: Any, module: Any) -> Any:
    """Example inputs of a module: the first sample, if it can be read again; else None."""
    if isinstance(given, (str, bytes, os.PathLike)) or isinstance(given, Iterator) or not isinstance(given, Iterable):
        return None
    if is_array(given):
        return given[:1]
    if isinstance(given, Mapping):
        return {name: value[:1] for name, value in given.items()}
    first = next(iter(given), None)
    if first is None or not is_loader(given):
        return first
    arguments = inspect.signature(module.forward).parameters.values()
    return _without_labels(first, [_Argument(one.name, one.default is one.empty) for one in arguments])


def _length(given: Any, limit: Optional[int]) -> Optional[int]:
    """The number of samples, or None if unknown. Only the progress bar needs it, so errors of ``len`` are ignored."""
    try:
        count = len(given)
    except Exception:  # generators have no length, and the one of ONNX Runtime's reader class raises
        return None
    return count if limit is None else min(count, limit)


def open_source(given: Samples, model: Any, limit: Optional[int] = None, mean: Iterable[float] = (),
                std: Iterable[float] = (), size: Iterable[int] = (), layout: str = "", resize: str = "", channels: str = "",
                scale: float = 0) -> tuple[Any, Optional[int]]:
    """The native source of samples, and the number of samples of a stream if known."""
    images = {"mean": list(mean), "std": list(std), "size": list(size), "layout": layout, "resize": resize, "channels": channels,
              "scale": scale}
    total: Optional[int] = None
    source: Any
    if given is None:
        source = None
    elif is_path(given) or (isinstance(given, (list, tuple)) and len(given) > 0 and all(map(is_path, given))):
        source = _paths(given)
    elif isinstance(given, Mapping):
        for name, value in given.items():
            if is_path(value):
                raise InvalidArgument(f"expected an array, not a path: {value!r}", str(name), f"a list of paths: ['{name}={value}']")
        if any(_is_text(value) for value in given.values()):
            return open_source(_rows(given), model, limit)
        source = {name: to_native(value, name) for name, value in given.items()}
    elif is_array(given) and _is_text(given):
        return open_source(_rows({_only_input(model): given}), model, limit)
    elif is_array(given) and not hasattr(given, "get_next"):
        source = {_only_input(model): to_native(as_numpy(given))}
    else:
        for name, value in images.items():
            if value:
                raise InvalidArgument(f"{name}= has no effect on samples from a {type(given).__name__}", "",
                                      "it is for paths of images and for arrays of uint8 pixels")
        source, total = _stream(given, model, limit)
    return _anybit.source(source, limit or 0, **images), total


def _is_text(given: Any) -> bool:
    """Whether it is an array of strings, which is passed sample by sample."""
    return is_array(given) and getattr(getattr(given, "dtype", None), "kind", "") in ("U", "S", "O", "T")


def _rows(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Splits arrays along the first axis into samples of size 1, as the native module splits numeric arrays."""
    arrays = {name: as_numpy(value) for name, value in given.items()}
    counts = {name: len(array) if array.ndim else 1 for name, array in arrays.items()}
    count = max(counts.values())
    for name, one in counts.items():
        if one not in (1, count):
            raise InvalidArgument(f"{one} samples, but {count} of other inputs", name, "the same number for each input, or one for all")
    return [{name: array[k:k + 1] if counts[name] == count and array.ndim else array for name, array in arrays.items()}
            for k in range(count)]


def _stream(given: Any, model: Any, limit: Optional[int]) -> tuple[Callable[[], Optional[dict]], Optional[int]]:
    ports = _anybit.inputs_of(model)
    items: Iterator[Any]
    if hasattr(given, "get_next"):
        items = _readings(given)
    elif is_loader(given):
        items = (_without_labels(item, ports) for item in given)
    elif isinstance(given, Iterable) and not isinstance(given, (bytes, bytearray)):
        items = iter(given)
    else:
        raise InvalidArgument(f"{type(given).__name__} is not a source of samples", "",
                              "paths, arrays, an iterable of arrays, dicts or tuples, or an object with get_next()")
    return _Stream(items, ports, limit), _length(given, limit)


def _only_input(model: Any) -> str:
    required = [port.name for port in _anybit.inputs_of(model) if port.required]
    if len(required) != 1:
        raise InvalidArgument(f"one array for the inputs {', '.join(required)}", "", "a dict of arrays by their names")
    return required[0]
