"""AMD Quark's own operator library in ONNX Runtime, which `scripts/setup quark` compiles from its Python package."""
import pathlib

import onnxruntime

LIBRARY = pathlib.Path(__file__).resolve().parents[2] / "build" / "quark" / "libcustom_ops.so"


def session(model, optimized=True):
    """`model`: a ModelProto, or the path of a file. Not `optimized`: every node runs as it stands in the file."""
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(LIBRARY))
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = str(model) if isinstance(model, (str, pathlib.Path)) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
