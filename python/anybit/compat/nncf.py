"""The interface of NNCF for post-training quantization of ONNX models: code that uses it runs with other import lines.

>>> from anybit.compat import nncf
>>> calibration = nncf.Dataset(images[:50], lambda image: {"image": image})
>>> nncf.quantize(digits, calibration, subset_size=20).report.samples
20
>>> small = nncf.compress_weights(digits, mode=nncf.CompressWeightsMode.INT4_SYM, group_size=16, dataset=calibration, gptq=True)
>>> small.report.weight_bytes_after < 40_000
True
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
from typing import Any, Callable, Iterable, Iterator, Optional

from .._accuracy_control import quantize_with_accuracy_control as _controlled
from .._model import Model, load
from .._quantizer import quantize as _quantize
from ..errors import InvalidArgument

__all__ = ["AdvancedAWQParameters", "AdvancedCompressionParameters", "AdvancedGPTQParameters", "AdvancedQuantizationParameters",
           "AdvancedSmoothQuantParameters", "BackupMode", "CompressWeightsMode", "Dataset", "DropType", "IgnoredScope", "ModelType", "QuantizationMode", "QuantizationPreset", "SensitivityMetric",
           "TargetDevice", "compress_weights", "quantize", "quantize_with_accuracy_control"]


class QuantizationPreset(enum.Enum):
    """Symmetric activations (performance), or asymmetric ones (mixed)."""

    PERFORMANCE = "performance"
    MIXED = "mixed"


class ModelType(enum.Enum):
    """The kind of model, which anybit finds out by itself."""

    TRANSFORMER = "transformer"


class CompressWeightsMode(enum.Enum):
    """The format of the weights."""

    INT8_SYM = "int8_sym"
    INT8_ASYM = "int8_asym"
    INT4_SYM = "int4_sym"
    INT4_ASYM = "int4_asym"
    NF4 = "nf4"
    MXFP4 = "mxfp4"


class QuantizationMode(enum.Enum):
    """The modes of ``quantize`` beside int8, which are recipes here."""

    FP8_E4M3 = "fp8_e4m3"
    FP8_E5M2 = "fp8_e5m2"


class TargetDevice(enum.Enum):
    """The device; without effect: anybit's targets are other ones."""

    ANY = "ANY"
    CPU = "CPU"
    GPU = "GPU"
    NPU = "NPU"
    CPU_SPR = "CPU_SPR"


class DropType(enum.Enum):
    """Whether ``max_drop`` is in the metric's units, or relative to the float model's."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"


class SensitivityMetric(enum.Enum):
    """How NNCF chooses layers for ``ratio``, which is not supported."""

    WEIGHT_QUANTIZATION_ERROR = "weight_quantization_error"
    HESSIAN_INPUT_ACTIVATION = "hessian_input_activation"
    MEAN_ACTIVATION_VARIANCE = "mean_activation_variance"
    MAX_ACTIVATION_VARIANCE = "max_activation_variance"
    MEAN_ACTIVATION_MAGNITUDE = "mean_activation_magnitude"


class BackupMode(enum.Enum):
    """The format of embeddings and of the last layer; here they get that of the others, or stay in float with ``ignored_scope``."""

    NONE = "none"
    INT8_SYM = "int8_sym"
    INT8_ASYM = "int8_asym"


@dataclasses.dataclass
class AdvancedGPTQParameters:
    """Of GPTQ: ``block_size`` changes no result."""

    damping_percent: float = 0.1
    block_size: int = 128
    subset_size: int = 128


@dataclasses.dataclass
class AdvancedAWQParameters:
    """Of AWQ, which tries its own values of alpha."""

    subset_size: int = 32
    percent_to_apply: float = 0.002
    alpha_min: float = 0.0
    alpha_max: float = 1.0
    steps: int = 100
    prefer_data_aware_scaling: bool = True


@dataclasses.dataclass
class AdvancedCompressionParameters:
    """What ``compress_weights`` takes as ``advanced_parameters``."""

    statistics_path: Optional[str] = None
    awq_params: AdvancedAWQParameters = dataclasses.field(default_factory=AdvancedAWQParameters)
    gptq_params: AdvancedGPTQParameters = dataclasses.field(default_factory=AdvancedGPTQParameters)


@dataclasses.dataclass
class AdvancedSmoothQuantParameters:
    """The alphas of SmoothQuant; negative: none."""

    convolution: float = -1
    matmul: float = 0.95


@dataclasses.dataclass
class AdvancedQuantizationParameters:
    """What ``quantize`` takes as ``advanced_parameters``. ``smooth_quant_alphas`` hold if they are given."""

    overflow_fix: Any = None
    quantize_outputs: bool = False
    inplace_statistics: bool = True
    disable_channel_alignment: bool = True
    disable_bias_correction: bool = False
    batchwise_statistics: Optional[bool] = None
    smooth_quant_alphas: Optional[AdvancedSmoothQuantParameters] = None
    backend_params: dict[str, Any] = dataclasses.field(default_factory=dict)


class Dataset:
    """Items of any source, and what makes a sample of one."""

    def __init__(self, data_source: Iterable[Any], transform_func: Optional[Callable[[Any], Any]] = None):
        self._source, self._transform = data_source, transform_func

    def get_data(self) -> Iterator[Any]:
        """The items as they are."""
        return iter(self._source)

    def get_inference_data(self, count: Optional[int] = None) -> list[Any]:
        """The first samples."""
        items = itertools.islice(self._source, count)
        return [self._transform(item) if self._transform else item for item in items]


class IgnoredScope:
    """Nodes and operators that stay in float."""

    def __init__(self, names: Iterable[str] = (), patterns: Iterable[str] = (), types: Iterable[str] = ()):
        self.names, self.patterns, self.types = list(names), list(patterns), list(types)

    def _words(self) -> list[str]:
        if self.patterns:
            raise InvalidArgument("patterns of an ignored scope", "", "names, with * and ?")
        return [*self.names, *self.types]


def _samples(dataset: Dataset, subset_size: int) -> list[Any]:
    if subset_size < 1:
        raise InvalidArgument(f"subset_size={subset_size}", "", "1 or more")
    return dataset.get_inference_data(subset_size)


def _recipe(preset: Optional[QuantizationPreset], fast_bias_correction: bool, mode: Optional[QuantizationMode] = None,
            advanced: Optional[AdvancedQuantizationParameters] = None) -> dict[str, Any]:
    if mode is not None and not isinstance(mode, QuantizationMode):
        raise InvalidArgument(f"mode={mode}", "", "None, " + ", ".join(str(one) for one in QuantizationMode))
    symmetry = "sym" if preset is QuantizationPreset.PERFORMANCE else "asym"
    # NNCF's slow bias correction measures on more samples.
    refine: list[Any] = ["bias-correction" if fast_bias_correction else {"bias-correction": {"samples": 32}}]
    if advanced and advanced.disable_bias_correction:
        refine = []
    if advanced and advanced.smooth_quant_alphas and advanced.smooth_quant_alphas.matmul > 0:
        refine.insert(0, {"smooth": {"alpha": advanced.smooth_quant_alphas.matmul}})
    formats = (mode.value + " channel", mode.value) if mode else ("int8 sym channel", f"int8 {symmetry}")
    return {"global": {"weights": formats[0], "activations": formats[1], "refine": refine or "none"}}


def quantize(model: Any, calibration_dataset: Dataset, mode: Optional[QuantizationMode] = None, preset: Optional[QuantizationPreset] = None,
             target_device: Any = None, subset_size: int = 300, fast_bias_correction: bool = True, model_type: Optional[ModelType] = None,
             ignored_scope: Optional[IgnoredScope] = None, advanced_parameters: Optional[AdvancedQuantizationParameters] = None) -> Model:
    """int8 weights per channel and calibrated int8 activations, or fp8. ``target_device`` and ``model_type`` change nothing."""
    return _quantize(model, _recipe(preset, fast_bias_correction, mode, advanced_parameters), _samples(calibration_dataset, subset_size),
                     exclude=ignored_scope._words() if ignored_scope else ())


_FORMATS = {CompressWeightsMode.INT8_SYM: "int8 sym", CompressWeightsMode.INT8_ASYM: "int8 asym", CompressWeightsMode.INT4_SYM: "int4 sym",
            CompressWeightsMode.INT4_ASYM: "int4 asym", CompressWeightsMode.MXFP4: "mxfp4_e2m1"}


def compress_weights(model: Any, mode: CompressWeightsMode = CompressWeightsMode.INT8_ASYM, ratio: Optional[float] = None,
                     group_size: Optional[int] = None, ignored_scope: Optional[IgnoredScope] = None, all_layers: Optional[bool] = None,
                     dataset: Optional[Dataset] = None, sensitivity_metric: Optional[SensitivityMetric] = None, *, subset_size: int = 128,
                     awq: Optional[bool] = None, scale_estimation: Optional[bool] = None, gptq: Optional[bool] = None,
                     lora_correction: Optional[bool] = None, backup_mode: Optional[BackupMode] = None, compression_format: Any = None,
                     advanced_parameters: Optional[AdvancedCompressionParameters] = None) -> Model:
    """Weights alone: of 8 bits per channel, or of 4 in groups of 128 along the reduction. ``ratio`` below 1 and ``lora_correction`` are not
    supported; ``backup_mode`` and ``compression_format`` change nothing."""
    if lora_correction:
        raise InvalidArgument("lora_correction", "", "None; gptq=True reduces the same errors without adapters")
    if mode not in _FORMATS:
        raise InvalidArgument(f"mode={mode}", "", ", ".join(str(one) for one in _FORMATS))
    if ratio not in (None, 1, 1.0):
        raise InvalidArgument(f"ratio={ratio}", "", "None; anybit.quantize_with_accuracy_control mixes formats by measure")
    for name, given in (("awq", awq), ("gptq", gptq)):
        if given and dataset is None:
            raise InvalidArgument(f"{name} needs a dataset", "", "dataset=nncf.Dataset(…)")
    damp = {} if advanced_parameters is None else {"damp": advanced_parameters.gptq_params.damping_percent}
    refine = [one for one, given in (({"smooth": {"insert": False}}, awq), ("range-search", scale_estimation or gptq), ({"gptq": damp}, gptq)) if given]
    few = mode not in (CompressWeightsMode.INT8_SYM, CompressWeightsMode.INT8_ASYM)
    groups = f" block {32 if mode is CompressWeightsMode.MXFP4 else group_size or 128}" if few and group_size != -1 else " channel"
    recipe = {"global": {"weights": _FORMATS[mode] + groups, "activations": "float", "refine": refine or "none"}}
    samples = None if dataset is None or not (awq or gptq) else _samples(dataset, subset_size)
    return _quantize(model, recipe, samples, exclude=ignored_scope._words() if ignored_scope else ())


def quantize_with_accuracy_control(model: Any, calibration_dataset: Dataset, validation_dataset: Dataset,
                                   validation_fn: Callable[[Model, Iterable[Any]], Any], max_drop: float = 0.01,
                                   drop_type: DropType = DropType.ABSOLUTE, preset: Optional[QuantizationPreset] = None,
                                   target_device: Any = None, subset_size: int = 300, fast_bias_correction: bool = True,
                                   model_type: Optional[ModelType] = None, ignored_scope: Optional[IgnoredScope] = None,
                                   advanced_quantization_parameters: Optional[AdvancedQuantizationParameters] = None, **ignored: Any) -> Model:
    """As ``quantize``, with layers promoted until ``validation_fn(model, data)`` drops by at most ``max_drop``."""
    def metric(made: Model) -> Any:
        value = validation_fn(made, validation_dataset.get_data())
        return value[0] if isinstance(value, tuple) else value  # NNCF's functions may add values per item
    if drop_type is DropType.RELATIVE:
        max_drop *= abs(metric(load(model)))
    return _controlled(model, _recipe(preset, fast_bias_correction, None, advanced_quantization_parameters),
                       _samples(calibration_dataset, subset_size), metric=metric, max_drop=max_drop,
                       exclude=ignored_scope._words() if ignored_scope else ())
