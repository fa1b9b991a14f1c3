"""Number formats on arrays: ``anybit.formats`` holds them by name."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from . import _anybit
from ._arrays import dtype_named, floats
from ._numpy import np
from .errors import InvalidArgument

# Quark's numbers.
_ROUNDING_MODES = ("half_away", "half_up", "half_even")


class Encoded(NamedTuple):
    """An array as codes, one in each element, with what groups of them share."""

    codes: np.ndarray
    shared: dict[str, np.ndarray]
    format: _OnArray

    def decode(self) -> np.ndarray:
        """The values that the codes stand for."""
        return self.format.decode(self.codes, self.shared)


class Packed(NamedTuple):
    """An array as it is stored: b bits for each value, with what groups of them share."""

    bytes: np.ndarray
    shared: dict[str, np.ndarray]
    format: _OnArray

    @property
    def nbytes(self) -> int:
        """All bytes that are stored."""
        return self.bytes.nbytes + sum(one.nbytes for one in self.shared.values())

    def decode(self) -> np.ndarray:
        """The values that are stored."""
        return self.format.decode(self.unpack(), self.shared)

    def unpack(self) -> np.ndarray:
        """The codes, one in each element."""
        return self.format.unpack(self.bytes)


class _OnArray:
    """A format on arrays of one shape."""

    def __init__(self, native: _anybit.TensorFormat, shape: tuple[int, ...], types: dict[str, str]):
        self.native, self.shape, self._types = native, shape, types

    def store(self, shared: _anybit.Shared) -> dict[str, np.ndarray]:
        fields = {}
        for name, kind, dims, data in self.native.store(shared):
            self._types[name] = kind
            fields[name] = data.view(dtype_named("uint8" if kind == "bits" else kind)).reshape(dims)
        return fields

    def restore(self, shared: Mapping[str, np.ndarray]) -> _anybit.Shared:
        fields = []
        for name, array in shared.items():
            array = np.ascontiguousarray(array)
            fields.append((name, self._types.get(name, array.dtype.name), list(array.shape),
                           array.reshape(-1).view(np.uint8)))
        return self.native.restore(fields)

    def decode(self, codes: Any, shared: Mapping[str, np.ndarray]) -> np.ndarray:
        flat = np.ascontiguousarray(codes, np.uint16)
        return self.native.decode(flat, self.restore(shared)).view(np.float32).reshape(self.shape)

    def unpack(self, data: np.ndarray) -> np.ndarray:
        return self.native.unpack(np.ascontiguousarray(data, np.uint8)).view(np.uint16).reshape(self.shape)


class Format:
    """A number format: what values it has, and what it does to an array.

    The methods share their keywords: ``axis`` and ``block_size`` (or ``block``, a box over the last dimensions),
    ``granularity`` ("tensor", "channel", "block"), ``rounding`` ("half_even", …) or ``rounding_mode`` (0: half away from zero,
    1: half up, 2: half to even), ``seed`` of stochastic rounding, ``allow_nonfinite``, ``threads``, and the format's own
    parameters.

    >>> mx = anybit.formats["mxfp4_e2m1"]
    >>> mx
    Format mxfp4_e2m1: 4 bits, 4.25 for each value in blocks of 32
    >>> mx.quantize(np.array([0.1, 0.7, -2.6, 5.0]), block_size=4)
    array([ 0. ,  0.5, -3. ,  4. ], dtype=float32)
    """

    def __init__(self, info: _anybit.FormatInfo):
        self.info = info
        self.name: str = info.name

    def quantize(self, x: Any, **options: Any) -> np.ndarray:
        """Each value becomes the nearest that the format has ("fake quantization").

        >>> anybit.formats["fixed"].quantize(np.array([0.3, 1.9]), width=8, frac=2)
        array([0.25, 2.  ], dtype=float32)
        """
        values, on = self._on(x, options)
        return on.native.quantize(values, on.native.choose(values)).view(np.float32).reshape(on.shape)

    def encode(self, x: Any, **options: Any) -> Encoded:
        """Codes, and what groups of values share (scales, zero points, exponents).

        >>> encoded = anybit.formats["mxint8"].encode(np.arange(64.0).reshape(2, 32))
        >>> encoded.codes.shape, encoded.shared["exponent"].shape
        ((2, 32), (2, 1))
        >>> float(encoded.decode()[1, 31])
        63.0
        """
        values, on = self._on(x, options)
        shared = on.native.choose(values)
        codes = on.native.encode(values, shared).view(np.uint16).reshape(on.shape)
        return Encoded(codes, on.store(shared), on)

    def decode(self, encoded: Union[Encoded, Packed]) -> np.ndarray:
        """The values again."""
        return encoded.decode()

    def pack(self, x: Any, **options: Any) -> Packed:
        """The array in its real width.

        >>> packed = anybit.formats["mxfp6_e2m3"].pack(np.ones((4, 64)))
        >>> packed.nbytes
        200
        """
        encoded = self.encode(x, **options)
        on = encoded.format
        return Packed(on.native.pack(encoded.codes).reshape(on.native.packed_dims), encoded.shared, on)

    def losses(self, x: Any, **options: Any) -> dict[str, float]:
        """What quantization does to the array: saturated and flushed values, signal to noise in dB, largest error.

        >>> anybit.formats["fp8_e4m3"].losses(np.linspace(-1, 1, 100))["saturated"]
        0
        """
        values, on = self._on(x, options)
        shared = on.native.choose(values)
        return on.native.losses(values, shared, on.native.quantize(values, shared))

    def with_parameters(self, **parameters: Any) -> Format:
        """The facts of the format with these parameters.

        >>> anybit.formats["block_fp"].with_parameters(width=4).info.bits
        4
        """
        return Format(_anybit.describe_format(self.name, parameters))

    def _on(self, x: Any, options: dict[str, Any]) -> tuple[np.ndarray, _OnArray]:
        values = floats(x)
        return values, _OnArray(_tensor_format(self, values.shape, **options), values.shape, {})

    def __repr__(self) -> str:
        info = self.info
        blocks = f", {info.bits_per_value:g} for each value in blocks of {info.block_size}" if info.block_size else ""
        return f"Format {self.name}: {info.bits} bits{blocks}"


def _tensor_format(format: Format, shape: Sequence[int], *, axis: Optional[int] = None, block_size: Optional[int] = None,
                   block: Sequence[int] = (), granularity: Optional[str] = None, rounding: Optional[str] = None,
                   rounding_mode: Optional[int] = None, seed: int = 0, allow_nonfinite: bool = False, threads: int = 0,
                   **parameters: Any) -> _anybit.TensorFormat:
    if rounding_mode is not None:
        if rounding is not None or rounding_mode not in (0, 1, 2):
            raise InvalidArgument(f"rounding_mode {rounding_mode}" + (f" and rounding {rounding}" if rounding else ""), "",
                                  "0 (half away from zero), 1 (half up) or 2 (half to even), or rounding='…'")
        # Where the format has such a parameter, it is more than a rounding of values.
        if any(one.name == "rounding_mode" for one in format.info.parameters):
            parameters["rounding_mode"] = _parameter(format, "rounding_mode", rounding_mode)
        else:
            rounding = _ROUNDING_MODES[rounding_mode]
    plain = {name: one.item() if hasattr(one, "item") else one for name, one in parameters.items()}
    return _anybit.tensor_format(format.name, list(shape), plain, granularity, axis, block_size, list(block),
                                 rounding or "half_even", seed, allow_nonfinite, threads)


def _parameter(format: Format, name: str, value: int) -> Any:
    preset = next(one.preset for one in format.info.parameters if one.name == name)
    return str(value) if isinstance(preset, str) else value


class Formats(Mapping[str, Format]):
    """All formats by name.

    >>> len(anybit.formats) > 60
    True
    >>> anybit.formats["mxpf4_e2m1"]
    Traceback (most recent call last):
    anybit.errors.NotFound: there is no format 'mxpf4_e2m1'
      hint: did you mean 'mxfp4_e2m1', 'fp4_e2m1' or 'mxfp6_e2m3'?
    """

    def __init__(self) -> None:
        self._all: dict[str, Format] = {}

    def _known(self) -> dict[str, Format]:
        if not self._all:
            self._all = {one.name: Format(one) for one in _anybit.list_formats()}
        return self._all

    def __getitem__(self, name: str) -> Format:
        found = self._known().get(name)
        return found if found is not None else Format(_anybit.describe_format(name, {}))

    def __contains__(self, name: object) -> bool:
        return name in self._known()

    def get(self, name: str, default: Any = None) -> Any:
        return self._known().get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def __repr__(self) -> str:
        return f"{len(self)} formats: {', '.join(self)}"


formats = Formats()

