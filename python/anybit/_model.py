"""Models: loading, looking at them, saving."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Iterable, Mapping, Optional, Protocol, Sequence, Union, runtime_checkable

from . import _anybit
from ._checks import Count, Path, checked
from ._copies import NeverChanges
from ._html import page, table
from ._text import amount, names, shown, size
from .errors import InvalidArgument

if TYPE_CHECKING:
    from ._report import Report


class Model(NeverChanges):
    """An ONNX model: loaded, verified, and never changed. What works on models makes new ones, and a copy is the model itself.

    Pickled, it is its bytes: the report of a quantized model stays behind.

    >>> model = anybit.load(digits)
    >>> model
    Model digits: 24 nodes, 39.1 k parameters (152.7 KiB), opset 17
      image: float32[batch, 1, 28, 28] -> logits: float32[batch, 10]
    """

    @checked
    def __init__(self, native: Annotated[_anybit.Model, "anybit.load makes models"], report: Any = None, path: Optional[str] = None):
        self._native = native
        #: The file that it was loaded from; None for a model that came from memory, or was made from another.
        self.path = path
        self._facts: Optional[_anybit.Inspection] = None
        #: What quantization did, for a model that came from it; else None.
        self.report: Optional[Report] = report

    @property
    def inputs(self) -> list[_anybit.Inspection.Value]:
        """What goes in: each has a name, a type, and a shape.

        >>> anybit.load(digits).inputs[0].shape
        ('batch', 1, 28, 28)
        """
        return self._inspected().inputs

    @property
    def outputs(self) -> list[_anybit.Inspection.Value]:
        """What comes out."""
        return self._inspected().outputs

    @property
    def nodes(self) -> list[_anybit.Inspection.Node]:
        """The nodes, those of graphs inside nodes included."""
        return self._inspected().nodes

    @property
    def metadata(self) -> dict[str, str]:
        """Text that travels with the model."""
        return self._inspected().metadata

    @property
    def opset(self) -> int:
        """The version of ONNX's operators."""
        return self._inspected().opsets.get("ai.onnx", 0)

    @checked
    def inspect(self, shapes: Mapping[str, Sequence[int]] = {}, dims: Mapping[str, int] = {}) -> _anybit.Inspection:
        """All that there is to know. ``shapes`` fixes inputs, ``dims`` open dimensions by name.

        >>> anybit.load(digits).inspect(dims={"batch": 1}).macs
        4757952
        """
        return _anybit.inspect(self._native, shapes, dims)

    @checked
    def save(self, path: Path, external_data: str = "keep", threshold: Count = 1024) -> None:
        """Writes the model; the file appears whole or not at all.

        ``external_data``: "keep" leaves tensors in the file or beside it as they were, "always" moves all of ``threshold``
        bytes or more out of it, "never" none.

        >>> anybit.quantize(digits, "w8").save(folder / "small.onnx")
        >>> (folder / "small.onnx").stat().st_size < 50_000
        True
        """
        self._native.save(os.fspath(path), external_data, threshold)

    def to_bytes(self) -> bytes:
        """The ONNX file in memory, with all data inside.

        >>> anybit.load(anybit.load(digits).to_bytes()).opset
        17
        """
        return self._native.to_bytes()

    def content_hash(self) -> str:
        """SHA-256 of the content: what ranges belong to."""
        return self._native.content_hash()

    @checked
    def prepare(self, passes: Union[None, str, Iterable[str]] = None, keep: Union[str, Iterable[str]] = ()) -> Model:
        """Made ready for quantization: constants computed, normalizations in the weights, names for all that has none.

        >>> anybit.load(digits).prepare()
        Model digits: 18 nodes, 38.5 k parameters (150.4 KiB), opset 17
          image: float32[batch, 1, 28, 28] -> logits: float32[batch, 10]
        """
        return Model(_anybit.prepare(self._native, None if passes is None else names(passes), names(keep))[0])

    @checked
    def convert_opset(self, opset: Optional[int] = None) -> Model:
        """The same in a newer opset; without a number: the newest.

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


Source = Annotated[Union[str, os.PathLike[str], bytes, bytearray, memoryview, Serializable, Model],
                   "a path, bytes, an onnx.ModelProto, an anybit.Model"]


@checked
def load(source: Source, linked_data: bool = False) -> Model:
    """A model from a path, from bytes, or from an ``onnx.ModelProto``.

    Weights in files beside the model are read when they are used. ``linked_data`` lets these files be links, as in the
    caches of model hubs.

    >>> anybit.load(digits).inputs
    [image: float32[batch, 1, 28, 28]]
    """
    if isinstance(source, Model):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return Model(_anybit.load(path, linked_data), path=path)
    if isinstance(source, type):
        raise InvalidArgument(f"{source.__name__} is a class", "", "an object of it: onnx.load(path)")
    if isinstance(source, memoryview) and not source.c_contiguous:
        source = bytes(source)
    return Model(_anybit.from_bytes(source.SerializeToString() if isinstance(source, Serializable) else source))
