"""The measured models: the float model and those quantized by anybit and ONNX Runtime, and sessions that run them."""
import logging
import os
import pathlib
import shutil
import subprocess

import numpy as np
import onnx
import onnxruntime
from onnx import version_converter

from .task import ROOT

OPSET = 17  # per-channel scales need 13; older models are raised first


def session(path, optimized=True):
    """A function from feeds to outputs, by ONNX Runtime.

    Its optimized int8 kernels saturate on CPUs without VNNI: quantized models are measured without optimizations.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = {port.name for port in made.get_inputs()}
    return lambda feeds: made.run(None, {name: value for name, value in feeds.items() if name in names})


def executor(path):
    """The same, by anybit."""
    from support.executing import Executor  # needs the library to be built
    made = Executor(path, threads=2)
    return lambda feeds: made.run({name: value for name, value in feeds.items() if name in made.inputs})


def save_samples(samples, folder):
    """Writes one .npz per sample, with the input names as keys, for anybit's calibration.

    A dimension of 1 is put first: [1, frames, …] is one sample of many frames, [frames, …] could be many samples.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for k, feeds in enumerate(samples):
        np.savez(folder / f"{k:04}.npz", **{name: value[None] for name, value in feeds.items()})
    return folder


def is_quantized(graph):
    """Whether some node, also of a branch, works on quantized values."""
    return any("Quant" in node.op_type or node.op_type.endswith("Integer") or
               any(is_quantized(attribute.g) for attribute in node.attribute if attribute.HasField("g"))
               for node in graph.node)


class NothingQuantized(Exception):
    """The tool wrote a float model."""


class Reader:
    """A calibration data reader for ONNX Runtime."""

    def __init__(self, samples):
        self.samples = iter(samples)

    def get_next(self):
        return next(self.samples, None)


def prepared(model, folder):
    """The model, prepared as in ONNX Runtime's guide: converted to a newer opset, with inferred shapes, optimized."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    logging.disable(logging.WARNING)
    loaded, raised, ready = onnx.load(model), folder / "raised.onnx", folder / "prepared.onnx"
    opset = next(entry.version for entry in loaded.opset_import if entry.domain in ("", "ai.onnx"))
    onnx.save(version_converter.convert_version(loaded, OPSET) if opset < OPSET else loaded, raised)
    quant_pre_process(str(raised), str(ready), skip_symbolic_shape=True)
    return ready


def by_onnxruntime(model, scheme, samples, folder, method="MinMax"):
    """Per-channel symmetric int8 weights and, if static, asymmetric int8 activations, as in anybit's presets."""
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_dynamic, quantize_static

    source, made = prepared(model, folder), folder / f"onnxruntime.{scheme}.onnx"
    if scheme == "dynamic-int8":
        quantize_dynamic(str(source), str(made), per_channel=True, weight_type=QuantType.QInt8,
                         extra_options={"EnableSubgraph": True})
    else:
        quantize_static(str(source), str(made), Reader(samples), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
                        calibrate_method=getattr(CalibrationMethod, method))
    if not is_quantized(onnx.load(made).graph):
        raise NothingQuantized(made)
    return made


def by_anybit(model, scheme, samples, folder):
    program = ROOT / pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")) / "bin" / "anybit"
    made = folder / f"anybit.{scheme}.onnx"
    calibration = [] if scheme.startswith("dynamic") else ["--calib", str(save_samples(samples, folder / "samples"))]
    subprocess.run([str(program), "quantize", str(model), "-o", str(made), "--recipe", scheme, *calibration],
                   check=True, stdout=subprocess.DEVNULL)
    return made
