"""AMD Quark's own quantizer on a model, in a Python that has it: `scripts/setup quark-quantizer` makes one.

    python tests/support/quark_quantizer.py MODEL.onnx INPUTS.npz JOBS.json

Each job has "output", a path; "format", the name of an ExtendedQuantFormat; "type", of a quantized type; and "options".
"""
import json
import sys


class Reader:
    def __init__(self, path):
        import numpy as np

        self.batches = iter([dict(np.load(path))])

    def get_next(self):
        return next(self.batches, None)


def main(model, inputs, jobs):
    from onnxruntime.quantization.calibrate import CalibrationMethod
    from quark.onnx import ModelQuantizer, VitisQuantFormat, VitisQuantType
    from quark.onnx.quantization.config.config import Config, QuantizationConfig

    with open(jobs, encoding="utf-8") as file:
        jobs = json.load(file)
    for job in jobs:
        kind = getattr(VitisQuantType, job["type"])
        config = QuantizationConfig(calibrate_method=CalibrationMethod.MinMax, quant_format=getattr(VitisQuantFormat, job["format"]),
                                    activation_type=kind, weight_type=kind, extra_options=job["options"])
        ModelQuantizer(Config(global_quant_config=config)).quantize_model(model, job["output"], Reader(inputs))


if __name__ == "__main__":
    main(*sys.argv[1:])
