"""Models whose only node is a function of ai.anybit: results of ONNX Runtime, and of the library.

    model, expected = decode_model("mxfp4_e2m1 axis=0", values)
    assert same_bits(Peer(model).run(), expected)
"""
import ctypes
import os
import pathlib

import numpy as np
import onnx
import onnxruntime


def _library():
    build = pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release"))
    library = ctypes.CDLL(str((build / "lib" / "libportable_library.so").resolve()))
    library.portable_error.restype = library.portable_formats.restype = ctypes.c_char_p
    library.portable_quantize_model.restype = library.portable_decode_model.restype = ctypes.c_void_p
    library.portable_neurons_model.restype = ctypes.c_void_p
    return library


LIBRARY = _library()


class FunctionError(Exception):
    """The error of the library."""


def _dims(shape):
    return (ctypes.c_int64 * max(1, len(shape)))(*shape), ctypes.c_int(len(shape))


def _address(array):
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


def _bytes(address, length):
    if not address:
        raise FunctionError(LIBRARY.portable_error().decode())
    return ctypes.string_at(address, length.value)


def quantize_model(use, opset=0, shape=None):
    """y = QuantizeDequantize(x) in the function's own opset, or a later one; for an x of any shape, or of this one."""
    length = ctypes.c_size_t()
    dims, rank = _dims(shape or ())
    made = LIBRARY.portable_quantize_model(use.encode(), dims, rank if shape else ctypes.c_int(-1), ctypes.c_int64(opset),
                                           ctypes.byref(length))
    return _bytes(made, length)


def neuron_function(fan_in, input_bits, output_bits, signed):
    """The function of LookUpNeurons, an onnx.FunctionProto."""
    length = ctypes.c_size_t()
    text = f"fan_in={fan_in} input_bits={input_bits} output_bits={output_bits} signed={int(signed)}"
    made = LIBRARY.portable_neurons_model(text.encode(), ctypes.byref(length))
    return onnx.load_from_string(_bytes(made, length)).functions[0]


def quantize(use, values):
    """float32 values, quantized by the library."""
    values = np.array(values, np.float32, order="C")
    out = np.empty_like(values)
    if LIBRARY.portable_quantize(use.encode(), *_dims(values.shape), _address(values), _address(out)):
        raise FunctionError(LIBRARY.portable_error().decode())
    return out


def decode_model(use, values, dims=None, codes=None, opset=0):
    """y = Decode(packed values), and the values that the library decodes. `codes`: packed bytes to use instead."""
    values = np.array(values, np.float32, order="C")
    dims = values.shape if dims is None else dims
    out = np.empty_like(values)
    length = ctypes.c_size_t()
    made = LIBRARY.portable_decode_model(use.encode(), *_dims(values.shape), *_dims(dims), _address(values),
                                         _address(codes), ctypes.c_int64(opset), _address(out), ctypes.byref(length))
    return _bytes(made, length), out.reshape(dims)


def formats():
    """(name, family, granularity) of every format."""
    return [tuple(line.split()) for line in LIBRARY.portable_formats().decode().splitlines()]


class Peer:
    """A model in stock ONNX Runtime."""

    def __init__(self, model):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, x=None):
        return self.session.run(None, {} if x is None else {"x": x})[0]


def same_bits(a, b):
    """Bit for bit; all NaNs are equal."""
    assert a.dtype == b.dtype == np.float32
    both_nan = np.isnan(a) & np.isnan(b)
    return a.shape == b.shape and bool(np.all((a.view(np.uint32) == b.view(np.uint32)) | both_nan))


def differences(x, given, expected):
    """Some values where the two differ, for a message."""
    if given.shape != expected.shape:
        return f"shape {given.shape}, not {expected.shape}"
    wrong = np.argwhere(~((given.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(given) & np.isnan(expected))))
    lines = [f"{tuple(at)}: {x[tuple(at)]!r} became {given[tuple(at)]!r}, not {expected[tuple(at)]!r}" for at in wrong[:5]]
    return f"{len(wrong)} of {x.size} differ\n" + "\n".join(lines)
