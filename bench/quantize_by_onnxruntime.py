"""ONNX Runtime's quantize_static in a separate process, so that its memory can be measured; prints the seconds that it takes.

    python bench/quantize_by_onnxruntime.py MODEL OUT SAMPLES METHOD MAX_GB
"""
import logging
import pathlib
import resource
import sys
import time

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static


class Reader:
    """One sample in memory at a time."""

    def __init__(self, folder, name):
        self.paths, self.name = iter(sorted(folder.iterdir())), name

    def get_next(self):
        path = next(self.paths, None)
        return None if path is None else {self.name: np.load(path)}


def main():
    model, made, samples, method, max_gb = sys.argv[1:]
    logging.disable(logging.WARNING)
    limit = int(float(max_gb) * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    reader = Reader(pathlib.Path(samples), onnx.load(model).graph.input[0].name)
    begin = time.perf_counter()
    quantize_static(model, made, reader, quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
                    calibrate_method=getattr(CalibrationMethod, method))
    print(time.perf_counter() - begin)


if __name__ == "__main__":
    main()
