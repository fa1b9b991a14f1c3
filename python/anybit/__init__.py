"""anybit quantizes neural networks: an ONNX model in, a smaller and faster one out, in any number format.

>>> model = anybit.load(digits)
>>> int8 = anybit.quantize(model, "int8", calibration=images[:50])
>>> anybit.compare(model, int8, images, labels=labels).top1 > 0.98
True
"""

from ._anybit import Effect, Generator, Inspection, LayerSensitivity, OutputPart, PartVerdict, Port, SweepRow, TensorRange, Verdict
from ._accuracy_control import quantize_with_accuracy_control
from ._calibrate import Ranges, calibrate, collectors, observers
from ._codegen import codegen, generators
from ._compare import Comparison, Difference, compare
from ._config import (QuantizationConfig, get_symmetric_a16w8_quantization_config, get_symmetric_quantization_config)
from ._formats import Encoded, Format, Packed, formats
from ._model import Model, load
from ._onnxruntime import get_library_path
from ._quantizer import Preset, Quantizer, Refinement, Target, presets, quantize, refinements, targets
from ._report import Report
from ._sensitivity import Sensitivity, sensitivity
from ._session import NodeTime, Session
from ._sweep import Sweep, sweep
from ._version import __version__, build_facts
from .errors import (Cancelled, DataLost, Error, InvalidArgument, InvalidData, InvalidModel, InvalidState, Io,
                     LimitExceeded, Malformed, NotFound, OutOfMemory, UnsafePath, Unsupported)

__all__ = [
    "Cancelled", "Comparison", "DataLost", "Difference", "Effect", "Encoded", "Error", "Format", "Generator", "Inspection",
    "InvalidArgument", "InvalidData", "InvalidModel", "InvalidState", "Io", "LayerSensitivity", "LimitExceeded", "Malformed", "Model",
    "NodeTime", "NotFound", "OutOfMemory", "OutputPart", "Packed", "PartVerdict", "Port", "Preset", "QuantizationConfig", "Quantizer", "Ranges",
    "Refinement", "Report", "Sensitivity", "Session", "Sweep", "SweepRow", "Target", "TensorRange", "UnsafePath", "Unsupported", "Verdict", "__version__", "build_facts", "calibrate",
    "codegen", "collectors", "compare", "formats", "generators", "get_library_path", "get_symmetric_a16w8_quantization_config",
    "get_symmetric_quantization_config", "load", "observers", "presets", "quantize", "quantize_with_accuracy_control", "refinements", "sensitivity", "sweep", "targets",
]
