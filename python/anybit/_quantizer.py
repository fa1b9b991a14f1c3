"""Quantizing models."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Union

from . import _anybit
from ._calibrate import Ranges
from ._config import Config, _check_qat, scheme_of
from ._model import Model, Source, load
from ._report import Report
from ._samples import Samples, check_memory, open_source
from ._text import names
from .errors import InvalidArgument
from .progress import Progress, shown

#: The name of a preset, a path of a recipe, or its content as a dict, in anybit's words, MASE's or Quark's.
Recipe = Union[str, "os.PathLike[str]", Mapping[str, Any]]


class Preset(NamedTuple):
    """A recipe that has a name."""

    name: str
    summary: str
    text: str


class Target(NamedTuple):
    """Hardware that models are quantized for, with the preset that it brings."""

    name: str
    summary: str
    recipe: str


def presets() -> list[Preset]:
    """The recipes that have a name.

    >>> anybit.presets()[0].name
    'int8'
    """
    return [Preset(*one) for one in _anybit.presets()]


def targets() -> list[Target]:
    """The hardware that models can be quantized for.

    >>> "ethos-u55-128" in [one.name for one in anybit.targets()]
    True
    """
    return [Target(*one) for one in _anybit.targets()]


def quantize(model: Source, recipe: Optional[Recipe] = None, calibration: Samples = None, *, ranges: Union[None, Ranges, str, os.PathLike[str]] = None,
             samples: Optional[int] = None, target: str = "generic", emit: str = "portable", exclude: Union[str, Iterable[str]] = (),
             mean: Iterable[float] = (), std: Iterable[float] = (), size: Iterable[int] = (), layout: str = "",
             prepare: bool = True, requantize: bool = False, allow_nan: bool = False, histograms: bool = False,
             threads: int = 0, max_memory: int = 0, progress: Progress = None) -> Model:
    """A quantized model. Its ``report`` tells what was done, and why.

    ``recipe`` is a preset ("int8", "w4", "mxfp6", …: ``anybit.presets()``), a file, or a dict; without one the target's own.
    ``calibration`` is a source of samples (see docs/python.md); weights-only, dynamic and block formats need none. ``samples``
    is the most that are used. ``mean``, ``std``, ``size`` and ``layout`` are for pictures. ``exclude`` leaves operators or
    nodes in float. ``ranges`` are those of ``anybit.calibrate``, or a path of theirs. With ``histograms`` the report's page shows those of activations and weights.

    >>> anybit.quantize(digits, "w4").report.weight_bytes_after < 30_000
    True
    >>> int8 = anybit.quantize(digits, "int8", calibration=images[:20])
    >>> int8.report.samples
    20
    >>> mase = anybit.quantize(digits, {"by": "type", "default": {"config": {"name": None}},
    ...     "linear": {"config": {"name": "integer", "data_in_width": 8, "data_in_frac_width": 4,
    ...                           "weight_width": 8, "weight_frac_width": 6, "bias_width": 8, "bias_frac_width": 4}}})
    >>> [node.op for node in mase.report.nodes if node.outcome != "float"]
    ['Gemm']
    """
    check_memory(max_memory)
    native = load(model)._native
    made = _recipe(recipe, target)
    known = _ranges(ranges)
    for word in names(exclude):
        made = made.with_rule("type" if _anybit.is_operator(word) else "name", word, "float")
    source, total = open_source(calibration, native, samples, tuple(mean), tuple(std), tuple(size), layout)
    with shown(progress, "calibrating", total) as bar:
        after, report = _anybit.quantize(native, made, source, known, bar, target, emit,
                                         threads, max_memory, prepare, requantize, allow_nan, histograms)
    return Model(after, Report(report, native, after))


def _ranges(given: Any) -> Optional[_anybit.Ranges]:
    if given is None or isinstance(given, Ranges):
        return None if given is None else given._native
    if isinstance(given, (str, os.PathLike)):
        return Ranges.load(given)._native
    raise InvalidArgument(f"{type(given).__name__} holds no ranges", "", "what anybit.calibrate gives, or the path of its file")


def _recipe(recipe: Optional[Recipe], target: str) -> _anybit.Recipe:
    if recipe is None:
        return _anybit.recipe_preset(_anybit.target_recipe(target))
    if isinstance(recipe, Mapping):
        return _anybit.recipe_from_text(_dumped(recipe), "recipe")
    if isinstance(recipe, str) and not re.search(r"/|\.(yaml|yml|json)$", recipe):
        return _anybit.recipe_preset(recipe)
    if isinstance(recipe, (str, os.PathLike)):
        return _anybit.recipe_from_file(os.fspath(recipe))
    raise InvalidArgument(f"{type(recipe).__name__} is no recipe", "", "a preset, a path, or a dict")


def _dumped(recipe: Mapping[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return dict(value)
        if hasattr(value, "item"):  # a number of numpy's
            return value.item()
        return scheme_of(value)
    try:
        return json.dumps(recipe if isinstance(recipe, dict) else dict(recipe), default=plain)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"the recipe cannot be written down: {error}", "", "a dict of text and numbers") from None


class Quantizer:
    """Rules for a model, collected one by one; the most specific wins: io, name, type, global.

    Arm's words work as they are used to; a config is ``None`` (float), a preset, a dict of parts, or what
    ``get_symmetric_quantization_config`` gives.

    >>> quantizer = anybit.Quantizer()
    >>> quantizer.set_global(anybit.get_symmetric_quantization_config())
    Quantizer(target='generic'): global
    >>> quantizer.set_module_name("stem.conv", None).set_module_type("Gemm", "w8")
    Quantizer(target='generic'): global, name stem.conv, type Gemm
    >>> model = quantizer.quantize(anybit.load(digits), calibration=images[:20])
    >>> [node.outcome for node in model.report.nodes if node.op in ("Conv", "Gemm")]
    ['float', 'quantized', 'quantized', 'quantized', 'quantized', 'quantized', 'weights only']
    """

    def __init__(self, target: str = "generic"):
        self.target = target
        _anybit.target_recipe(target)  # a name that does not exist is an error now, not later
        self._rules: dict[str, Any] = {}

    def set_global(self, config: Config) -> Quantizer:
        """For all that no other rule is about."""
        self._rules["global"] = scheme_of(config)
        return self

    def set_io(self, config: Config) -> Quantizer:
        """For the model's inputs and outputs."""
        scheme = scheme_of(config)
        # Only activations are there; Arm's users hand over a whole config.
        if isinstance(scheme, Mapping):
            scheme = {name: part for name, part in scheme.items() if name not in ("weight", "weights", "bias")}
        self._rules["io"] = scheme
        return self

    def set_module_name(self, module_name: str, config: Config) -> Quantizer:
        """For a node or a module by name ("blocks.sub"), and all below it; ``*`` and ``?`` as in a shell."""
        return self._set("name", module_name, config)

    def set_module_type(self, module_type: Union[str, type], config: Config) -> Quantizer:
        """For an operator: ONNX's name ("Conv"), another world's ("conv2d"), or a class that is called so (torch.nn.Conv2d)."""
        return self._set("type", _operator(module_type), config)

    def set_regex(self, pattern: str, config: Config) -> Quantizer:
        """For nodes whose whole name matches."""
        return self._set("regex", pattern, config)

    def _set(self, kind: str, pattern: str, config: Config) -> Quantizer:
        rules = self._rules.setdefault(kind, {})
        rules.pop(pattern, None)  # among equals the later rule wins: it goes to the end
        rules[pattern] = scheme_of(config)
        return self

    @property
    def recipe(self) -> dict[str, Any]:
        """The rules as a recipe: what a file would hold."""
        if "global" in self._rules:
            return dict(self._rules)
        return {"global": _anybit.target_recipe(self.target), **self._rules}

    def transform_for_annotation(self, model: Source) -> Model:
        """The model as quantization sees it: constants folded, normalizations in the weights."""
        return load(model).prepare()

    def quantize(self, model: Source, calibration: Samples = None, qat: bool = False, **options: Any) -> Model:
        """The model, quantized by the rules. Options are those of ``anybit.quantize``."""
        _check_qat(qat)
        return quantize(model, self.recipe, calibration, target=self.target, **options)

    def quantize_with_submodules(self, model: Source, calibration_samples: Samples, is_qat: bool = False) -> Model:
        """The same; branches are part of the model, and need a sample each that enters them."""
        return self.quantize(model, calibration_samples, is_qat)

    def __repr__(self) -> str:
        words = []
        for kind, rules in self._rules.items():
            words += [kind] if kind in ("global", "io") else [f"{kind} {pattern}" for pattern in rules]
        return f"Quantizer(target={self.target!r}): {', '.join(words) or 'no rules'}"


def _operator(module_type: Union[str, type]) -> str:
    if isinstance(module_type, str):
        return module_type
    name = getattr(module_type, "__name__", type(module_type).__name__)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return next((one for one in (name, name.lower(), snake) if _anybit.is_operator(one)), name)
