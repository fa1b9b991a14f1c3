"""Modules of PyTorch, exported to ONNX by PyTorch itself.

torch is imported only when a module is exported; a caller who has a module has imported it before.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import logging
import re
import warnings
from typing import Any, Iterator, Mapping, Optional, Sequence

from . import _anybit
from ._arrays import as_numpy
from ._model import Model, load
from .errors import Error, InvalidArgument, Unsupported

_LARGEST = 2**31 - 2**26  # bytes of weights in one protobuf, with room for the graph


def export(module: Any, example_inputs: Any = None) -> Model:
    """The ONNX model of a torch module, a GraphModule or an ``ExportedProgram``.

    The names and classes of modules stay with the nodes, so that rules find them; the first dimension of the inputs
    is dynamic if the module allows it.

    Parameters
    ----------
    module : exported in inference mode; its own mode does not change.
    example_inputs : a tensor or array, a tuple of them, or a dict by the names of arguments. An exported program, and the
        GraphModule of one, has its own.

    Raises
    ------
    Unsupported : torch, or a package that it needs for the export, is not installed.
    InvalidArgument : torch cannot export the module.
    """
    torch = _imported()
    if not isinstance(module, torch.nn.Module) and not _is_program(torch, module):
        raise InvalidArgument(f"{type(module).__name__} is not a torch module", "",
                              "a torch.nn.Module, a GraphModule, or the result of torch.export.export")
    if _is_program(torch, module):
        return _from_program(torch, module)
    inputs = _Inputs.of(torch, module, example_inputs)
    _check_size(module)
    with _in_inference_mode(module), _quietly():
        with _told(module), torch.no_grad():
            inputs.outputs = _output_names(module, inputs)
        return (_by_dynamo if _has_dynamo(torch) else _by_torchscript)(torch, module, inputs)


class CallableModel(Model):
    """A model that is called like the module that it was made from: tensors or arrays in the order of the inputs.

    It returns tensors if it is given some, else arrays; a tuple if it has several outputs.
    """

    _session: Any = None

    @classmethod
    def of(cls, model: Model) -> CallableModel:
        return cls(model._native, model.report, model.path)

    def __call__(self, *args: Any, **named: Any) -> Any:
        from ._session import Session

        if self._session is None:
            self._session = Session(self)
        names = [one.name for one in self.inputs]
        if len(args) > len(names):
            raise InvalidArgument(f"{len(args)} inputs for a model with {len(names)}", "", ", ".join(names))
        given = {**dict(zip(names, args)), **named}
        results = tuple(self._session.run(given).values())
        if any(hasattr(one, "detach") for one in given.values()):
            results = tuple(map(_imported().from_numpy, results))
        return results[0] if len(results) == 1 else results

    def __reduce__(self) -> tuple:
        return _called, (self.to_bytes(),)


def _called(data: bytes) -> CallableModel:
    return CallableModel.of(load(data))


def _imported() -> Any:
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]
        import torch.onnx  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise Unsupported(f"torch is needed to export a module: {error}", "", "pip install torch onnx onnxscript") from None
    return torch


def _is_program(torch: Any, given: Any) -> bool:
    kind = getattr(getattr(torch, "export", None), "ExportedProgram", None)
    return kind is not None and isinstance(given, kind)


class _Inputs:
    """Example inputs as torch takes them, positional and by name; and the names of the outputs that they give."""

    def __init__(self, args: tuple, kwargs: dict[str, Any], outputs: Sequence[str] = ()):
        self.args, self.kwargs, self.outputs = args, kwargs, list(outputs)

    @classmethod
    def of(cls, torch: Any, module: Any, given: Any) -> _Inputs:
        if given is None:
            given = _recorded(torch, module)
        if given is None:
            raise InvalidArgument("a torch module is exported with example inputs", "",
                                  "example_inputs=(tensor, …), of the shapes that the module takes")
        if isinstance(given, Mapping):
            return cls((), {name: _tensor(torch, one) for name, one in given.items()})
        several = isinstance(given, (tuple, list)) and not all(isinstance(one, (int, float)) for one in given)
        return cls(tuple(_tensor(torch, one) for one in (given if several else (given,))), {})

    @property
    def tensors(self) -> list[Any]:
        return [one for one in (*self.args, *self.kwargs.values()) if hasattr(one, "dim")]

    @property
    def constants(self) -> int:
        return sum(map(_is_constant, (*self.args, *self.kwargs.values())))

    @property
    def batch(self) -> Optional[int]:
        """The size of the first dimension that all inputs have in common; None if there is none."""
        sizes = {one.shape[0] if one.dim() else None for one in self.tensors}
        return sizes.pop() if len(sizes) == 1 else None

    def mapped(self, change: Any) -> tuple[tuple, dict[str, Any]]:
        return tuple(map(change, self.args)), {name: change(one) for name, one in self.kwargs.items()}

    def doubled(self, torch: Any) -> _Inputs:
        return _Inputs(*self.mapped(lambda one: torch.cat([one, one]) if hasattr(one, "dim") else one), self.outputs)


def _recorded(torch: Any, module: Any) -> Optional[tuple]:
    """Inputs of the shapes that torch.export left in a GraphModule; None if there are none."""
    nodes = getattr(getattr(module, "graph", None), "nodes", ())
    values = [node.meta.get("val") for node in nodes if node.op == "placeholder"]
    if not values or not all(hasattr(one, "shape") for one in values):
        return None
    return tuple(torch.zeros([int(size) for size in one.shape], dtype=one.dtype) for one in values)


def _is_constant(given: Any) -> bool:
    return given is None or isinstance(given, (bool, int, float, str))


def _tensor(torch: Any, given: Any) -> Any:
    if hasattr(given, "__array_interface__") and not hasattr(given, "dim"):
        return torch.as_tensor(as_numpy(given))
    return given


def _output_names(module: Any, inputs: _Inputs) -> list[str]:
    """The names of the outputs: the same from both exporters."""
    count = _count_tensors(module(*inputs.args, **inputs.kwargs))
    return ["output"] if count == 1 else [f"output_{i}" for i in range(count)]


def _count_tensors(results: Any) -> int:
    if isinstance(results, Mapping):
        return _count_tensors(tuple(results.values()))
    return sum(map(_count_tensors, results)) if isinstance(results, (tuple, list)) else int(hasattr(results, "dim"))


def _check_size(module: Any) -> None:
    total = sum(one.numel() * one.element_size() for one in (*module.parameters(), *module.buffers()))
    if total > _LARGEST:
        raise Unsupported(f"{total / 2**30:.1f} GiB of weights do not fit into one ONNX file", "",
                          "torch.onnx.export(…, external_data=True) into a folder, then the path of the model")


@contextlib.contextmanager
def _in_inference_mode(module: Any) -> Iterator[None]:
    """``eval()`` for the time of the export. An exported GraphModule has one mode and refuses the call."""
    training = [one for one in module.modules() if one.training]
    try:
        module.eval()
    except NotImplementedError:
        training = []
    try:
        yield
    finally:
        for one in training:
            one.training = True


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without torch's remarks about its own exporters."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


# --- torch.export, from torch 2.6 on ---


def _has_dynamo(torch: Any) -> bool:
    automatic = getattr(getattr(getattr(torch, "export", None), "Dim", None), "AUTO", None)
    return automatic is not None and all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript"))


def _by_dynamo(torch: Any, module: Any, inputs: _Inputs) -> Model:
    if inputs.batch is not None:
        # torch takes a dimension of size 1 for fixed.
        wide = inputs.doubled(torch) if inputs.batch == 1 else inputs
        with contextlib.suppress(InvalidArgument):
            return _exported(torch, module, wide.args, kwargs=wide.kwargs, output_names=wide.outputs,
                             dynamic_shapes=_dynamic(torch, module, wide))
    return _exported(torch, module, inputs.args, kwargs=inputs.kwargs, output_names=inputs.outputs)


def _dynamic(torch: Any, module: Any, inputs: _Inputs) -> Any:
    """The dynamic dimensions in the form that torch wants: like the arguments."""
    args, kwargs = inputs.mapped(lambda one: {0: torch.export.Dim.AUTO} if hasattr(one, "dim") else None)
    kinds = [one.kind for one in inspect.signature(module.forward).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return (args,)
    return {**dict(zip(_argument_names(module), args)), **kwargs}


def _argument_names(module: Any) -> list[str]:
    return list(inspect.signature(module.forward).parameters)


def _from_program(torch: Any, program: Any) -> Model:
    if not _has_dynamo(torch):
        raise Unsupported("torch needs other packages to export a program", "", "pip install onnx onnxscript")
    with _quietly():
        return _exported(torch, program, ())


def _exported(torch: Any, module: Any, args: tuple, **options: Any) -> Model:
    # Torch's optimizations would give a node the modules of only one of the nodes that it replaces.
    with _told(module):
        made = torch.onnx.export(module, args, dynamo=True, optimize=False, verbose=False, **options)
        return load(made.model_proto.SerializeToString())


@contextlib.contextmanager
def _told(module: Any) -> Iterator[None]:
    try:
        yield
    except Error:
        raise
    except Exception as error:
        root: BaseException = error
        while root.__cause__ is not None:
            root = root.__cause__
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(root)).strip() or type(root).__name__
        raise InvalidArgument(f"torch cannot export {type(module).__name__}: {text.splitlines()[0]}", "",
                              "the cause of this error has torch's own explanation") from error


# --- TorchScript, for older versions of torch ---


def _by_torchscript(torch: Any, module: Any, inputs: _Inputs) -> Model:
    bound = inspect.signature(module.forward).bind(*inputs.args, **inputs.kwargs).arguments
    names = [name for name, one in bound.items() if hasattr(one, "dim")]
    model = _traced(torch, module, inputs, names, dynamic=inputs.batch is not None)
    if inputs.batch is not None and not _takes(model, {name: torch.cat([bound[name]] * 2) for name in names}):
        model = _traced(torch, module, inputs, names, dynamic=False)
    classes = {path: _class_of(one) for path, one in module.named_modules(remove_duplicate=False)}
    return Model(_anybit.with_modules(model._native, classes))


def _class_of(module: Any) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


def _traced(torch: Any, module: Any, inputs: _Inputs, names: list[str], dynamic: bool) -> Model:
    options: dict[str, Any] = {"output_names": inputs.outputs}
    if len(names) == len(inputs.args) + len(inputs.kwargs) - inputs.constants:  # else torch numbers what is nested
        options["input_names"] = names
        options["dynamic_axes"] = {name: {0: "batch"} for name in names} if dynamic else None
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False
    file = io.BytesIO()
    with _told(module), _without_defaults(module, inputs) as given:
        torch.onnx.export(module, given, file, **options)
        return load(file.getvalue())


@contextlib.contextmanager
def _without_defaults(module: Any, inputs: _Inputs) -> Iterator[tuple]:
    """What is traced, while ``forward`` takes that alone: torch would turn numbers, also defaults, into inputs."""
    everything = [*inputs.args, *inputs.kwargs.values()]
    traced = [k for k, one in enumerate(everything) if not _is_constant(one)]
    forward, own = module.forward, vars(module).get("forward")

    def only_traced(*given: Any) -> Any:
        values = [given[traced.index(k)] if k in traced else one for k, one in enumerate(everything)]
        return forward(*values[:len(inputs.args)], **dict(zip(inputs.kwargs, values[len(inputs.args):])))
    module.forward = only_traced
    try:
        yield tuple(everything[k] for k in traced)
    finally:
        del module.forward
        if own is not None:
            module.forward = own


def _takes(model: Model, inputs: Mapping[str, Any]) -> bool:
    """Whether the model runs with these inputs: tracing turns sizes that Python computes into constants."""
    from ._session import Session

    try:
        Session(model).run({name: value for name, value in inputs.items() if name in {one.name for one in model.inputs}})
    except Error:
        return False
    return True
