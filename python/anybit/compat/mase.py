"""MASE's passes. What a script changes is where it imports from:

>>> from anybit.compat.mase import MaseGraph, add_common_metadata_analysis_pass, init_metadata_analysis_pass, quantize_transform_pass
>>> mg = MaseGraph(model=digits)
>>> mg, _ = init_metadata_analysis_pass(mg, {})
>>> mg, _ = add_common_metadata_analysis_pass(mg, {"dummy_in": {"image": images[:1]}, "add_value": False})
>>> mg, _ = quantize_transform_pass(mg, {"by": "type", "default": {"config": {"name": None}}, "linear": {"config": {
...     "name": "integer", "data_in_width": 8, "data_in_frac_width": 4, "weight_width": 8, "weight_frac_width": 6}}})
>>> mg.model(images[:2]).shape
(2, 10)

Models are torch modules, which PyTorch exports with ``dummy_in``, or ONNX models. docs/from-mase.md has the differences.
"""

from __future__ import annotations

import copy
import csv
from collections import Counter
from pathlib import Path
from typing import Any, Mapping, Optional

from .._model import Model, Source, is_module, load
from .._quantizer import quantize
from .._torch import CallableModel
from ..errors import InvalidArgument

__all__ = ["MaseGraph", "add_common_metadata_analysis_pass", "add_software_metadata_analysis_pass", "deepcopy_mase_graph",
           "init_metadata_analysis_pass", "quantize_transform_pass", "report_graph_analysis_pass",
           "report_node_type_analysis_pass", "summarize_quantization_analysis_pass", "verify_common_metadata_analysis_pass",
           "verify_metadata_analysis_pass", "verify_software_metadata_analysis_pass"]

_Args = Optional[Mapping[str, Any]]


class MaseGraph:
    """A model on its way through the passes.

    Parameters
    ----------
    model : a torch module, or a path, bytes, ``onnx.ModelProto`` or ``anybit.Model``.
    cf_args : not needed: values of control flow come from ``dummy_in``.

    ``model`` is the model that was given, and after ``quantize_transform_pass`` the quantized one: an ``anybit.Model``, with
    ``report`` and ``save``, that can be called.
    """

    def __init__(self, model: Source, cf_args: Any = None):
        self.model: Any = model
        self._onnx: Optional[Model] = None if is_module(model) else load(model)
        self._modules = {path.replace(".", "_"): path for path, _ in model.named_modules()} if hasattr(model, "named_modules") else {}

    @property
    def onnx(self) -> Model:
        """The model before quantization, as ONNX."""
        if self._onnx is None:
            raise InvalidArgument("the torch module is not exported yet", "",
                                  'add_common_metadata_analysis_pass(mg, {"dummy_in": {"x": tensor}}) first')
        return self._onnx

    def __repr__(self) -> str:
        return f"MaseGraph of {self.model!r}"


def init_metadata_analysis_pass(graph: MaseGraph, pass_args: _Args = None) -> tuple[MaseGraph, dict]:
    """Does nothing: an ONNX model has its metadata."""
    return _graph(graph), {}


def add_common_metadata_analysis_pass(graph: MaseGraph, pass_args: _Args = None) -> tuple[MaseGraph, dict]:
    """Exports a torch module with ``dummy_in``, its example inputs by the names of arguments. ONNX models need none."""
    dummy = (pass_args or {}).get("dummy_in")
    if is_module(_graph(graph).model):
        graph._onnx = load(graph.model, example_inputs=dummy)
    return graph, {}


def add_software_metadata_analysis_pass(graph: MaseGraph, pass_args: _Args = None) -> tuple[MaseGraph, dict]:
    """Does nothing: statistics come from calibration."""
    return _graph(graph), {}


def quantize_transform_pass(graph: MaseGraph, pass_args: _Args = None) -> tuple[MaseGraph, dict]:
    """Quantizes by MASE's dictionary; ``"profile": "mase"`` in it gives MASE's bits.

    With ``"by": "name"``, names are those of the module, with dots or, as in MASE's graphs, underscores.
    """
    if not pass_args or "by" not in pass_args:
        raise InvalidArgument("the arguments of quantize_transform_pass have no 'by'", "", '{"by": "type", "default": …}')
    recipe = dict(pass_args)
    if recipe["by"] == "name":
        recipe = {_graph(graph)._modules.get(name, name): config for name, config in recipe.items()}
    model = _graph(graph).onnx
    graph.model = CallableModel.of(quantize(model, recipe) if any(map(_quantizes, recipe.values())) else model)
    return graph, {}


def _quantizes(entry: Any) -> bool:
    """Whether an entry of the dictionary is other than a config that leaves its layers in float."""
    config = entry.get("config") if isinstance(entry, Mapping) else None
    return isinstance(entry, Mapping) and not (isinstance(config, Mapping) and config.get("name", "") in (None, "NA"))


def verify_common_metadata_analysis_pass(graph: MaseGraph, pass_args: _Args = None) -> tuple[MaseGraph, dict]:
    """Checks that there is an ONNX model; its operators, types and shapes were checked when it was loaded."""
    _graph(graph).onnx.inspect()
    return graph, {}


verify_metadata_analysis_pass = verify_software_metadata_analysis_pass = verify_common_metadata_analysis_pass


def report_graph_analysis_pass(graph: MaseGraph, pass_args: _Args = None) -> tuple[MaseGraph, dict]:
    """Prints the numbers of operators, or writes them to the file ``file_name``."""
    counts = Counter(node.op for node in _current(graph).nodes)
    _show([("operator", "nodes"), *counts.most_common()], (pass_args or {}).get("file_name"))
    return graph, {}


def report_node_type_analysis_pass(graph: MaseGraph, pass_args: _Args = None) -> tuple[MaseGraph, dict]:
    """Prints the operator of each node."""
    _show([("node", "operator"), *((node.name, node.op) for node in _current(graph).nodes)], None)
    return graph, {}


def summarize_quantization_analysis_pass(graph: MaseGraph, pass_args: _Args = None) -> tuple[MaseGraph, dict]:
    """Prints what each node and each kind of operator became; in the folder ``save_dir`` it also writes both tables.

    ``original_graph`` is not needed: the report of the quantization knows the model before.
    """
    report = getattr(_graph(graph).model, "report", None)
    if report is None:
        raise InvalidArgument("the graph is not quantized", "", "quantize_transform_pass first")
    nodes = [("node", "operator", "outcome", "format", "reason"),
             *((one.name, one.op, one.outcome, one.what, one.reason) for one in report.nodes)]
    total = Counter(one.op for one in report.nodes)
    changed = Counter(one.op for one in report.nodes if one.outcome != "float")
    histogram = [("operator", "total", "changed", "unchanged"),
                 *((op, count, changed[op], count - changed[op]) for op, count in total.most_common())]
    folder = (pass_args or {}).get("save_dir")
    for name, rows in (("quantize_table.csv", nodes), ("quantize_histogram.csv", histogram)):
        _show(rows, None)
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with open(Path(folder, name), "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(rows)
    return graph, {}


def deepcopy_mase_graph(graph: MaseGraph) -> MaseGraph:
    """A copy for later comparison. Models do not change, so only the graph is copied."""
    return copy.copy(_graph(graph))


def _graph(graph: Any) -> MaseGraph:
    if not isinstance(graph, MaseGraph):
        raise InvalidArgument(f"{type(graph).__name__} is not a MaseGraph", "", "MaseGraph(model=…)")
    return graph


def _current(graph: MaseGraph) -> Model:
    return graph.model if isinstance(graph.model, Model) else _graph(graph).onnx


def _show(rows: list, file_name: Optional[str]) -> None:
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    text = "".join("  ".join(f"{str(cell):<{width}}" for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)
    if file_name is None:
        print(text, end="")
    else:
        Path(file_name).write_text(text, encoding="utf-8")
