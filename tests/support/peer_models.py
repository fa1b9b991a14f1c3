"""Real models, and their quantized forms made by ONNX Runtime's own tools or by anybit. The former are generated once and kept in
build/models/quantized."""
import functools
import logging
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import version_converter

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "build" / "models"
QUANTIZED = MODELS / "quantized"
IMAGES = {
    "ch_PP-OCRv4_det_infer": (1, 3, 160, 160),
    "ch_PP-OCRv4_rec_infer": (1, 3, 48, 160),
    "ch_ppocr_mobile_v2.0_cls_infer": (1, 3, 48, 192),
}


@functools.cache
def _digits():
    return np.load(ROOT / "examples" / "digits" / "test_images.npy").reshape(-1, 28, 28) / 255.0


def image(shape, seed):
    """Handwritten digits on white, normalized as in training: outputs for noise are meaningless."""
    rng = np.random.default_rng(seed)
    batch, _, height, width = shape
    paper = np.ones((batch, height, width))
    side = min(height, 48) - 4
    for n in range(batch):
        for top in range(2, height - side, side + 24):
            for left in range(2, width - side, side - 8):
                digit = _digits()[rng.integers(len(_digits()))]
                index = np.arange(side) * 28 // side
                area = paper[n, top:top + side, left:left + side]
                np.minimum(area, 1 - digit[np.ix_(index, index)], out=area)
    pixels = paper[:, None] + 0.02 * rng.standard_normal(shape)
    return ((pixels - 0.5) / 0.5).astype(np.float32)


class _Samples:
    """A calibration data reader of ONNX Runtime."""

    def __init__(self, name, shape, count):
        self.feeds = iter([{name: image(shape, seed)} for seed in range(count)])

    def get_next(self):
        return next(self.feeds, None)


def _make(stem, kind, path):
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    logging.disable(logging.WARNING)
    shape = IMAGES[stem]
    prepared = QUANTIZED / f"{stem}.prepared.onnx"
    if not prepared.exists():
        raised = QUANTIZED / f"{stem}.raised.onnx"
        onnx.save(version_converter.convert_version(onnx.load(MODELS / f"{stem}.onnx"), 17), raised)
        quant_pre_process(str(raised), str(prepared), skip_symbolic_shape=True)
    partial = path.with_suffix(f".{os.getpid()}.part")
    if kind == "dynamic":
        quantize_dynamic(str(prepared), str(partial), weight_type=QuantType.QInt8)
    else:
        name = onnx.load(prepared).graph.input[0].name
        quantize_static(str(prepared), str(partial), _Samples(name, shape, 3), quant_format=QuantFormat.QDQ,
                        per_channel=kind == "channel", activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    partial.rename(path)


def _make_by_anybit(stem, path):
    """Quantizes with the current program."""
    program = ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "bin" / "anybit"
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(3):
            np.save(f"{folder}/{seed}.npy", image(IMAGES[stem], seed))
        subprocess.run([program, "quantize", MODELS / f"{stem}.onnx", "-o", path, "--recipe", "int8", "--calib", folder],
                       check=True, stdout=subprocess.DEVNULL)


@functools.cache
def quantized(stem, kind):
    """`kind`: "tensor", "channel" (static, QDQ), "dynamic", or "anybit", which is static int8 by anybit."""
    QUANTIZED.mkdir(parents=True, exist_ok=True)
    path = QUANTIZED / f"{stem}.{kind}.onnx"
    if kind == "anybit":
        _make_by_anybit(stem, path)
    elif not path.exists():
        _make(stem, kind, path)
    return path


def peer(path, optimized=True, threads=1):
    """An ONNX Runtime session on the same file, or the same bytes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = path if isinstance(path, bytes) else str(path)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
