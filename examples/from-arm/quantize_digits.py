"""Quantizes an ONNX model for Ethos-U with the calls of ExecuTorch's Arm backend; only the import line is changed.

    python examples/from-arm/quantize_digits.py digits.u55.onnx
"""
import sys
from pathlib import Path

import numpy as np

# was: from executorch.backends.arm.ethosu import …; from executorch.backends.arm.quantizer import …
from anybit.compat.ethosu import (EthosUCompileSpec, EthosUQuantizer, get_symmetric_a16w8_quantization_config,
                                  get_symmetric_quantization_config)

digits = Path(__file__).resolve().parents[1] / "digits"
images = (np.load(digits / "calibration_images.npy").astype(np.float32) / 255 - 0.1307) / 0.3081

compile_spec = EthosUCompileSpec("ethos-u55-128", system_config="Ethos_U55_High_End_Embedded", memory_mode="Shared_Sram")
quantizer = EthosUQuantizer(compile_spec)
config = get_symmetric_quantization_config(is_per_channel=True)
quantizer.set_global(config).set_io(config)
quantizer.set_module_name("residual.first", get_symmetric_a16w8_quantization_config())

quantized = quantizer.quantize_with_submodules(digits / "digits.onnx", [(image[None],) for image in images])
print(quantized.report)
quantized.save(sys.argv[1])
