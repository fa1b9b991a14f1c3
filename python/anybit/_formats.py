"""Number formats on arrays: ``anybit.formats`` has all formats by name."""

from __future__ import annotations

from typing import Annotated, Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from . import _anybit
from ._arrays import dtype_named, floats, integers
from ._checks import Threads, Within, checked
from ._copies import NeverChanges
from ._numpy import np
from .errors import InvalidArgument, NoSuchKey, NotFound

#: The value of a format's parameter.
Parameter = Union[bool, int, float, str]

# By Quark's numbers.
_ROUNDING_MODES = ("half_away", "half_up", "half_even")


class Encoded(NamedTuple):
    """An array as codes, one per element, with the fields that groups share (scales, zero points, exponents)."""

    codes: np.ndarray
    shared: dict[str, np.ndarray]
    format: _OnArray

    def decode(self) -> np.ndarray:
        """The dequantized values."""
        return self.format.decode(self.codes, self.shared)


class Packed(NamedTuple):
    """An array of bit-packed codes, with the fields that groups share (scales, zero points, exponents).

    >>> packed = anybit.formats["int4"].pack(np.arange(-7.0, 8.0))
    >>> packed.bytes.nbytes, packed.nbytes
    (8, 12)
    >>> packed.decode()[:3]
    array([-7., -6., -5.], dtype=float32)
    """

    bytes: np.ndarray
    shared: dict[str, np.ndarray]
    format: _OnArray

    @property
    def nbytes(self) -> int:
        """Bytes of the codes and the shared fields."""
        return self.bytes.nbytes + sum(one.nbytes for one in self.shared.values())

    def decode(self) -> np.ndarray:
        """The dequantized values."""
        return self.format.decode(self.unpack(), self.shared)

    def unpack(self) -> np.ndarray:
        """The codes, one per element."""
        return self.format.unpack(self.bytes)


class _OnArray:
    """A format for arrays of one shape."""

    def __init__(self, format: Format, shape: tuple[int, ...], options: Mapping[str, Any]):
        self.native = _tensor_format(format, shape, **options)
        self.shape = shape
        self._given = format, shape, options
        self._types: dict[str, str] = {}

    def __reduce__(self) -> tuple:
        return _OnArray, self._given, {"_types": self._types}

    def store(self, shared: _anybit.Shared) -> dict[str, np.ndarray]:
        fields = {}
        for name, kind, dims, data in self.native.store(shared):
            self._types[name] = kind
            fields[name] = data.view(dtype_named("uint8" if kind == "bits" else kind)).reshape(dims)
        return fields

    def restore(self, shared: Mapping[str, np.ndarray]) -> _anybit.Shared:
        fields = []
        for name, array in shared.items():
            dims = list(np.shape(array))
            array = np.ascontiguousarray(array)  # which makes a scalar one-dimensional
            kind = self._types.get(name, "")
            as_stored = kind and array.dtype == dtype_named("uint8" if kind == "bits" else kind)
            fields.append((name, kind if as_stored else array.dtype.name, dims, array.reshape(-1).view(np.uint8)))
        return self.native.restore(fields)

    def decode(self, codes: Any, shared: Mapping[str, np.ndarray]) -> np.ndarray:
        return self.native.decode(integers(codes, np.uint16, "codes"), self.restore(shared)).view(np.float32).reshape(self.shape)

    def unpack(self, data: np.ndarray) -> np.ndarray:
        return self.native.unpack(integers(data, np.uint8, "packed bytes")).view(np.uint16).reshape(self.shape)


class Format(NeverChanges):
    """A number format, which quantizes arrays.

    The methods share these keywords:

    Parameters
    ----------
    axis : axis of channels or blocks.
    block_size : values per block along the axis.
    block : block size in each of the last dimensions, instead of ``block_size``.
    granularity : "tensor", "channel" or "block".
    rounding : "half_even", "half_away", "half_up", "toward_zero", "floor" or "stochastic".
    rounding_mode : 0 (half away from zero), 1 (half up) or 2 (half to even), instead of ``rounding``.
    seed : seed of stochastic rounding.
    allow_nonfinite : whether to accept NaN and infinity.
    threads : number of threads; 0 for one per core.
    **parameters : parameters of the format.

    >>> mx = anybit.formats["mxfp4_e2m1"]
    >>> mx
    Format mxfp4_e2m1: 4 bits, 4.25 for each value in blocks of 32
    >>> mx.quantize(np.array([0.1, 0.7, -2.6, 5.0]), block_size=4)
    array([ 0. ,  0.5, -3. ,  4. ], dtype=float32)
    """

    @checked
    def __init__(self, info: Annotated[_anybit.FormatInfo, "anybit.formats holds the formats by name"],
                 parameters: Mapping[str, Parameter] = {}):
        self.info = info
        self.name: str = info.name
        #: The parameters that differ from the defaults of the format.
        self.parameters = dict(parameters)

    def quantize(self, x: Any, **options: Any) -> np.ndarray:
        """Quantizes and dequantizes each value ("fake quantization").

        >>> anybit.formats["fixed"].quantize(np.array([0.3, 1.9]), width=8, frac=2)
        array([0.25, 2.  ], dtype=float32)
        """
        values, on = self._on(x, options)
        return on.native.quantize(values, on.native.choose(values)).view(np.float32).reshape(on.shape)

    def encode(self, x: Any, **options: Any) -> Encoded:
        """Quantizes to codes, with the fields that groups share (scales, zero points, exponents).

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

    @checked
    def decode(self, encoded: Union[Encoded, Packed]) -> np.ndarray:
        """Dequantizes."""
        return encoded.decode()

    def pack(self, x: Any, **options: Any) -> Packed:
        """Quantizes to bit-packed codes.

        >>> packed = anybit.formats["mxfp6_e2m3"].pack(np.ones((4, 64)))
        >>> packed.nbytes
        200
        """
        encoded = self.encode(x, **options)
        on = encoded.format
        return Packed(on.native.pack(encoded.codes).reshape(on.native.packed_dims), encoded.shared, on)

    def losses(self, x: Any, **options: Any) -> dict[str, float]:
        """The quantization error of the array: saturated and flushed values, SQNR in dB (``sqnr``, alias ``signal_to_noise``),
        largest error.

        >>> anybit.formats["fp8_e4m3"].losses(np.linspace(-1, 1, 100))["saturated"]
        0
        """
        values, on = self._on(x, options)
        shared = on.native.choose(values)
        return on.native.losses(values, shared, on.native.quantize(values, shared))

    @checked
    def with_parameters(self, **parameters: Parameter) -> Format:
        """The same format with other parameters.

        >>> narrow = anybit.formats["fixed"].with_parameters(width=4, frac=1)
        >>> narrow.info.bits
        4
        >>> narrow.quantize([0.3, 1.9])
        array([0.5, 2. ], dtype=float32)
        """
        return _described(self.name, {**self.parameters, **parameters})

    def _on(self, x: Any, options: dict[str, Any]) -> tuple[np.ndarray, _OnArray]:
        values = floats(x, bool(options.get("allow_nonfinite")))
        return values, _OnArray(self, values.shape, {**self.parameters, **options})

    def __reduce__(self) -> tuple:
        return _described, (self.name, self.parameters)

    def __repr__(self) -> str:
        info = self.info
        blocks = f", {info.bits_per_value:g} for each value in blocks of {info.block_size}" if info.block_size else ""
        return f"Format {self.name}: {info.bits} bits{blocks}"


def _described(name: str, parameters: Mapping[str, Parameter]) -> Format:
    return Format(_anybit.describe_format(name, parameters), parameters)


@checked
def _tensor_format(format: Format, shape: Sequence[int], /, *, axis: Optional[int] = None, block_size: Optional[int] = None,
                   block: Sequence[int] = (), granularity: Optional[str] = None, rounding: Optional[str] = None,
                   rounding_mode: Optional[int] = None, seed: Annotated[int, Within(0, 2**64 - 1)] = 0, allow_nonfinite: bool = False, threads: Threads = 0,
                   **parameters: Parameter) -> _anybit.TensorFormat:
    if rounding_mode is not None:
        if rounding is not None or rounding_mode not in (0, 1, 2):
            raise InvalidArgument(f"rounding_mode {rounding_mode}" + (f" and rounding {rounding}" if rounding else ""), "",
                                  "0 (half away from zero), 1 (half up) or 2 (half to even), or rounding='…'")
        # A format's own rounding_mode affects more than the rounding of values.
        if any(one.name == "rounding_mode" for one in format.info.parameters):
            parameters["rounding_mode"] = _parameter(format, "rounding_mode", rounding_mode)
        else:
            rounding = _ROUNDING_MODES[rounding_mode]
    return _anybit.tensor_format(format.name, list(shape), parameters, granularity, axis, block_size, list(block),
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
    anybit.errors.NoSuchKey: there is no format 'mxpf4_e2m1'
      hint: did you mean 'mxfp4_e2m1', 'fp4_e2m1' or 'mxfp6_e2m3'?
    """

    def __init__(self) -> None:
        self._all: dict[str, Format] = {}

    def _known(self) -> dict[str, Format]:
        if not self._all:
            self._all = {one.name: Format(one) for one in _anybit.list_formats()}
        return self._all

    def __getitem__(self, name: str) -> Format:
        if name in self._known():
            return self._known()[name]
        try:
            return _described(str(name), {})
        except NotFound as error:
            raise NoSuchKey(error.message, error.place, error.hint) from None

    def __contains__(self, name: object) -> bool:
        return name in self._known()

    def get(self, name: str, default: Any = None) -> Any:
        return self._known().get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def __reduce__(self) -> str:
        return "formats"  # a singleton

    def __repr__(self) -> str:
        return f"{len(self)} formats: {', '.join(self)}"


formats = Formats()

