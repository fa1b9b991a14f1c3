"""The example of AMD Quark's page on microscaling; only the import lines are different.

    python quantize_mx.py digits.onnx digits.mx.onnx
"""
import sys

from anybit.compat.quark import ModelQuantizer, VitisQuantType, VitisQuantFormat
from anybit.compat.quark import CalibrationMethod
from anybit.compat.quark import Config, QuantizationConfig

input_model_path, output_model_path = sys.argv[1:3]
data_reader = None  # block formats need no calibration data

quant_config = QuantizationConfig(calibrate_method=CalibrationMethod.MinMax,
                                  quant_format=VitisQuantFormat.MXFixNeuron,
                                  activation_type=VitisQuantType.QMX,
                                  weight_type=VitisQuantType.QMX,
                                  extra_options={
                                    'MXAttributes': {
                                      'element_dtype': 'int8',
                                      'axis': 1,
                                      'block_size': 8,
                                      'rounding_mode': 2,
                                    },
                                  })

config = Config(global_quant_config=quant_config)

quantizer = ModelQuantizer(config)

quantizer.quantize_model(input_model_path, output_model_path, data_reader)
