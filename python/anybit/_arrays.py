"""Converts arrays between Python and the native module, as (type, dims, buffer), without copies where possible."""

from __future__ import annotations

from typing import Any

from ._numpy import np
from .errors import InvalidArgument, InvalidData

_OF_OTHERS = 256  # dtype numbers from here on are user-defined: bfloat16 and others of the package ml_dtypes

def as_numpy(given: Any, name: str = "", what: str = "input") -> np.ndarray:
    """A numpy view of an array: the array itself, through DLPack (torch, jax, cupy on the CPU), or by ``np.asarray``."""
    if isinstance(given, np.ndarray):
        return given
    where = f"{what} '{name}'" if name else ""
    try:
        if hasattr(given, "__dlpack__"):
            if hasattr(given, "detach"):  # DLPack does not export tensors that require gradients
                given = given.detach()
            return np.from_dlpack(given)
        return np.asarray(given)
    except (BufferError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise InvalidArgument(f"cannot read {type(given).__name__} as an array: {error}", where,
                              "numpy arrays, or anything with __dlpack__ on the CPU") from None


def to_native(given: Any, name: str = "", what: str = "input") -> tuple:
    """(type, dims, buffer) of an array; strings become a list. ``name`` and ``what`` appear in messages: input 'x'."""
    where = f"{what} '{name}'" if name else ""
    if given is None:
        raise InvalidArgument("None is not an array", where, "an array, or leave it out")
    array = as_numpy(given, name, what)
    kind = array.dtype.kind
    if kind in "UO":
        flat = array.reshape(-1).tolist()
        if not all(isinstance(one, str) for one in flat):
            raise InvalidArgument(f"an array of dtype {array.dtype} with elements that are not text",
                                  where,
                                  "rows of different lengths give such arrays; all rows must be equally long")
        return "string", list(array.shape), flat
    if kind in "SMmcV" and array.dtype.num < _OF_OTHERS:
        raise InvalidArgument(f"models have no dtype {array.dtype}", where,
                              "numbers, bool, or str")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array).reshape(array.shape)
    name = array.dtype.name
    if array.dtype.num >= _OF_OTHERS:  # not supported by the buffer protocol
        return name, list(array.shape), array.reshape(-1).view(np.uint8)
    return name, list(array.shape), array


def from_native(given: Any) -> Any:
    """A numpy array over the library's memory; a list for a sequence, None for an empty optional."""
    if given is None:
        return None
    if isinstance(given, list):
        return [from_native(one) for one in given]
    kind, dims, data = given
    if kind == "string":
        return np.array(data, dtype=object).reshape(dims)
    return data.view(dtype_named(kind)).reshape(dims)


def dtype_named(name: str) -> np.dtype:
    """The numpy dtype of an element type, or that of ml_dtypes, or an unsigned integer of the same width without ml_dtypes."""
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes  # type: ignore[import-not-found,unused-ignore]

        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError, TypeError):
        return np.dtype(np.uint16 if name == "bfloat16" else np.uint8)


def floats(given: Any, allow_infinite: bool = False) -> np.ndarray:
    """Contiguous float32 values, which number formats take. Numbers beyond float32 are rejected, or become infinite."""
    array = as_numpy(given)
    if array.dtype.kind not in "fiub" and array.dtype.num < _OF_OTHERS:
        raise InvalidArgument(f"an array of dtype {array.dtype} is not numeric", "", "an array of floats or integers")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(array, dtype=np.float32).reshape(array.shape)
    if array.dtype.kind == "f" and array.dtype.itemsize > 4 and not allow_infinite:
        _refuse_beyond(array, np.isinf(values) & np.isfinite(array))
    return values


def _refuse_beyond(array: np.ndarray, beyond: np.ndarray) -> None:
    if not beyond.any():
        return
    at = np.unravel_index(int(beyond.argmax()), array.shape)
    raise InvalidData(f"{array[at]!s} is beyond the range of float32", f"value [{', '.join(map(str, at))}]",
                      "scale the values, or let it become infinite: allow_nonfinite=True")


def integers(given: Any, dtype: Any, what: str) -> np.ndarray:
    """Contiguous codes or bytes; numbers that the type cannot hold are rejected, not truncated."""
    array = as_numpy(given)
    if array.dtype.kind not in "iu":
        raise InvalidArgument(f"{what} of dtype {array.dtype}", "", f"integers: {np.dtype(dtype)}")
    if array.dtype != dtype and (beyond := (array < 0) | (array > np.iinfo(dtype).max)).any():
        at = np.unravel_index(int(beyond.argmax()), array.shape)
        raise InvalidData(f"{array[at]} is out of range for {what}", f"value [{', '.join(map(str, at))}]",
                          f"from 0 to {np.iinfo(dtype).max}")
    return np.ascontiguousarray(array, dtype)
