"""The rows of bench_runtime.py: real models, single kernels, and the small nets of cliffs.py. A row is (name, kind, path, feeds).

int8 forms of real models are anybit's own: Q/DQ pairs that every runtime reads. Those of single kernels are made here.
"""
import functools
import math
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[1]

import cliffs
from bench_real import TYPES, value
from fetch_real_models import models
from support.peer_models import MODELS, image, quantized

MADE = ROOT / "build" / "bench"
PROGRAM = ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "bin/anybit"
IMAGES = {
    "ch_PP-OCRv4_det_infer": (1, 3, 320, 320),
    "ch_PP-OCRv4_rec_infer": (1, 3, 48, 320),
    "ch_ppocr_mobile_v2.0_cls_infer": (1, 3, 48, 192),
}
KERNELS = {  # name: (input, weight, attributes of Conv); a MatMul has no attributes
    "conv 3x3 64-64 at 56": ((1, 64, 56, 56), (64, 64, 3, 3), dict(pads=[1] * 4)),
    "conv 1x1 256-1024 at 14": ((1, 256, 14, 14), (1024, 256, 1, 1), {}),
    "depthwise 3x3 144 at 56": ((1, 144, 56, 56), (144, 1, 3, 3), dict(pads=[1] * 4, group=144)),
    "stem 7x7/2 3-64 at 224": ((1, 3, 224, 224), (64, 3, 7, 7), dict(pads=[3] * 4, strides=[2, 2])),
    "matmul 128x768x3072": ((128, 768), (768, 3072), None),
    "matvec 4096": ((1, 4096), (4096, 4096), None),
}
UNUSUAL = {  # by the start of their file's name: no int8 form, because nothing in them is quantized, or they are quantized already
    "750d00f0", "919c3bc8", "7d0f04ed", "5b4a84c5", "ab730292", "4fcc0d98", "2bb02631", "1e0b195a",
}


def kernel_model(x_shape, w_shape, attributes, int8):
    """One Conv or MatMul; in int8 between Q and DQ nodes, as quantization tools write it."""
    rng = np.random.default_rng(0)
    weight = rng.standard_normal(w_shape).astype(np.float32) / math.sqrt(np.prod(w_shape[1:]))
    op, inputs = ("MatMul", ["a", "w"]) if attributes is None else ("Conv", ["a", "w"])
    nodes, constants = [], {}
    if int8:
        scale = np.float32(np.abs(weight).max() / 127)
        constants = {"s": np.float32(0.03), "z": np.uint8(128), "ws": scale, "wz": np.int8(0),
                     "wq": np.clip(np.round(weight / scale), -127, 127).astype(np.int8)}
        nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
                 helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["a"]),
                 helper.make_node("DequantizeLinear", ["wq", "ws", "wz"], ["w"])]
    else:
        constants = {"w": weight}
        inputs[0] = "x"
    nodes.append(helper.make_node(op, inputs, ["b" if int8 else "y"], **(attributes or {})))
    if int8:
        nodes += [helper.make_node("QuantizeLinear", ["b", "s", "z"], ["yq"]),
                  helper.make_node("DequantizeLinear", ["yq", "s", "z"], ["y"])]
    graph = helper.make_graph(nodes, "kernel", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def saved(model, name, kind):
    MADE.mkdir(parents=True, exist_ok=True)
    path = MADE / f"{name.replace(' ', '_').replace('/', '_')}.{kind}.onnx"
    onnx.save(model, path)
    return path


def int8_form(path, samples):
    """The model quantized to int8 by anybit, made once per file; None if nothing in it can be quantized."""
    MADE.mkdir(parents=True, exist_ok=True)
    result = MADE / f"{path.stem}.int8.onnx"
    if result.exists():
        return result
    with tempfile.TemporaryDirectory() as folder:
        for i, feeds in enumerate(samples):
            np.savez(f"{folder}/{i}.npz", **feeds)
        done = subprocess.run([PROGRAM, "quantize", path, "-o", result, "-r", "int8", "--calib", folder], capture_output=True)
    return result if done.returncode == 0 else None


def kernels(wanted):
    for name, (x_shape, w_shape, attributes) in KERNELS.items():
        x = np.random.default_rng(1).standard_normal(x_shape).astype(np.float32)
        for kind in ("float32", "int8"):
            if wanted(name, kind):
                yield name, kind, saved(kernel_model(x_shape, w_shape, attributes, kind == "int8"), name, kind), {"x": x}


def cliff_rows(wanted):
    for name, make in cliffs.CLIFFS.items():
        if wanted(name, "float32") or wanted(name, "int8"):
            model, feeds = make()
            path = saved(model, name, "float32")
            yield name, "float32", path, feeds
            if name in cliffs.ALSO_INT8:
                yield name, "int8", int8_form(path, [feeds]), feeds


def images(wanted):
    for stem, shape in IMAGES.items():
        if not wanted(stem, "float32") and not wanted(stem, "int8"):
            continue
        for kind, path in (("float32", MODELS / f"{stem}.onnx"), ("int8", quantized(stem, "channel"))):
            name = onnx.load(path).graph.input[0].name
            yield stem, kind, path, {name: image(shape, 5)}


def speech(wanted):
    for stem in ("silero_vad_v5", "silero_vad_v6"):
        if not wanted(stem, "float32"):
            continue
        feeds = {"input": image((1, 1, 1, 512), 5).reshape(1, 512), "sr": np.array(16000, np.int64)}
        path = MODELS / f"{stem}.onnx"
        for port in onnx.load(path).graph.input:
            if port.name not in feeds:
                feeds[port.name] = np.zeros([d.dim_value or 1 for d in port.type.tensor_type.shape.dim], np.float32)
        yield stem, "float32", path, feeds


def dynamic_form(path):
    """The model by ONNX Runtime's own dynamic quantization."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    MADE.mkdir(parents=True, exist_ok=True)
    result = MADE / f"{path.stem}.dynamic.onnx"
    if not result.exists():
        quantize_dynamic(str(path), str(result), weight_type=QuantType.QInt8)
    return result


def encoders(wanted):
    path, name = MODELS / "large" / "all-MiniLM-L6-v2.onnx", "all-MiniLM-L6-v2, 128 tokens"
    tokens = np.random.default_rng(5).integers(1000, 20000, (1, 128))
    feeds = {"input_ids": tokens, "token_type_ids": np.zeros_like(tokens), "attention_mask": np.ones_like(tokens)}
    if path.exists() and wanted(name, "float32"):
        yield name, "float32", path, feeds
    if path.exists() and wanted(name, "dynamic"):
        yield name, "dynamic", dynamic_form(path), feeds


@functools.cache
def types_of(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return {one.name: TYPES[one.type] for one in onnxruntime.InferenceSession(path, options).get_inputs()}


def real(wanted):
    for model in models():
        start, name = model.path.name[:8], f"{model.package.split(':')[1]} {model.file.rsplit('/', 1)[-1]}"
        if not model.path.exists() or not (wanted(name, "float32") or wanted(name, "int8")):
            continue
        kinds = types_of(model.path)
        feeds = [dict(value(text, kinds[text.rsplit(":", 2)[0]], seed) for text in model.inputs) for seed in range(4)]
        yield name, "float32", model.path, feeds[0]
        path = int8_form(model.path, feeds) if start not in UNUSUAL and wanted(name, "int8") else None
        if path:
            yield name, "int8", path, feeds[0]


GROUPS = {"kernels": kernels, "cliffs": cliff_rows, "images": images, "speech": speech, "encoders": encoders, "real": real}


def rows(groups, wanted):
    for group in groups:
        for row in GROUPS[group](wanted):
            if wanted(row[0], row[1]):
                yield row
