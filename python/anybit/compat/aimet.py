"""The interface of AIMET for ONNX models: code that uses it runs with other import lines.

>>> from anybit.compat.aimet import QuantizationSimModel, QuantScheme, apply_seq_mse
>>> sim = QuantizationSimModel(digits, param_type="int4", activation_type="int16", quant_scheme=QuantScheme.min_max)
>>> apply_seq_mse(sim, [{"image": images[:4]}], num_candidates=20)
>>> sim.compute_encodings([{"image": images[k:k + 1]} for k in range(20)])
>>> sim.export(str(folder), "digits_w4a16")
>>> sim.session.run(None, {"image": images[:4]})[0].argmax(1).tolist() == labels[:4].tolist()
True
"""

from __future__ import annotations

import enum
import os
from typing import Any, Callable, Collection, Iterable, Mapping, Optional, Union

from .._model import Model, load
from .._quantizer import quantize
from .._session import Session
from ..errors import InvalidArgument, InvalidState

__all__ = ["CrossLayerEqualization", "QuantScheme", "QuantizationDataType", "QuantizationSimModel", "analyze_per_layer_sensitivity",
           "apply_adaround", "apply_seq_mse", "equalize_model", "float16", "fold_all_batch_norms_to_weight", "int16", "int4", "int8"]

int4, int8, int16, float16 = "int4", "int8", "int16", "float16"
_EQUALIZED = "anybit.equalize"  # a metadata property of ONNX models


class QuantScheme(enum.Enum):
    """How the ranges of activations are found."""

    min_max = "minmax"
    post_training_tf = "minmax"
    post_training_tf_enhanced = "mse"
    post_training_percentile = "percentile 99.99"


class QuantizationDataType(enum.Enum):
    """Integers or floats."""

    int = 1
    float = 2


def equalize_model(model: Any) -> Any:
    """Cross-layer equalization of a model, which ``QuantizationSimModel`` then applies: until then the model is the same, as its results are.

    >>> import onnx
    >>> model = onnx.load(digits)
    >>> equalize_model(model)
    >>> sim = QuantizationSimModel(model, default_param_bw=8, default_activation_bw=8)
    >>> sim.compute_encodings([{"image": images[k:k + 1]} for k in range(8)])
    >>> list(sim.model.report.refinements)
    ['equalize', 'bias-correction']
    """
    proto = getattr(model, "model", model)  # of onnxruntime's ONNXModel
    if not hasattr(proto, "metadata_props"):
        raise InvalidArgument(f"equalize_model of a {type(model).__name__}, which it is to change", "", "an onnx.ModelProto: onnx.load(path)")
    if not any(one.key == _EQUALIZED for one in proto.metadata_props):
        proto.metadata_props.add(key=_EQUALIZED, value="1")


class CrossLayerEqualization:
    """The class of AIMET's older versions: ``CrossLayerEqualization(model).equalize_model()``."""

    def __init__(self, model: Any):
        self._model = model

    def equalize_model(self) -> Any:
        """Equalizes the model in place, and returns it."""
        equalize_model(self._model)
        return self._model


def fold_all_batch_norms_to_weight(model: Any) -> list[Any]:
    """Nothing to do: quantization folds normalizations into the layers before them."""
    return []


def _width(given: Any, what: str) -> int:
    text = str(getattr(given, "name", given)).lower().removeprefix("int")
    if text not in ("4", "8", "16"):
        raise InvalidArgument(f"{what}={given!r}", "", "int4, int8, int16; anybit.quantize has recipes for others")
    return int(text)


class _Recorder:
    """The session that a forward pass of the user runs: the float model, and a record of what was fed."""

    def __init__(self, model: Model):
        self._session, self.samples = Session(model), []

    def get_inputs(self) -> list[Any]:
        """The inputs, with names and shapes."""
        return self._session.inputs

    def run(self, names: Optional[list[str]], feeds: Mapping[str, Any], *_: Any) -> list[Any]:
        """The outputs, as ONNX Runtime gives them."""
        self.samples.append(dict(feeds))
        return _outputs(self._session, names, feeds)


def _outputs(session: Session, names: Optional[list[str]], feeds: Mapping[str, Any]) -> list[Any]:
    found = session.run(feeds)
    return [found[name] for name in names] if names else list(found.values())


class _QuantizedSession:
    """Runs the quantized model with the calls of ``onnxruntime.InferenceSession``."""

    def __init__(self, model: Model):
        self._session = Session(model)

    def get_inputs(self) -> list[Any]:
        """The inputs, with names and shapes."""
        return self._session.inputs

    def run(self, names: Optional[list[str]], feeds: Mapping[str, Any], *_: Any) -> list[Any]:
        """The outputs in order, or those with these names."""
        return _outputs(self._session, names, feeds)


class QuantizationSimModel:
    """A model that will be quantized. ``compute_encodings`` quantizes it: weights per channel, activations asymmetric.

    Parameters
    ----------
    model : an ``onnx.ModelProto``, onnxruntime's ``ONNXModel``, a path or an ``anybit.Model``.
    param_type, activation_type : int4, int8 or int16; ``default_param_bw`` and ``default_activation_bw`` in older versions.
    quant_scheme : how the ranges of activations are found.
    options : config_file, dummy_input, providers and the others of AIMET change nothing here.
    """

    def __init__(self, model: Any, param_type: Any = int8, activation_type: Any = int8, quant_scheme: Union[QuantScheme, str] = QuantScheme.min_max,
                 config_file: Optional[str] = None, dummy_input: Any = None, *, default_param_bw: Optional[int] = None,
                 default_activation_bw: Optional[int] = None, use_symmetric_encodings: bool = False, **options: Any):
        known = ("user_onnx_libs", "providers", "path", "rounding_mode", "use_cuda", "device", "default_data_type", "in_place")
        for name in options:
            if name not in known:
                raise InvalidArgument(f"QuantizationSimModel has no option '{name}'", "", ", ".join(known))
        proto = getattr(model, "model", model) if not isinstance(model, Model) else model
        self._model = load(proto)
        if isinstance(quant_scheme, str):
            if quant_scheme not in QuantScheme.__members__:
                raise InvalidArgument(f"quant_scheme={quant_scheme!r}", "", ", ".join(QuantScheme.__members__))
            quant_scheme = QuantScheme[quant_scheme]
        weights = _width(param_type if default_param_bw is None else default_param_bw, "param_type")
        values = _width(activation_type if default_activation_bw is None else default_activation_bw, "activation_type")
        symmetry = "sym" if values == 16 or use_symmetric_encodings else "asym"
        self._scheme = {"weights": f"int{weights} sym channel", "activations": f"int{values} {symmetry} {quant_scheme.value}"}
        self._refine: list[str] = ["bias-correction"]
        self._samples: list[Mapping[str, Any]] = []
        self._made: Optional[Model] = None
        if self._model.metadata.get(_EQUALIZED):
            self._refine.insert(0, "equalize")

    def _add(self, refinement: str) -> None:
        if refinement not in self._refine:
            self._refine.insert(len(self._refine) - 1, refinement)

    def _recipe(self) -> dict[str, Any]:
        return {"global": {**self._scheme, "refine": self._refine}}

    def compute_encodings(self, inputs: Union[Iterable[Mapping[str, Any]], Callable[..., Any], None] = None,
                          forward_pass_callback_args: Any = None, *, forward_pass_callback: Optional[Callable[..., Any]] = None) -> None:
        """Calibrates and quantizes, with samples or with a function that runs them: ``callback(session)`` or ``callback(session, arguments)``."""
        callback = forward_pass_callback or (inputs if callable(inputs) else None)
        if callback:
            recorder = _Recorder(self._model)
            callback(recorder) if forward_pass_callback_args is None else callback(recorder, forward_pass_callback_args)
            samples = recorder.samples
        else:
            samples = list(inputs) if inputs is not None else []
        if not samples:
            raise InvalidArgument("no samples to compute encodings with", "", "dicts of arrays by input")
        self._samples = samples
        self._made = quantize(self._model, self._recipe(), samples)

    @property
    def model(self) -> Model:
        """The quantized model."""
        if self._made is None:
            raise InvalidState("the model is not quantized yet", "", "sim.compute_encodings(samples)")
        return self._made

    @property
    def session(self) -> _QuantizedSession:
        """A session of the quantized model."""
        return _QuantizedSession(self.model)

    def export(self, path: str, filename_prefix: str, export_model: bool = True) -> None:
        """Writes ``filename_prefix.onnx``: quantized, with its scales as QuantizeLinear and DequantizeLinear. There is no file of encodings."""
        if export_model:
            os.makedirs(path, exist_ok=True)
            self.model.save(os.path.join(path, filename_prefix + ".onnx"))

    def to_onnx_qdq(self) -> Any:
        """The quantized model as ``onnx.ModelProto``."""
        import onnx

        return onnx.load_from_string(self.model.to_bytes())


def apply_adaround(sim: QuantizationSimModel, inputs: Collection[Mapping[str, Any]], num_iterations: int = 10000,
                   nodes_to_include: Optional[Iterable[str]] = None) -> None:
    """Rounds weights up or down so that the outputs of each layer change least: here by coordinate descent on XᵀX (``gptq``), without iterations."""
    if nodes_to_include is not None:
        raise InvalidArgument("nodes_to_include", "", "None: all layers")
    sim._add("gptq")


def apply_seq_mse(sim: QuantizationSimModel, inputs: Collection[Mapping[str, Any]], num_candidates: int = 20,
                  nodes_to_exclude: Optional[Iterable[str]] = None) -> None:
    """Chooses the ranges of weights by the error that they leave (``range-search``), out of 16 candidates."""
    if nodes_to_exclude:
        raise InvalidArgument("nodes_to_exclude", "", "None: all layers")
    sim._add("range-search")


def analyze_per_layer_sensitivity(sim: QuantizationSimModel, eval_fn: Callable[[Any], float], filename: Optional[str] = None) -> dict[str, float]:
    """The score of the model with one layer quantized at a time, by layer."""
    scores = {}
    for node in sim.model.report.nodes:
        if node.outcome != "quantized":
            continue
        recipe = {"global": "float", "name": {node.name: {**sim._scheme, "refine": "none"}}}
        try:
            made = quantize(sim._model, recipe, sim._samples)
        except InvalidArgument:  # what only passes values on
            continue
        scores[node.name] = eval_fn(_QuantizedSession(made))
    return scores
