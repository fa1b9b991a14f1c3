"""The newer configuration of Quark for integers: specs of tensors, layers and models."""

from __future__ import annotations

import enum
from typing import Any, Iterable, Mapping, Optional

from ..errors import InvalidArgument, Unsupported
from ._quark_algorithms import AlgoConfig, refinements


class CalibMethod(enum.Enum):
    """How ranges of activations are found."""

    MinMax = "minmax"
    Entropy = "entropy"
    Percentile = "percentile 99.999"
    MinMSE = "mse"
    Distribution = ""
    LayerwisePercentile = " "


class QuantGranularity(enum.Enum):
    """Which weights share a scale."""

    Tensor = "tensor"
    Channel = "channel"
    Group = "block 32"


class ScaleType(enum.Enum):
    """The type of scales."""

    Float32 = 0
    PowerOf2 = 1
    Int16 = 2


class QTensorConfig:
    """What a tensor gets."""

    _format, _symmetric = "", True

    def __init__(self, symmetric: Optional[bool] = None, scale_type: ScaleType = ScaleType.Float32,
                 calibration_method: CalibMethod = CalibMethod.Percentile, quant_granularity: QuantGranularity = QuantGranularity.Tensor,
                 data_type: Any = None):
        if not self._format:
            raise Unsupported(type(self).__name__, "", ", ".join(sorted(one.__name__ for one in _SPECS if one._format)))
        if scale_type is not ScaleType.Float32:
            raise Unsupported(f"scale_type={scale_type}", "", "ScaleType.Float32")
        self.symmetric = self._symmetric if symmetric is None else symmetric
        self.scale_type, self.calibration_method, self.quant_granularity = scale_type, calibration_method, quant_granularity

    def set_calibration_method(self, method: CalibMethod) -> None:
        """Sets how ranges are found."""
        self.calibration_method = method

    def set_quant_granularity(self, granularity: QuantGranularity) -> None:
        """Sets which values share a scale."""
        self.quant_granularity = granularity

    def _text(self, weight: bool) -> str:
        symmetry = "sym" if self.symmetric else "asym"
        if weight:
            return f"{self._format} {symmetry} {self.quant_granularity.value}"
        if not self.calibration_method.value.strip():
            raise Unsupported(f"calibration_method={self.calibration_method}", "", "MinMax, Percentile, MinMSE, Entropy")
        return f"{self._format} {symmetry} {self.calibration_method.value}"


def _spec(name: str, format: str, symmetric: bool = True) -> type[QTensorConfig]:
    return type(name, (QTensorConfig,), {"_format": format, "_symmetric": symmetric, "__doc__": f"Tensors in {format}.", "__module__": __name__})


Int8Spec, UInt8Spec = _spec("Int8Spec", "int8"), _spec("UInt8Spec", "uint8", False)
Int16Spec, UInt16Spec = _spec("Int16Spec", "int16"), _spec("UInt16Spec", "uint16", False)
Int4Spec, UInt4Spec = _spec("Int4Spec", "int4"), _spec("UInt4Spec", "uint4", False)
_SPECS = (Int8Spec, UInt8Spec, Int16Spec, UInt16Spec, Int4Spec, UInt4Spec)


class QLayerConfig:
    """What the tensors of a layer get. ``activation`` is the older name of ``input_tensors``; biases and outputs follow from the others."""

    def __init__(self, activation: Optional[QTensorConfig] = None, weight: Optional[QTensorConfig] = None, *, input_tensors: Optional[QTensorConfig] = None,
                 bias: Optional[QTensorConfig] = None, output_tensors: Optional[QTensorConfig] = None):
        self.input_tensors, self.weight = input_tensors or activation, weight
        self.bias, self.output_tensors = bias, output_tensors

    def _scheme(self, refine: list[Any], weights: Optional[str] = None) -> dict[str, Any]:
        return {"weights": weights or (self.weight._text(True) if self.weight else "float"),
                "activations": self.input_tensors._text(False) if self.input_tensors else "float", "refine": refine}


def _rules(names: Iterable[Any], scheme: Any, rules: dict[str, dict[str, Any]]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise Unsupported("a part of the model between two lists of nodes", "", "names of nodes, or patterns: '^/conv1/.*'")
        kind, pattern = ("regex", name[1:]) if name.startswith("^") else ("name", name)
        rules.setdefault(kind, {})[pattern] = scheme


class QConfig:
    """The configuration of a model: layers, exclusions and algorithms.

    Options of ``extra_options`` are those of Quark; one that would change the result here is an error.
    """

    def __init__(self, global_config: Optional[QLayerConfig] = None, specific_layer_config: Optional[Mapping[QLayerConfig, list[str]]] = None,
                 layer_type_config: Optional[Mapping[Optional[QLayerConfig], list[str]]] = None, exclude: Optional[list[Any]] = None,
                 algo_config: Optional[list[AlgoConfig]] = None, use_external_data_format: bool = False,
                 extra_options: Optional[Mapping[str, Any]] = None, **options: Any):
        self.global_config = global_config or QLayerConfig(Int8Spec(), Int8Spec())
        self.specific_layer_config, self.layer_type_config = dict(specific_layer_config or {}), dict(layer_type_config or {})
        self.exclude, self.algo_config = list(exclude or []), list(algo_config or [])
        self.use_external_data_format = use_external_data_format
        self.optimize_model = True
        for name, value in {**(extra_options or {}), **options}.items():
            if name == "OptimizeModel":
                self.optimize_model = bool(value)
            elif name not in _WITHOUT_EFFECT:
                raise Unsupported(f"extra option {name}", "", f"{', '.join(_WITHOUT_EFFECT)}; a recipe of anybit for others")

    def recipe(self) -> dict[str, Any]:
        """The same as a recipe of anybit."""
        refine = refinements(self.algo_config)
        recipe: dict[str, Any] = {"global": self.global_config._scheme(refine)}
        widths = [one._weights() for one in self.algo_config if one._weights()]
        if widths:
            linear = self.global_config._scheme(refine, widths[-1])
            recipe["type"] = {"MatMul": linear, "Gemm": linear}
        for layer, types in self.layer_type_config.items():
            recipe.setdefault("type", {}).update({one: layer._scheme(refine) if layer else "float" for one in types})
        for layer, names in self.specific_layer_config.items():
            _rules(names, layer._scheme(refine), recipe)
        _rules(self.exclude, "float", recipe)
        return recipe


_WITHOUT_EFFECT = ("CryptoMode", "DebugMode", "EnableSubgraph", "ExecutionProviders", "IgnoreWarnings", "Int32Bias", "LogSeverityLevel",
                   "PrintSummary", "QuantizeBias", "RemoveInputInit", "SimplifyModel")


def samples_of(reader: Any) -> list[Any]:
    """What a data reader gives, or an iterable."""
    if reader is None:
        raise InvalidArgument("no calibration data", "", "calibration_data_reader")
    return list(iter(reader.get_next, None)) if hasattr(reader, "get_next") else list(reader)
