"""Networks of neurons with an encoder and sums, as models, and Verilog of them that runs in a simulator."""
import os
import pathlib
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from support.neurons import Layer, model_of

PROGRAM = pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")).resolve() / "bin" / "anybit"


def thermometer(inputs, thresholds):
    """Bits that say whether an element of 8 bits is above each threshold: [element 0 above t0, above t1, …, element 1 …]."""
    thresholds = np.broadcast_to(np.asarray(thresholds), (inputs, np.shape(thresholds)[-1]))
    entries = (np.arange(256) > thresholds.reshape(-1, 1)).astype(np.int64)
    connections = np.repeat(np.arange(inputs, dtype=np.int32), thresholds.shape[-1]).reshape(-1, 1, 1)
    return Layer(connections, entries, input_bits=8)


def counted_model(layers, inputs, classes, scale=0.25):
    """float32 in 0 … 1 -> bytes -> layers -> for each class, the sum of its part of the last layer, times a scale."""
    last = f"h{len(layers)}"
    before = [helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["h0"])]
    after = [helper.make_node("Reshape", [last, "dims"], ["parts"]), helper.make_node("Cast", ["parts"], ["wide"], to=TensorProto.INT32),
             helper.make_node("ReduceSum", ["wide", "axes"], ["sums"], keepdims=0),
             helper.make_node("Cast", ["sums"], ["reals"], to=TensorProto.FLOAT), helper.make_node("Mul", ["reals", "scale"], ["y"])]
    more = [numpy_helper.from_array(np.asarray(value), name) for name, value in {
        "xs": np.float32(1 / 255), "xz": np.uint8(0), "dims": np.array([-1, classes, layers[-1].neurons // classes]),
        "axes": np.array([-1]), "scale": np.float32(scale)}.items()]
    return model_of(layers, ["N", inputs], before=before, after=after, more=more,
                    inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", inputs])],
                    outputs=[helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", classes])])


def write_verilog(model, folder, shape=None, stem="net", **settings):
    """Generates stem.v and its test bench in the folder; the program's result."""
    folder = pathlib.Path(folder)
    path = folder / f"{stem}.onnx"
    if not isinstance(model, (str, pathlib.Path)):
        onnx.save(model, path)
        model = path
    command = [str(PROGRAM), "codegen", str(model), "--target", "verilog-gen", "-o", str(folder / f"{stem}.v")]
    command += [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    if shape:
        command += ["--shape", shape]
    return subprocess.run(command, capture_output=True, text=True)


def simulate(folder, name="net"):
    """Compiles and runs the test bench in Icarus Verilog; its output."""
    built = subprocess.run(["iverilog", "-g2005", "-Wall", "-Wno-timescale", "-o", f"{name}.vvp", f"{name}.v", f"{name}_tb.v"], cwd=folder,
                           capture_output=True, text=True)
    assert built.returncode == 0 and not built.stderr, built.stderr
    return subprocess.run(["vvp", "-n", f"{name}.vvp"], cwd=folder, capture_output=True, text=True).stdout
