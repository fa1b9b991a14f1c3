"""``extra_options`` of ONNX Runtime's quantization tools, and the schemes that they make."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple, Optional

from ..errors import InvalidArgument, Unsupported

_INTEGERS = {"QInt8": "int8", "QUInt8": "uint8", "QInt16": "int16", "QUInt16": "uint16", "QInt4": "int4", "QUInt4": "uint4"}
_FLOAT8 = "QFLOAT8E4M3FN"

# Options that change nothing here: what they are for holds without them.
_WITHOUT_EFFECT = {"CalibStridedMinMax", "CalibMaxIntermediateOutputs", "QDQKeepRemovableActivations", "SmoothQuantAlpha",
                   "SmoothQuantFolding"}

# Options that anybit does not have: the value that turns each off, and the reason.
_PLACEMENT = "the placement of Q/DQ pairs is fixed"
_REFUSED: dict[str, tuple[Any, str]] = {
    "ActivationRestrictedAsymmetric": (False, "zero points are the nearest ones"),
    "AddQDQPairToWeight": (False, "weights are stored quantized"),
    "BlockSize": (0, "weights in blocks are a recipe: weights: int4 sym block 32"),
    "DedicatedQDQPair": (False, _PLACEMENT),
    "DefaultTensorType": (None, "types are inferred"),
    "ForceQuantizeNoInputCheck": (False, _PLACEMENT),
    "MinimumRealRange": (None, "ranges are those of the values"),
    "OpTypesToExcludeOutputQuantization": ([], _PLACEMENT),
    "QDQDisableWeightAdjustForInt32Bias": (False, "scales are raised where a bias would overflow"),
    "QDQOpTypePerChannelSupportToAxis": ({}, "channels are output channels"),
    "SmoothQuant": (False, "anybit has no SmoothQuant"),
    "UseQDQContribOps": (False, "the model is raised to the opset that has the type"),
    "extra.Sigmoid.nnapi": (False, "the range of Sigmoid is 0 to 1"),
}
_OBSERVERS = {"MinMax": "minmax", "Entropy": "entropy"}


class Options(NamedTuple):
    """The options that anybit has."""

    activation_symmetric: bool
    weight_symmetric: Optional[bool]  # None: as the type of the weights suggests
    subgraphs: bool
    constant_matmul: bool  # only MatMul with constant weights
    quantize_bias: bool
    moving_average: bool
    momentum: Optional[float]  # of the moving average; None without one
    percentile: float
    overrides: dict[str, Any]

    def observer(self, method: str) -> str:
        """The observer of a calibration method."""
        if method == "Distribution":
            raise Unsupported("CalibrationMethod.Distribution: ranges of float8 come from extremes", "", "MinMax, Percentile, Entropy")
        if method == "Percentile":
            return f"percentile {self.percentile}"
        return "moving_average" if method == "MinMax" and self.moving_average else _OBSERVERS[method]

    def check_providers(self, providers: Optional[Iterable[str]]) -> None:
        """Refuses execution providers other than the CPU's."""
        others = [one for one in providers or [] if one != "CPUExecutionProvider"]
        if others:
            raise Unsupported(f"calibration_providers={others}: calibration runs on the CPU", "", "calibration_providers=None")


class Scheme(NamedTuple):
    """The types and the granularity of a quantization."""

    weight_type: str
    activation_type: str
    per_channel: bool
    reduce_range: bool
    observer: str

    def static(self, options: Options) -> dict[str, Any]:
        """The scheme of quantize_static."""
        grouping = "channel" if self.per_channel else "tensor"
        if _FLOAT8 in (self.weight_type, self.activation_type):
            if self.weight_type != self.activation_type:
                raise InvalidArgument(f"{self.weight_type} weights with {self.activation_type} activations", "",
                                      f"{_FLOAT8} for both")
            return {"weights": f"fp8_e4m3 {grouping}", "activations": f"fp8_e4m3 tensor {self.observer}"}
        symmetry = "sym" if options.activation_symmetric else "asym"
        scheme = {"weights": f"{self._weights(options)} {grouping}",
                  "activations": f"{_INTEGERS[self.activation_type]} {symmetry} {self.observer}"}
        if not options.quantize_bias:
            scheme["bias"] = "float"
        return {**scheme, **self._reduced()}

    def dynamic(self, options: Options) -> dict[str, Any]:
        """The scheme of quantize_dynamic."""
        if self.weight_type not in ("QInt8", "QUInt8"):
            raise Unsupported(f"{self.weight_type} weights with dynamic activations", "", "QuantType.QInt8, QuantType.QUInt8")
        grouping = "channel" if self.per_channel else "tensor"
        return {"weights": f"{self._weights(options)} {grouping}", "activations": "uint8 asym dynamic", **self._reduced()}

    def _weights(self, options: Options) -> str:
        symmetric = self.weight_type.startswith("QInt") if options.weight_symmetric is None else options.weight_symmetric
        return f"{_INTEGERS[self.weight_type]} {'sym' if symmetric else 'asym'}"

    def _reduced(self) -> dict[str, str]:
        return {"reduce_range": "pairs" if self.reduce_range else "none"}


def read_options(given: Optional[Mapping[str, Any]], dynamic: bool) -> Options:
    """Checks the options of a caller: each is honoured, or refused with the reason."""
    left = dict(given or {})

    def take(name: str, default: Any = False) -> Any:
        return left.pop(name, default)

    symmetric, moving, momentum = take("CalibTensorRangeSymmetric"), take("CalibMovingAverage"), take("CalibMovingAverageConstant", 0.01)
    options = Options(
        activation_symmetric=take("ActivationSymmetric") or symmetric, weight_symmetric=take("WeightSymmetric", None),
        subgraphs=take("EnableSubgraph"), constant_matmul=take("MatMulConstBOnly", dynamic),
        quantize_bias=take("QuantizeBias", True), moving_average=moving, momentum=momentum if moving else None,
        percentile=take("CalibPercentile", 99.999), overrides=_plain(take("TensorQuantOverrides", None) or {}))
    for name, value in left.items():
        off, reason = _REFUSED.get(name, (None, ""))
        if name in _REFUSED and value != off:
            raise Unsupported(f"extra_options['{name}']={value!r}: {reason}", "", f"{off!r}")
        if name not in _REFUSED and name not in _WITHOUT_EFFECT:
            raise InvalidArgument(f"extra_options has no '{name}'", "", "docs/from-onnxruntime.md has them all")
    if dynamic and not options.constant_matmul:
        raise Unsupported("extra_options['MatMulConstBOnly']=False: dynamic quantization is for constant weights", "", "True")
    return options._replace(constant_matmul=False) if dynamic else options  # no rule needed


def _plain(overrides: Any) -> Any:
    """Overrides as a recipe takes them: members of QuantType by name, arrays as lists."""
    if isinstance(overrides, Mapping):
        return {name: _plain(value) for name, value in overrides.items()}
    if isinstance(overrides, (list, tuple)):
        return [_plain(one) for one in overrides]
    if hasattr(overrides, "tolist"):
        return overrides.tolist()
    return getattr(overrides, "name", overrides)
