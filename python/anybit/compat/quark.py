"""The interface of AMD Quark for ONNX, for MX, block floating point and integers: code that uses it runs with other import lines.

>>> from anybit.compat.quark import Config, ModelQuantizer, QuantizationConfig, VitisQuantFormat, VitisQuantType
>>> config = QuantizationConfig(quant_format=VitisQuantFormat.MXFixNeuron, activation_type=VitisQuantType.QMX,
...                             weight_type=VitisQuantType.QMX, extra_options={"MXAttributes": {"element_dtype": "fp4_e2m1"}})
>>> quantized = ModelQuantizer(Config(global_quant_config=config)).quantize_model(digits)
>>> len([node for node in quantized.report.nodes if node.outcome == "quantized"])
18
>>> config = QConfig(global_config=QLayerConfig(activation=UInt8Spec(), weight=Int8Spec()), algo_config=[CLEConfig(), BiasCorrectionConfig()])
>>> quantized = ModelQuantizer(config).quantize_model(digits, calibration_data_reader=[{"image": images[k:k + 1]} for k in range(20)])
>>> list(quantized.report.refinements)
['equalize', 'bias-correction']
"""

from __future__ import annotations

import difflib
import enum
import os
from typing import Any, Iterable, Optional, Union

from .._model import Model
from .._quantizer import quantize
from ..errors import InvalidArgument, Unsupported
from ._quark_algorithms import AWQConfig, AdaRoundConfig, AlgoConfig, BiasCorrectionConfig, CLEConfig, GPTQConfig, SmoothQuantConfig
from ._quark_layers import (CalibMethod, Int4Spec, Int8Spec, Int16Spec, QConfig, QLayerConfig, QuantGranularity, ScaleType, UInt4Spec,
                            UInt8Spec, UInt16Spec, samples_of)

__all__ = ["AWQConfig", "AdaRoundConfig", "AlgoConfig", "BiasCorrectionConfig", "CLEConfig", "CalibMethod", "CalibrationMethod", "Config",
           "ExtendedQuantFormat", "ExtendedQuantType", "GPTQConfig", "Int16Spec", "Int4Spec", "Int8Spec", "ModelQuantizer", "QConfig",
           "QLayerConfig", "QuantGranularity", "QuantizationConfig", "ScaleType", "SmoothQuantConfig", "UInt16Spec", "UInt4Spec", "UInt8Spec",
           "VitisQuantFormat", "VitisQuantType", "get_library_path"]


class CalibrationMethod(enum.Enum):
    """How ranges are found; block formats have none, so every method gives the same model."""

    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3


class VitisQuantType(enum.Enum):
    """The type of activations or weights; MX and block floating point are supported."""

    QInt8 = 1
    QUInt8 = 2
    QInt16 = 3
    QUInt16 = 4
    QInt32 = 5
    QUInt32 = 6
    QFloat16 = 7
    QBFloat16 = 8
    QBFP = 9
    QMX = 10


class VitisQuantFormat(enum.Enum):
    """How quantization is written: by the operator of MX or of block floating point."""

    QDQ = 2
    FixNeuron = 3
    BFPFixNeuron = 4
    MXFixNeuron = 5


class ExtendedQuantFormat(enum.Enum):
    """The newer names: QDQ is the operator of the type."""

    QOperator = 0
    QDQ = 1


ExtendedQuantType = VitisQuantType
_ATTRIBUTES = {VitisQuantType.QMX: "MXAttributes", VitisQuantType.QBFP: "BFPAttributes"}
_FORMATS = {VitisQuantType.QMX: VitisQuantFormat.MXFixNeuron, VitisQuantType.QBFP: VitisQuantFormat.BFPFixNeuron}
_EITHER = (VitisQuantFormat.QDQ, ExtendedQuantFormat.QDQ)

# What another value would change; those of _WITHOUT_EFFECT change no result here.
_DEFAULTS: dict[str, Any] = {
    "input_nodes": [], "output_nodes": [], "op_types_to_quantize": [], "nodes_to_quantize": [], "extra_op_types_to_quantize": [],
    "subgraphs_to_exclude": [], "specific_tensor_precision": False, "use_dynamic_quant": False, "convert_fp16_to_fp32": False,
    "convert_nchw_to_nhwc": False, "include_sq": False, "include_rotation": False, "include_auto_mp": False,
    "include_fast_ft": False, "enable_npu_cnn": False, "enable_npu_transformer": False, "crypto_mode": False,
}
_WITHOUT_EFFECT = ("include_cle", "per_channel", "reduce_range", "execution_providers", "use_external_data_format", "debug_mode",
                   "print_summary", "ignore_warnings", "log_severity_level")


def _unknown(owner: str, name: str, known: Iterable[str]) -> InvalidArgument:
    near = difflib.get_close_matches(name, list(known), 1, 0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"one of {', '.join(sorted(known))}"
    return InvalidArgument(f"{owner} has no option '{name}'", "", hint)


class QuantizationConfig:
    """What is quantized, and how.

    Parameters
    ----------
    calibrate_method : a CalibrationMethod; without effect.
    quant_format : VitisQuantFormat.MXFixNeuron or BFPFixNeuron, or QDQ.
    activation_type, weight_type : VitisQuantType.QMX or QBFP, the same for both.
    nodes_to_exclude : names of nodes to leave in float.
    optimize_model : whether to fold constants and normalizations first.
    extra_options : {"MXAttributes": …} or {"BFPAttributes": …}, the attributes of the operator.
    options : those of Quark that have no effect here are accepted, and others with their default.
    """

    def __init__(self, calibrate_method: Any = CalibrationMethod.MinMax, quant_format: Any = VitisQuantFormat.QDQ,
                 activation_type: VitisQuantType = VitisQuantType.QInt8, weight_type: VitisQuantType = VitisQuantType.QInt8, *,
                 nodes_to_exclude: Iterable[str] = (), optimize_model: bool = True,
                 extra_options: Optional[dict[str, Any]] = None, **options: Any):
        named = ("calibrate_method", "quant_format", "activation_type", "weight_type", "nodes_to_exclude", "optimize_model",
                 "extra_options")
        for name, value in options.items():
            if name not in _DEFAULTS and name not in _WITHOUT_EFFECT:
                raise _unknown("QuantizationConfig", name, [*named, *_DEFAULTS, *_WITHOUT_EFFECT])
            if name in _DEFAULTS and value != _DEFAULTS[name]:
                raise Unsupported(f"QuantizationConfig: {name}={value!r}", "", f"{_DEFAULTS[name]!r}")
        self.calibrate_method, self.quant_format = calibrate_method, quant_format
        self.activation_type, self.weight_type = activation_type, weight_type
        self.nodes_to_exclude, self.optimize_model = list(nodes_to_exclude), optimize_model
        self.extra_options = dict(extra_options or {})
        for name in self.extra_options:
            if name not in _ATTRIBUTES.values():
                raise _unknown("extra_options", name, _ATTRIBUTES.values())

    def recipe(self) -> dict[str, Any]:
        """The same as a recipe of anybit."""
        if self.activation_type is not self.weight_type or self.weight_type not in _ATTRIBUTES:
            raise Unsupported(f"activation_type {self.activation_type}, weight_type {self.weight_type}", "",
                              "VitisQuantType.QMX for both, or QBFP for both; anybit.quantize for integers")
        if self.quant_format not in (*_EITHER, _FORMATS[self.weight_type]):
            raise InvalidArgument(f"quant_format {self.quant_format} with {self.weight_type}", "",
                                  f"{_FORMATS[self.weight_type]}")
        attributes = _ATTRIBUTES[self.weight_type]
        return {attributes: self.extra_options.get(attributes, {})}


class Config:
    """The configuration of a model; ``global_quant_config`` holds for all of it."""

    def __init__(self, global_quant_config: QuantizationConfig, **options: Any):
        for name in options:
            raise _unknown("Config", name, ["global_quant_config"])
        self.global_quant_config = global_quant_config


class ModelQuantizer:
    """Quantizes models as a configuration says."""

    def __init__(self, config: Union[Config, QConfig]):
        self.config = config

    def quantize_model(self, model_input: Union[str, os.PathLike[str], Any], model_output: Union[str, os.PathLike[str], None] = None,
                       calibration_data_reader: Any = None, calibration_data_path: Optional[str] = None) -> Model:
        """Writes a model and returns it. With ``QConfig`` it has QuantizeLinear and DequantizeLinear. With ``Config`` activations, weights
        and biases pass through AMD's operators; block formats need no calibration, so the data is not read."""
        if isinstance(self.config, QConfig):
            made = quantize(model_input, self.config.recipe(), samples_of(calibration_data_reader), emit="qdq", prepare=self.config.optimize_model)
            if model_output is not None:
                made.save(model_output, external_data="always" if self.config.use_external_data_format else "keep")
            return made
        config = self.config.global_quant_config
        quantized = quantize(model_input, config.recipe(), emit="quark", exclude=config.nodes_to_exclude,
                             prepare=config.optimize_model)
        if model_output is not None:
            quantized.save(model_output)
        return quantized


def get_library_path(device: str = "CPU") -> str:
    """The path of the library with these operators, for ``SessionOptions.register_custom_ops_library`` of ONNX Runtime."""
    import anybit

    return anybit.get_library_path(device)
