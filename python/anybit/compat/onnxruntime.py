"""The quantization tools of ONNX Runtime.

What a script changes is where it imports from:

>>> from anybit.compat.onnxruntime import QuantType, quantize_dynamic
>>> quantize_dynamic(digits, folder / "small.onnx", weight_type=QuantType.QInt8).report.remarks
[]
>>> (folder / "small.onnx").stat().st_size < 60_000
True

Arguments, defaults and ``extra_options`` are those of ONNX Runtime 1.31. What anybit does not do raises ``Unsupported`` with
the reason. docs/from-onnxruntime.md has the differences.
"""

from __future__ import annotations

import abc
import os
import warnings
from enum import Enum
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Union

from .._calibrate import Ranges, calibrate
from .._checks import Path, checked
from .._model import Model, Source, load
from .._quantizer import quantize
from ..errors import InvalidArgument
from ._onnxruntime_options import Options, Scheme, read_options

__all__ = ["CalibrationDataReader", "CalibrationMethod", "QuantFormat", "QuantType", "quantize_dynamic", "quantize_static"]


class _Named(Enum):
    def __str__(self) -> str:
        return self.name

    @classmethod
    def from_string(cls, text: str) -> _Named:
        """The member of this name.

        >>> QuantType.from_string("QUInt8").tensor_type
        2
        """
        try:
            return cls[text]
        except KeyError:
            raise InvalidArgument(f"no {cls.__name__} is called '{text}'", "", ", ".join(cls.__members__)) from None


class QuantType(_Named):
    """The types of quantized values."""

    QInt8 = 0
    QUInt8 = 1
    QFLOAT8E4M3FN = 2
    QInt16 = 3
    QUInt16 = 4
    QInt4 = 5
    QUInt4 = 6

    @property
    def tensor_type(self) -> int:
        """ONNX's number of the type."""
        return {"QInt8": 3, "QUInt8": 2, "QFLOAT8E4M3FN": 17, "QInt16": 5, "QUInt16": 4, "QInt4": 22, "QUInt4": 21}[self.name]


class QuantFormat(_Named):
    """The form of quantized models."""

    QOperator = 0
    QDQ = 1


class CalibrationMethod(Enum):
    """How the ranges of activations are chosen."""

    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3


class CalibrationDataReader(abc.ABC):
    """Base of classes that give calibration samples: dicts of arrays by input, and None at the end."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> bool:
        return callable(getattr(subclass, "get_next", None)) or NotImplemented

    @abc.abstractmethod
    def get_next(self) -> Optional[Mapping[str, Any]]:
        """The next sample, or None."""

    def __iter__(self) -> CalibrationDataReader:
        return self

    def __next__(self) -> Mapping[str, Any]:
        sample = self.get_next()
        if sample is None:
            raise StopIteration
        return sample

    def __len__(self) -> int:
        raise NotImplementedError

    def set_range(self, start_index: int, end_index: int) -> None:
        """Restricts the samples to a range."""
        raise NotImplementedError


_Texts = Optional[Iterable[str]]


class _Choice(NamedTuple):
    """Which nodes are quantized."""

    op_types: list[str]  # empty: all
    nodes: Optional[list[str]]  # None: all
    left: list[str]

    @classmethod
    def of(cls, model: Model, op_types: _Texts, nodes: _Texts, excluded: _Texts, options: Options) -> _Choice:
        types, left = list(op_types or []), _known(model, excluded, "nodes_to_exclude")
        if not options.subgraphs:
            left += [one.name for one in model.nodes if one.graph and one.name]
        if not nodes:
            return cls(types, None, left)
        operators = {one.name: one.op for one in model.nodes}
        chosen = [name for name in _known(model, nodes, "nodes_to_quantize") if not types or operators[name] in types]
        return cls(types, chosen, left)

    def recipe(self, scheme: dict[str, Any], options: Options) -> dict[str, Any]:
        """The scheme for these nodes, with the options that are rules."""
        recipe: dict[str, Any] = {"global": "float" if self.op_types or self.nodes is not None else scheme}
        if self.nodes:
            recipe["regex"] = {_pattern(self.nodes): scheme}
        elif self.nodes is None and self.op_types:
            recipe["type"] = dict.fromkeys(self.op_types, scheme)
        if self.left:
            recipe.setdefault("regex", {})[_pattern(self.left)] = "float"
        if options.constant_matmul:
            recipe.setdefault("type", {})["matmul"] = "float"  # of two activations
        if options.overrides:
            recipe["TensorQuantOverrides"] = options.overrides
        return recipe


@checked
def quantize_static(model_input: Source, model_output: Path, calibration_data_reader: Any = None, quant_format: Any = QuantFormat.QDQ,
                    op_types_to_quantize: _Texts = None, per_channel: bool = False, reduce_range: bool = False,
                    activation_type: Any = QuantType.QInt8, weight_type: Any = QuantType.QInt8, nodes_to_quantize: _Texts = None,
                    nodes_to_exclude: _Texts = None, use_external_data_format: bool = False,
                    calibrate_method: Any = CalibrationMethod.MinMax, calibration_providers: _Texts = None,
                    extra_options: Optional[Mapping[str, Any]] = None, calibration_cache_path: Optional[Path] = None) -> Model:
    """Quantizes a model with ranges from calibration data, writes it, and returns it with its report.

    The parameters are those of ONNX Runtime. ``reduce_range`` limits pairs of weights instead of all weights to 7 bits.
    ``calibration_cache_path`` is a file of ``anybit.Ranges``: read if it exists, else written.
    """
    model = load(model_input)
    options = read_options(extra_options, dynamic=False)
    options.check_providers(calibration_providers)
    scheme = Scheme(_name(weight_type, QuantType), _name(activation_type, QuantType), per_channel, reduce_range,
                    options.observer(_name(calibrate_method, CalibrationMethod)))
    choice = _Choice.of(model, op_types_to_quantize, nodes_to_quantize, nodes_to_exclude, options)
    recipe = choice.recipe(scheme.static(options), options)
    emit = {"QDQ": "qdq", "QOperator": "qoperator"}[_name(quant_format, QuantFormat)]
    cached = calibration_cache_path is not None and os.path.exists(calibration_cache_path)
    if calibration_data_reader is None and not cached:
        raise InvalidArgument("there is neither a calibration_data_reader nor a file calibration_cache_path", "", "one of them")
    if calibration_cache_path is None and options.momentum is None:
        made = quantize(model, recipe, calibration_data_reader, emit=emit)
    else:
        made = _by_ranges(model, recipe, choice, calibration_data_reader, options.momentum, calibration_cache_path, emit)
    made.save(model_output, "always" if use_external_data_format else "keep")
    return made


@checked
def quantize_dynamic(model_input: Source, model_output: Path, op_types_to_quantize: _Texts = None, per_channel: bool = False,
                     reduce_range: bool = False, weight_type: Any = QuantType.QInt8, nodes_to_quantize: _Texts = None,
                     nodes_to_exclude: _Texts = None, use_external_data_format: bool = False,
                     extra_options: Optional[Mapping[str, Any]] = None) -> Model:
    """Quantizes the weights of a model, and its activations when it runs; writes it, and returns it with its report.

    The parameters are those of ONNX Runtime.
    """
    model = load(model_input)
    options = read_options(extra_options, dynamic=True)
    scheme = Scheme(_name(weight_type, QuantType), "QUInt8", per_channel, reduce_range, "")
    types = set(op_types_to_quantize or [])
    types |= {"Gemm"} if "MatMul" in types else set()  # ONNX Runtime splits Gemm into MatMul and Add
    choice = _Choice.of(model, sorted(types), nodes_to_quantize, nodes_to_exclude, options)
    made = quantize(model, choice.recipe(scheme.dynamic(options), options), emit="qoperator")
    made.save(model_output, "always" if use_external_data_format else "keep")
    return made


def _name(given: Any, kind: type[Enum]) -> str:
    """The name of a member: of our class, or of ONNX Runtime's."""
    name = getattr(given, "name", given)
    if isinstance(name, str) and name in kind.__members__:
        return name
    raise InvalidArgument(f"{given!r} is not a {kind.__name__}", "", ", ".join(f"{kind.__name__}.{one}" for one in kind.__members__))


def _by_ranges(model: Model, recipe: dict[str, Any], choice: _Choice, reader: Any, momentum: Optional[float],
               path: Union[None, str, os.PathLike[str]], emit: str) -> Model:
    """Quantizes with the ranges of a file, which is written if it does not exist."""
    prepared = model.prepare(keep=[*(choice.nodes or []), *choice.left])
    if path is not None and os.path.exists(path):
        ranges = Ranges.load(path)
    else:
        ranges = calibrate(prepared, reader, momentum=0.01 if momentum is None else momentum)
        if path is not None:
            ranges.save(path)
    return quantize(prepared, recipe, ranges=ranges, emit=emit, prepare=False)


def _known(model: Model, names: _Texts, parameter: str) -> list[str]:
    """The names that the model has. Others are ignored, as ONNX Runtime does, but not in silence."""
    known = {one.name for one in model.nodes}
    given = list(names or [])
    for name in given:
        if name not in known:
            warnings.warn(f"{parameter}: the model has no node '{name}'", stacklevel=5)
    return [name for name in given if name in known]


def _pattern(names: list[str]) -> str:
    """A regular expression of exactly these names."""
    return "|".join("".join(one if one.isalnum() or ord(one) > 127 else f"\\{one}" for one in name) for name in names)
