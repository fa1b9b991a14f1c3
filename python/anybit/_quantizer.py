"""Quantization of models."""

from __future__ import annotations

import json
import os
import re
from typing import Annotated, Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Union

from . import _anybit
from ._calibrate import Ranges
from ._checks import Memory, Threads, checked
from ._config import Config, scheme_of
from ._metric import Metric, judged
from ._model import Model, Source, is_module, load
from ._report import Report
from ._samples import Limit, Samples, example_of, open_source
from ._text import names
from .errors import InvalidArgument
from .progress import Progress, shown

#: The name of a preset, the path of a recipe, or its content as a dict, in the syntax of anybit, MASE or Quark.
Recipe = Annotated[Union[str, os.PathLike[str], Mapping[str, Any], _anybit.Recipe], "a preset, a path, or a dict"]
_Ranges = Annotated[Union[Ranges, str, os.PathLike[str]], "the result of anybit.calibrate, or the path of its file"]


class Preset(NamedTuple):
    """A recipe with a name."""

    name: str
    summary: str
    text: str


class Target(NamedTuple):
    """Hardware or a runtime to quantize for, with its default preset."""

    name: str
    summary: str
    recipe: str


class Refinement(NamedTuple):
    """An algorithm that improves a quantized model: a word of ``refine`` in a recipe."""

    name: str
    alias: str
    summary: str
    needs_samples: bool
    needs: list[str]
    parameters: list[_anybit.FormatParameter]


def presets() -> list[Preset]:
    """The preset recipes.

    >>> anybit.presets()[0].name
    'int8'
    """
    return [Preset(*one) for one in _anybit.presets()]


def targets() -> list[Target]:
    """The targets that models can be quantized for.

    >>> "ethos-u55-128" in [one.name for one in anybit.targets()]
    True
    """
    return [Target(*one) for one in _anybit.targets()]


def refinements() -> list[Refinement]:
    """The refinements that ``refine`` in a recipe may name.

    >>> [one.name for one in anybit.refinements()]
    ['bias-correction', 'equalize', 'gptq', 'range-search', 'smooth', 'sum-preserving-rounding']
    >>> anybit.refinements()[0].parameters
    [samples: number of calibration samples, convolutions: correct convolutions only]
    >>> anybit.quantize(digits, {"global": {"weights": "int8", "refine": {"bias-correction": {"samples": 4}}}}, images[:20]
    ...                 ).report.refinements
    {'bias-correction:samples=4': 7}
    """
    return [Refinement(*one) for one in _anybit.refinements()]


@checked
def quantize(model: Source, recipe: Optional[Recipe] = None, calibration: Samples = None, *, ranges: Optional[_Ranges] = None,
             samples: Limit = None, target: str = "generic", emit: str = "portable", domain: str = "", exclude: Union[str, Iterable[str]] = (),
             mean: Iterable[float] = (), std: Iterable[float] = (), size: Iterable[int] = (), layout: str = "",
             resize: str = "", channels: str = "", scale: float = 0,
             prepare: bool = True, requantize: bool = False, allow_nan: bool = False, reproducible: bool = False,
             strict: bool = False, histograms: bool = False, qat: Union[bool, Mapping[str, Any]] = False,
             on_step: Optional[Callable[[dict[str, Any]], Any]] = None, labels: Optional[Iterable[int]] = None, metric: Optional[Metric] = None,
             example_inputs: Any = None, threads: Threads = 0, max_memory: Memory = 0, progress: Progress = None) -> Model:
    """Quantizes a model.

    Parameters
    ----------
    model : path, bytes, ``onnx.ModelProto``, ``anybit.Model``, or a torch module.
    recipe : a preset ("int8", "w4", "mxfp6", …: ``anybit.presets()``), the path of a recipe, or a dict; None for the
        default of the target.
    calibration : calibration data (see docs/python.md); weight-only, dynamic and block formats need none.
    ranges : the result of ``anybit.calibrate``, or the path of its file, instead of ``calibration``.
    samples : largest number of samples; None for all.
    target : hardware or runtime, one of ``anybit.targets()``, or a file.
    emit : "portable", "packed", "qdq", "qoperator", or "quark": the operators of AMD Quark behind every value.
    domain : of the operators of ``emit="quark"``: "com.amd.quark" (the default), or "com.vai.quantize" for older tools.
    exclude : operators or nodes to leave in float.
    mean, std, size, layout, resize, channels, scale : preprocessing of images, as on the command line: ``size=(224, 224),
        resize="crop:256", channels="BGR", scale=255``. The last one takes arrays of uint8 for pixels, too.
    prepare : whether to fold constants and normalizations first.
    requantize : whether to accept a model that is quantized already.
    allow_nan : whether to count and ignore NaN and infinity in activations instead of raising an error.
    reproducible : whether the result is identical on every x86-64 CPU, with slower float kernels during calibration.
    strict : whether an operator that the recipe names and the target does not run is an error, not a remark.
    histograms : whether the report has the histograms of activations and weights.
    qat : quantization-aware training: whether to train the weights behind their quantizers on the calibration data, or a
        dict of options: steps, minutes, loss, rate, batch, seed, … (docs/training.md), checkpoint and resume.
    on_step : called with a dict after each step of training: step, steps, loss, agreement, rate, seconds_left. Training
        ends with an error if it returns False.
    labels : correct classes of the calibration samples: training uses them, too; the report has a ``verdict`` by the accuracy, as ``anybit.compare``.
    metric : a function from a model to a number, where more is better: the report has a ``verdict`` by it.
    example_inputs : what a torch module is exported with: a tensor, a tuple of them, or a dict by argument; None for the
        first calibration sample, if it has inputs only.
    threads : number of threads; 0 for one per core.
    max_memory : memory limit in bytes; 0 for none.
    progress : see ``anybit.progress``.

    Returns
    -------
    The quantized model; its ``report`` has the outcome of every node and the reason.

    >>> anybit.quantize(digits, "w4").report.weight_bytes_after < 30_000
    True
    >>> int8 = anybit.quantize(digits, "int8", calibration=images[:20])
    >>> int8.report.samples
    20
    >>> anybit.quantize(digits, "ternary", images[:50], labels=labels[:50]).report.verdict.level
    'broken'
    >>> def right(model):
    ...     return (anybit.Session(model).run(images)["logits"].argmax(1) == labels).mean()
    >>> anybit.quantize(digits, "w8", metric=right).report.verdict.level
    'ok'
    >>> mase = anybit.quantize(digits, {"by": "type", "default": {"config": {"name": None}},
    ...     "linear": {"config": {"name": "integer", "data_in_width": 8, "data_in_frac_width": 4,
    ...                           "weight_width": 8, "weight_frac_width": 6, "bias_width": 8, "bias_frac_width": 4}}})
    >>> [node.op for node in mase.report.nodes if node.outcome != "float"]
    ['Gemm']
    """
    if example_inputs is None and is_module(model):
        example_inputs = example_of(calibration, model)
    native = load(model, example_inputs=example_inputs)._native
    made = _recipe(recipe, target)
    known = Ranges.load(ranges) if isinstance(ranges, (str, os.PathLike)) else ranges
    if known is not None and calibration is not None:
        raise InvalidArgument("ranges and calibration exclude each other", "", "one of the two")
    for word in names(exclude):
        made = made.with_rule("type" if _anybit.is_operator(word) else "name", word, "float")
    if labels is not None:
        _check_labels(labels, calibration)

    def opened() -> tuple[Any, Optional[int]]:
        return open_source(calibration, native, samples, mean, std, size, layout, resize, channels, scale)
    source, total = opened()
    with shown(progress, "calibrating", total) as bar:
        after, report = _anybit.quantize(native, made, source, None if known is None else known._native, bar,
                                         target, emit, domain, threads, max_memory, prepare, requantize, allow_nan, reproducible, histograms, strict,
                                         _training(qat, labels), on_step)
    verdict = None
    if labels is not None:
        with shown(progress, "comparing", total) as bar:
            verdict = _anybit.compare(native, after, opened()[0], bar, threads, max_memory, False, list(labels)).verdict
    if metric is not None:
        verdict = judged(verdict, metric, Model(native), Model(after))
    return Model(after, Report(report, native, after, verdict))


def _training(qat: Union[bool, Mapping[str, Any]], labels: Optional[Iterable[int]]) -> Optional[dict[str, Any]]:
    if qat is False:
        return None
    options: dict[str, Any] = {} if qat is True else {str(name): _plain(value) for name, value in qat.items()}
    if labels is not None and options.get("loss", "auto") in ("auto", "ce"):
        options.setdefault("labels", [int(one) for one in labels])
    if "checkpoint" in options:
        options["checkpoint"] = os.fspath(options["checkpoint"])
    return options


def _check_labels(labels: Iterable[int], calibration: Samples) -> None:
    if not labels:  # @checked has converted any iterable to a list
        raise InvalidArgument("labels=[]", "", "one label per sample, or None")
    if calibration is None or isinstance(calibration, Iterator) or hasattr(calibration, "get_next"):
        raise InvalidArgument("labels= needs calibration samples that can be read twice", "", "an array, a dict of arrays, a list, or paths")


def _recipe(recipe: Optional[Recipe], target: str) -> _anybit.Recipe:
    if recipe is None:
        return _anybit.recipe_preset(_anybit.target_recipe(target))
    if isinstance(recipe, _anybit.Recipe):
        return recipe
    if isinstance(recipe, Mapping):
        return _anybit.recipe_from_text(_dumped(recipe), "recipe")
    if isinstance(recipe, str) and not re.search(r"/|\.(yaml|yml|json)$", recipe):
        return _anybit.recipe_preset(recipe)
    return _anybit.recipe_from_file(os.fspath(recipe))


def _dumped(recipe: Mapping[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return dict(value)
        if hasattr(value, "item"):  # a numpy scalar
            return value.item()
        return scheme_of(value)
    try:
        return json.dumps(recipe if isinstance(recipe, dict) else dict(recipe), default=plain, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"cannot serialize the recipe: {error}", "", "a dict of text and numbers") from None


class Quantizer:
    """Builds a recipe rule by rule; the most specific rule wins: tensor, io, name, regex, type, global.

    As with Arm's quantizers, nodes that match no rule stay in float. If all rules are exceptions (``None``), or there are
    none, the default recipe of the target is the global rule. A config is ``None`` (float), a preset, a dict of parts, or
    a ``QuantizationConfig``.

    >>> quantizer = anybit.Quantizer()
    >>> quantizer.set_global(anybit.get_symmetric_quantization_config())
    Quantizer(target='generic'): global
    >>> quantizer.set_module_name("stem.conv", None).set_module_type("Gemm", "w8")
    Quantizer(target='generic'): global, name stem.conv, type Gemm
    >>> model = quantizer.quantize(anybit.load(digits), calibration=images[:20])
    >>> [node.outcome for node in model.report.nodes if node.op in ("Conv", "Gemm")]
    ['float', 'quantized', 'quantized', 'quantized', 'quantized', 'quantized', 'weights only']
    """

    @checked
    def __init__(self, target: str = "generic"):
        self.target = target
        _anybit.target_recipe(target)  # raises if the target does not exist
        self._rules: dict[str, Any] = {}

    @checked
    def set_global(self, quantization_config: Config) -> Quantizer:
        """Sets the rule for nodes that match no other rule."""
        self._rules["global"] = scheme_of(quantization_config)
        return self

    @checked
    def set_io(self, quantization_config: Config) -> Quantizer:
        """Sets the rule for the inputs and outputs of the model."""
        scheme = scheme_of(quantization_config)
        # Only activations apply here; Arm's API takes a complete config.
        if isinstance(scheme, Mapping):
            scheme = {name: part for name, part in scheme.items() if name not in ("weight", "weights", "bias")}
        self._rules["io"] = scheme
        return self

    @checked
    def set_module_name(self, module_name: str, quantization_config: Config) -> Quantizer:
        """Sets the rule for a node, or for a module of PyTorch ("blocks.sub"), and everything in it; ``*`` and ``?`` are wildcards."""
        return self._set("name", module_name, quantization_config)

    @checked
    def set_module_type(self, module_type: Union[str, type], quantization_config: Config) -> Quantizer:
        """Sets the rule for an operator: its ONNX name ("Conv"), that of a framework ("conv2d"), or a class (torch.nn.Conv2d).

        A class of modules of your own, or its name ("models.Block"), means the nodes of all its instances.
        """
        return self._set("type", _operator(module_type), quantization_config)

    @checked
    def set_regex(self, pattern: str, quantization_config: Config) -> Quantizer:
        """Sets the rule for nodes whose full name matches.

        >>> anybit.Quantizer().set_regex("residual/.*/conv", "int8").recipe
        {'global': 'float', 'regex': {'residual/.*/conv': 'int8'}}
        """
        return self._set("regex", pattern, quantization_config)

    @checked
    def set_tensor(self, name: str, how: Union[str, Mapping[str, Any]]) -> Quantizer:
        """Overrides the spec of a tensor that another rule quantizes: given scales, another observer or width.

        >>> anybit.Quantizer().set_global("int8").set_tensor("image", "uint8 scale 0.004 zero_point 0").recipe
        {'global': 'int8', 'tensor': {'image': 'uint8 scale 0.004 zero_point 0'}}
        """
        rules = self._rules.setdefault("tensor", {})
        rules.pop(name, None)
        rules[name] = how if isinstance(how, str) else {key: _plain(value) for key, value in how.items()}
        return self

    def _set(self, kind: str, pattern: str, config: Config) -> Quantizer:
        rules = self._rules.setdefault(kind, {})
        rules.pop(pattern, None)  # of rules of the same kind, the last one wins
        rules[pattern] = scheme_of(config)
        return self

    @property
    def recipe(self) -> dict[str, Any]:
        """The rules as the content of a recipe file.

        >>> anybit.Quantizer().set_module_type("Gemm", "w8").recipe
        {'global': 'float', 'type': {'Gemm': 'w8'}}
        """
        schemes = [one for kind in ("name", "regex", "type") for one in self._rules.get(kind, {}).values()]
        if not schemes and "io" in self._rules:  # io is the only rule, so it decides
            schemes = [self._rules["io"]]
        others = _anybit.target_recipe(self.target) if all(one == "float" for one in schemes) else "float"
        return {"global": others, **self._rules}

    @checked
    def transform_for_annotation(self, model: Source) -> Model:
        """Prepares the model for quantization: folds constants and normalizations."""
        return load(model).prepare()

    @checked
    def quantize(self, model: Source, calibration: Samples = None, qat: Union[bool, Mapping[str, Any]] = False, **options: Any) -> Model:
        """Quantizes the model according to the rules, with training if ``qat``. Options are those of ``anybit.quantize``.

        >>> anybit.Quantizer("ethos-u55-128").quantize(digits, calibration=images[:20], samples=10).report.samples
        10
        """
        return self._quantize_for(self.target, model, calibration, qat, options)

    def _quantize_for(self, target: str, model: Source, calibration: Samples, qat: Union[bool, Mapping[str, Any]], options: Mapping[str, Any]) -> Model:
        if "target" in options:
            raise InvalidArgument("the quantizer has its target already", "", f"Quantizer({options['target']!r})")
        return quantize(model, self.recipe, calibration, target=target, qat=qat, **options)

    @checked
    def quantize_with_submodules(self, model: Source, calibration_samples: Samples, is_qat: bool = False) -> Model:
        """The same as ``quantize``: subgraphs are part of the model. Each branch needs a sample that enters it."""
        return self.quantize(model, calibration_samples, is_qat)

    def __repr__(self) -> str:
        words = []
        for kind, rules in self._rules.items():
            words += [kind] if kind in ("global", "io") else [f"{kind} {pattern}" for pattern in rules]
        return f"Quantizer(target={self.target!r}): {', '.join(words) or 'no rules'}"


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value  # numpy arrays and scalars


def _operator(module_type: Union[str, type]) -> str:
    """The name of an operator, or of a user's own class of modules, as torch.onnx writes it: "models.Block"."""
    if isinstance(module_type, str):
        return module_type
    name = getattr(module_type, "__name__", type(module_type).__name__)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    operator = next((one for one in (name, name.lower(), snake) if _anybit.is_operator(one)), "")
    if not isinstance(module_type, type) or (operator and not _is_own_module(module_type)):
        return operator or name
    return f"{module_type.__module__}.{module_type.__qualname__}" if _is_module(module_type) else name


def _is_module(given: type) -> bool:
    return any((one.__module__, one.__name__) == ("torch.nn.modules.module", "Module") for one in given.__mro__)


def _is_own_module(given: type) -> bool:
    return _is_module(given) and not given.__module__.startswith("torch.")
