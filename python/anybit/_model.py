"""Models: loading, inspecting, saving."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Callable, Iterable, Mapping, Optional, Protocol, Sequence, Union, runtime_checkable

from . import _anybit
from ._checks import Count, Path, checked
from ._copies import NeverChanges
from ._html import page, table
from ._text import amount, names, shown, size
from .errors import InvalidArgument

if TYPE_CHECKING:
    from ._report import Report


class Model(NeverChanges):
    """A verified, immutable ONNX model. Functions on models return new models; a copy is the model itself.

    Pickling stores the bytes of the model without the report of its quantization.

    >>> model = anybit.load(digits)
    >>> model
    Model digits: 24 nodes, 39.1 k parameters (152.7 KiB), opset 17
      image: float32[batch, 1, 28, 28] -> logits: float32[batch, 10]
    """

    @checked
    def __init__(self, native: Annotated[_anybit.Model, "anybit.load makes models"], report: Any = None, path: Optional[str] = None):
        self._native = native
        #: The path of the file; None for a model from memory, or one derived from another model.
        self.path = path
        self._facts: Optional[_anybit.Inspection] = None
        #: The report of the quantization, for a quantized model; else None.
        self.report: Optional[Report] = report

    @property
    def inputs(self) -> list[_anybit.Inspection.Value]:
        """The inputs, each with name, type and shape.

        >>> anybit.load(digits).inputs[0].shape
        ('batch', 1, 28, 28)
        """
        return self._inspected().inputs

    @property
    def outputs(self) -> list[_anybit.Inspection.Value]:
        """The outputs, each with name, type and shape."""
        return self._inspected().outputs

    @property
    def nodes(self) -> list[_anybit.Inspection.Node]:
        """The nodes, including those of subgraphs."""
        return self._inspected().nodes

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata properties of the model."""
        return self._inspected().metadata

    @property
    def opset(self) -> int:
        """The opset version of the default domain."""
        return self._inspected().opsets.get("ai.onnx", 0)

    @checked
    def inspect(self, shapes: Mapping[str, Sequence[int]] = {}, dims: Mapping[str, int] = {}) -> _anybit.Inspection:
        """Describes the model: parameters, multiply-accumulates, operators, quantization.

        ``shapes`` fixes the shapes of inputs, ``dims`` the sizes of symbolic dimensions.

        >>> anybit.load(digits).inspect(dims={"batch": 1}).macs
        4757952
        """
        return _anybit.inspect(self._native, shapes, dims)

    @checked
    def save(self, path: Path, external_data: str = "keep", threshold: Count = 1024) -> None:
        """Writes the model atomically.

        Parameters
        ----------
        path : the file to write.
        external_data : "keep" leaves tensors inside or outside of the file as they are, "always" stores all tensors of
            ``threshold`` bytes or more as external data, "never" stores none.
        threshold : bytes.

        >>> anybit.quantize(digits, "w8").save(folder / "small.onnx")
        >>> (folder / "small.onnx").stat().st_size < 50_000
        True
        """
        self._native.save(os.fspath(path), external_data, threshold)

    def to_bytes(self) -> bytes:
        """The serialized model, with all data inside.

        >>> anybit.load(anybit.load(digits).to_bytes()).opset
        17
        """
        return self._native.to_bytes()

    def content_hash(self) -> str:
        """The SHA-256 of the content, which identifies the model of a calibration."""
        return self._native.content_hash()

    @checked
    def prepare(self, passes: Union[None, str, Iterable[str]] = None, keep: Union[str, Iterable[str]] = ()) -> Model:
        """Prepares the model for quantization: folds constants and normalizations, and names unnamed nodes.

        >>> anybit.load(digits).prepare()
        Model digits: 18 nodes, 38.5 k parameters (150.4 KiB), opset 17
          image: float32[batch, 1, 28, 28] -> logits: float32[batch, 10]
        """
        return Model(_anybit.prepare(self._native, None if passes is None else names(passes), names(keep))[0])

    @checked
    def convert_opset(self, opset: Optional[int] = None) -> Model:
        """Converts the model to a newer opset; None for the newest.

        >>> anybit.load(digits).convert_opset(21).opset
        21
        """
        return Model(_anybit.convert_opset(self._native, opset))

    def _inspected(self) -> _anybit.Inspection:
        if self._facts is None:
            self._facts = _anybit.inspect(self._native, {}, {})
        return self._facts

    def __reduce__(self) -> tuple:
        return load, (self.to_bytes(),)

    def __repr__(self) -> str:
        facts = self._inspected()
        ends = [", ".join(map(repr, side)) for side in (facts.inputs, facts.outputs)]
        return (f"Model {shown(facts.graph_name)}: {facts.node_count} nodes, {amount(facts.parameter_elements)} parameters "
                f"({size(facts.parameter_bytes)}), opset {self.opset}\n  {ends[0]} -> {ends[1]}")

    def _repr_html_(self) -> str:
        facts = self._inspected()
        rows = [(one.name, one.nodes, amount(one.parameters), size(one.parameter_bytes)) for one in facts.operators]
        about = f"{facts.node_count} nodes, {amount(facts.parameter_elements)} parameters ({size(facts.parameter_bytes)}), opset {self.opset}"
        return page(facts.graph_name, about, table(("operator", "nodes", "parameters", "bytes"), rows))


@runtime_checkable
class Serializable(Protocol):
    """onnx.ModelProto, without importing onnx."""

    def SerializeToString(self) -> bytes: ...


@runtime_checkable
class Module(Protocol):
    """torch.nn.Module, without importing torch."""

    forward: Callable[..., Any]
    named_modules: Callable[..., Any]


@runtime_checkable
class Program(Protocol):
    """torch.export.ExportedProgram, without importing torch."""

    graph_module: Any
    graph_signature: Any


Source = Annotated[Union[str, os.PathLike[str], bytes, bytearray, memoryview, Serializable, Model, Module, Program],
                   "a path, bytes, an onnx.ModelProto, an anybit.Model, a torch module"]


def is_module(given: Any) -> bool:
    """Whether it is a torch module (also a GraphModule) or an exported program; torch is not imported."""
    return isinstance(given, (Module, Program)) and not isinstance(given, type)


@checked
def load(source: Source, linked_data: bool = False, *, example_inputs: Any = None) -> Model:
    """Loads and verifies a model.

    Parameters
    ----------
    source : path, bytes, ``onnx.ModelProto``, ``anybit.Model``, or a torch module. External data is mapped and read on
        demand.
    linked_data : whether external data may be symbolic or hard links, as in the caches of model hubs.
    example_inputs : what a torch module is exported with: a tensor, a tuple of them, or a dict by argument.

    Raises
    ------
    NotFound, Malformed, InvalidModel, LimitExceeded, UnsafePath : the file cannot be used.

    >>> anybit.load(digits).inputs
    [image: float32[batch, 1, 28, 28]]
    """
    if isinstance(source, Model):
        return source
    if is_module(source):
        from ._torch import export

        return export(source, example_inputs)
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return Model(_anybit.load(path, linked_data), path=path)
    if isinstance(source, type):
        raise InvalidArgument(f"{source.__name__} is a class", "", "an instance of it: onnx.load(path)")
    if isinstance(source, memoryview) and not source.c_contiguous:
        source = bytes(source)
    return Model(_anybit.from_bytes(source.SerializeToString() if isinstance(source, Serializable) else source))
