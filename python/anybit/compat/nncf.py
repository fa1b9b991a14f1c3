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

import enum
import itertools
from typing import Any, Callable, Iterable, Iterator, Optional

from .._accuracy_control import quantize_with_accuracy_control as _controlled
from .._model import Model
from .._quantizer import quantize as _quantize
from ..errors import InvalidArgument

__all__ = ["CompressWeightsMode", "Dataset", "IgnoredScope", "ModelType", "QuantizationPreset", "compress_weights", "quantize",
           "quantize_with_accuracy_control"]


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


def _recipe(preset: Optional[QuantizationPreset], fast_bias_correction: bool, smooth: bool) -> dict[str, Any]:
    symmetry = "sym" if preset is QuantizationPreset.PERFORMANCE else "asym"
    # NNCF's slow bias correction measures on more samples.
    means = "bias-correction" if fast_bias_correction else {"bias-correction": {"samples": 32}}
    return {"global": {"weights": "int8 sym channel", "activations": f"int8 {symmetry}", "refine": [*(["smooth"] if smooth else []), means]}}


def quantize(model: Any, calibration_dataset: Dataset, mode: Any = None, preset: Optional[QuantizationPreset] = None, target_device: Any = None,
             subset_size: int = 300, fast_bias_correction: bool = True, model_type: Optional[ModelType] = None,
             ignored_scope: Optional[IgnoredScope] = None, advanced_parameters: Any = None) -> Model:
    """int8 weights per channel and calibrated int8 activations. ``target_device``, ``model_type`` and ``advanced_parameters`` change nothing."""
    if mode is not None:
        raise InvalidArgument(f"mode={mode}", "", "None: int8; anybit.quantize has recipes for fp8")
    return _quantize(model, _recipe(preset, fast_bias_correction, False), _samples(calibration_dataset, subset_size),
                     exclude=ignored_scope._words() if ignored_scope else ())


_FORMATS = {CompressWeightsMode.INT8_SYM: "int8 sym", CompressWeightsMode.INT8_ASYM: "int8 asym", CompressWeightsMode.INT4_SYM: "int4 sym",
            CompressWeightsMode.INT4_ASYM: "int4 asym", CompressWeightsMode.MXFP4: "mxfp4_e2m1"}


def compress_weights(model: Any, mode: CompressWeightsMode = CompressWeightsMode.INT8_ASYM, ratio: Optional[float] = None,
                     group_size: Optional[int] = None, ignored_scope: Optional[IgnoredScope] = None, all_layers: Optional[bool] = None,
                     dataset: Optional[Dataset] = None, sensitivity_metric: Any = None, *, subset_size: int = 128, awq: bool = False,
                     scale_estimation: bool = False, gptq: bool = False) -> Model:
    """Weights alone: of 8 bits per channel, or of 4 in groups of 128 along the reduction. ``ratio`` below 1 is not supported."""
    if mode not in _FORMATS:
        raise InvalidArgument(f"mode={mode}", "", ", ".join(str(one) for one in _FORMATS))
    if ratio not in (None, 1, 1.0):
        raise InvalidArgument(f"ratio={ratio}", "", "None; anybit.quantize_with_accuracy_control mixes formats by measure")
    for name, given in (("awq", awq), ("gptq", gptq)):
        if given and dataset is None:
            raise InvalidArgument(f"{name} needs a dataset", "", "dataset=nncf.Dataset(…)")
    refine = [name for name, given in (("smooth:insert=false", awq), ("range-search", scale_estimation or gptq), ("gptq", gptq)) if given]
    few = mode not in (CompressWeightsMode.INT8_SYM, CompressWeightsMode.INT8_ASYM)
    groups = f" block {32 if mode is CompressWeightsMode.MXFP4 else group_size or 128}" if few and group_size != -1 else " channel"
    recipe = {"global": {"weights": _FORMATS[mode] + groups, "activations": "float", "refine": refine or "none"}}
    samples = None if dataset is None or not (awq or gptq) else _samples(dataset, subset_size)
    return _quantize(model, recipe, samples, exclude=ignored_scope._words() if ignored_scope else ())


def quantize_with_accuracy_control(model: Any, calibration_dataset: Dataset, validation_dataset: Dataset,
                                   validation_fn: Callable[[Model, Iterable[Any]], Any], max_drop: float = 0.01, drop_type: Any = None,
                                   preset: Optional[QuantizationPreset] = None, target_device: Any = None, subset_size: int = 300,
                                   fast_bias_correction: bool = True, model_type: Optional[ModelType] = None,
                                   ignored_scope: Optional[IgnoredScope] = None, **ignored: Any) -> Model:
    """As ``quantize``, with layers promoted until ``validation_fn(model, data)`` drops by at most ``max_drop``."""
    def metric(made: Model) -> Any:
        value = validation_fn(made, validation_dataset.get_data())
        return value[0] if isinstance(value, tuple) else value  # NNCF's functions may add values per item
    return _controlled(model, _recipe(preset, fast_bias_correction, False), _samples(calibration_dataset, subset_size), metric=metric,
                       max_drop=max_drop, exclude=ignored_scope._words() if ignored_scope else ())
