"""Quantizes the digits model as a script for ONNX Runtime does; only its import line is changed.

    python examples/from-onnxruntime/quantize_digits.py FOLDER
"""
import sys
from pathlib import Path

import numpy as np

# was: from onnxruntime.quantization import …
from anybit.compat.onnxruntime import (CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_dynamic,
                                       quantize_static)

digits = Path(__file__).resolve().parents[1] / "digits"
folder = Path(sys.argv[1])


class Images(CalibrationDataReader):
    def __init__(self, path):
        pixels = np.load(path).astype(np.float32)
        self.samples = iter((pixels / 255 - 0.1307) / 0.3081)

    def get_next(self):
        image = next(self.samples, None)
        return None if image is None else {"image": image[None]}


quantize_static(
    digits / "digits.onnx",
    folder / "static.onnx",
    Images(digits / "calibration_images.npy"),
    quant_format=QuantFormat.QDQ,
    per_channel=True,
    activation_type=QuantType.QUInt8,
    weight_type=QuantType.QInt8,
    nodes_to_exclude=["head/linear"],
    calibrate_method=CalibrationMethod.MinMax,
    extra_options={
        "ActivationSymmetric": False,
        "WeightSymmetric": True,
        "TensorQuantOverrides": {"image": [{"quant_type": QuantType.QUInt8, "rmin": np.float32(-0.4242), "rmax": np.float32(2.8215)}]},
    },
)
quantize_dynamic(digits / "digits.onnx", folder / "dynamic.onnx", weight_type=QuantType.QUInt8)
