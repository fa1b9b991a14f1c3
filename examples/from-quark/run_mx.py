"""How AMD Quark's page on microscaling runs such a model in ONNX Runtime; only the import lines are different.

    python run_mx.py digits.mx.onnx images.npy
"""
import sys

import numpy as np

import onnxruntime
from anybit.compat.quark import get_library_path

onnx_model_path, images_path = sys.argv[1:3]

if 'ROCMExecutionProvider' in onnxruntime.get_available_providers():
    device = 'ROCM'
    providers = ['ROCMExecutionProvider']
elif 'CUDAExecutionProvider' in onnxruntime.get_available_providers():
    device = 'CUDA'
    providers = ['CUDAExecutionProvider']
else:
    device = 'CPU'
    providers = ['CPUExecutionProvider']

sess_options = onnxruntime.SessionOptions()
sess_options.register_custom_ops_library(get_library_path(device))
session = onnxruntime.InferenceSession(onnx_model_path, sess_options, providers=providers)

[logits] = session.run(None, {session.get_inputs()[0].name: np.load(images_path)})
print(*logits.argmax(axis=1))
