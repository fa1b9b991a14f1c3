"""The executor of the library under test, on numpy arrays.

    outputs = Executor("model.onnx").run({"x": x})
"""
import ctypes
import os
import pathlib

import ml_dtypes
import numpy as np
import onnx

ELEMENT_TYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
    10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64, 15: np.complex128,
    16: ml_dtypes.bfloat16, 17: ml_dtypes.float8_e4m3fn, 18: ml_dtypes.float8_e4m3fnuz, 19: ml_dtypes.float8_e5m2,
    20: ml_dtypes.float8_e5m2fnuz, 21: ml_dtypes.uint4, 22: ml_dtypes.int4, 23: ml_dtypes.float4_e2m1fn,
    24: ml_dtypes.float8_e8m0fnu, 25: ml_dtypes.uint2, 26: ml_dtypes.int2,
}
STRING = 8
NUMBERS = {np.dtype(kind): number for number, kind in ELEMENT_TYPES.items()}
KINDS = ("nothing", "array", "sequence")


def _library():
    build = pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release"))
    library = ctypes.CDLL(str((build / "lib" / "libexecutor_library.so").resolve()))
    pointer = ctypes.c_void_p
    for name in ("executor_load", "executor_parse", "value_array", "value_sequence", "value_nothing", "value_item",
                 "value_data", "value_string", "model_raise", "model_prepare", "model_gradients"):
        getattr(library, name).restype = pointer
    for name in ("executor_error", "executor_input_name", "executor_steps", "operators_with_gradient"):
        getattr(library, name).restype = ctypes.c_char_p
    for name in ("value_dim", "executor_peak_memory", "executor_time"):
        getattr(library, name).restype = ctypes.c_int64
    return library


LIBRARY = _library()


class ExecutorError(Exception):
    """An error of the library."""


def _check(handle):
    if not handle:
        raise ExecutorError(LIBRARY.executor_error().decode())
    return ctypes.c_void_p(handle)


class _Value:
    """A handle that frees itself."""

    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        LIBRARY.value_free(self.handle)


def to_value(data):
    """From a numpy array, a list (sequence) or None."""
    if data is None:
        return _Value(_check(LIBRARY.value_nothing()))
    if isinstance(data, list):
        items = [to_value(item) for item in data]
        handles = (ctypes.c_void_p * len(items))(*[item.handle for item in items])
        element = 0
        if data and not isinstance(data[0], list):
            kind = np.asarray(data[0]).dtype
            element = STRING if kind.kind in "OUS" else NUMBERS[kind]
        return _Value(_check(LIBRARY.value_sequence(element, handles, len(items))))
    array = np.asarray(data)
    dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    if array.dtype.kind in "OUS":
        value = _Value(_check(LIBRARY.value_array(STRING, dims, array.ndim, None)))
        for i, text in enumerate(array.flatten()):
            text = text if isinstance(text, bytes) else str(text).encode()
            LIBRARY.value_set_string(value.handle, ctypes.c_int64(i), text, ctypes.c_size_t(len(text)))
        return value
    array = np.ascontiguousarray(array).reshape(array.shape)
    number = NUMBERS[array.dtype]
    return _Value(_check(LIBRARY.value_array(number, dims, array.ndim, ctypes.c_void_p(array.ctypes.data))))


def from_value(value):
    handle = value.handle
    kind = KINDS[LIBRARY.value_kind(handle)]
    if kind == "nothing":
        return None
    if kind == "sequence":
        return [from_value(_Value(_check(LIBRARY.value_item(handle, i)))) for i in range(LIBRARY.value_length(handle))]
    shape = tuple(LIBRARY.value_dim(handle, axis) for axis in range(LIBRARY.value_rank(handle)))
    number = LIBRARY.value_type(handle)
    count = int(np.prod(shape, dtype=np.int64))
    if number == STRING:
        texts, size = [], ctypes.c_size_t()
        for i in range(count):
            data = LIBRARY.value_string(handle, ctypes.c_int64(i), ctypes.byref(size))
            texts.append(ctypes.string_at(data, size.value).decode())
        return np.array(texts, dtype=object).reshape(shape)
    kind = np.dtype(ELEMENT_TYPES[number])
    if count == 0:
        return np.empty(shape, kind)
    data = ctypes.string_at(LIBRARY.value_data(handle), count * kind.itemsize)
    return np.frombuffer(data, dtype=kind).reshape(shape).copy()


def raise_opset(model, opset=0):
    """The model in another opset; the newest if none is given."""
    data, size = model.SerializeToString(), ctypes.c_size_t()
    raised = LIBRARY.model_raise(data, ctypes.c_size_t(len(data)), ctypes.c_int64(opset), ctypes.byref(size))
    return onnx.load_from_string(ctypes.string_at(_check(raised), size.value))


def prepare(model, only=(), keep=()):
    """The model after all or the named passes, and the changes of each."""
    data, size, told = model.SerializeToString(), ctypes.c_size_t(), ctypes.c_char_p()
    prepared = LIBRARY.model_prepare(data, ctypes.c_size_t(len(data)), "\n".join(only).encode(), "\n".join(keep).encode(),
                                     ctypes.byref(size), ctypes.byref(told))
    result = onnx.load_from_string(ctypes.string_at(_check(prepared), size.value))
    return result, {name: int(number) for name, number in map(str.split, told.value.decode().splitlines())}


def with_gradients(model, loss, wanted, recompute=False):
    """The model with the gradients of the value `loss` with regard to the values `wanted` as further outputs."""
    data, size = model.SerializeToString(), ctypes.c_size_t()
    made = LIBRARY.model_gradients(data, ctypes.c_size_t(len(data)), loss.encode(), "\n".join(wanted).encode(),
                                   int(recompute), ctypes.byref(size))
    return onnx.load_from_string(ctypes.string_at(_check(made), size.value))


def operators_with_gradient():
    """"domain:Name" of each operator that has a gradient rule."""
    return LIBRARY.operators_with_gradient().decode().split()


def recognise(model):
    """The groups in the model's graph: (kind, operators, inputs, output)."""
    data = model.SerializeToString()
    LIBRARY.model_recognise.restype = ctypes.c_char_p
    text = LIBRARY.model_recognise(data, ctypes.c_size_t(len(data)))
    if text is None:
        raise ExecutorError(LIBRARY.executor_error().decode())
    rows = [line.split("|") for line in text.decode().splitlines()]
    return [(kind, nodes.split(), inputs.split(), output) for kind, nodes, inputs, output in rows]


class Executor:
    """A model, prepared. `model`: a path, the bytes of a file, or an onnx.ModelProto."""

    def __init__(self, model, threads=1, max_memory=0, fuse=True):
        limit = ctypes.c_int64(max_memory)
        if isinstance(model, onnx.ModelProto):
            model = model.SerializeToString()
        if isinstance(model, bytes):
            self.outputs = [output.name for output in onnx.load_from_string(model).graph.output]
            handle = LIBRARY.executor_parse(model, ctypes.c_size_t(len(model)), threads, limit, int(fuse))
        else:
            self.outputs = [output.name for output in onnx.load(str(model), load_external_data=False).graph.output]
            handle = LIBRARY.executor_load(str(model).encode(), threads, limit, int(fuse))
        self.handle = _check(handle)
        count = LIBRARY.executor_input_count(self.handle)
        self.inputs = [LIBRARY.executor_input_name(self.handle, i).decode() for i in range(count)]

    def __del__(self):
        if getattr(self, "handle", None):
            LIBRARY.executor_free(self.handle)

    def steps(self):
        """The operators after fusion, "domain:Name" each."""
        return LIBRARY.executor_steps(self.handle).decode().split()

    def run(self, inputs):
        """`inputs`: by name, or in the model's order. The outputs in the model's order."""
        if not isinstance(inputs, dict):
            inputs = dict(zip(self.inputs, inputs))
        values = [to_value(value) for value in inputs.values()]
        names = (ctypes.c_char_p * len(values))(*[name.encode() for name in inputs])
        handles = (ctypes.c_void_p * len(values))(*[value.handle for value in values])
        outputs = (ctypes.c_void_p * len(self.outputs))()
        count = LIBRARY.executor_run(self.handle, names, handles, len(values), outputs, len(self.outputs))
        if count < 0:
            raise ExecutorError(LIBRARY.executor_error().decode())
        return [from_value(_Value(ctypes.c_void_p(outputs[i]))) for i in range(count)]

    def timer(self, inputs):
        """A function that runs once and returns the time in seconds."""
        values = [to_value(value) for value in inputs.values()]
        names = (ctypes.c_char_p * len(values))(*[name.encode() for name in inputs])
        handles = (ctypes.c_void_p * len(values))(*[value.handle for value in values])

        def time(keep=values):
            taken = LIBRARY.executor_time(self.handle, names, handles, len(keep))
            if taken < 0:
                raise ExecutorError(LIBRARY.executor_error().decode())
            return taken * 1e-9

        return time

    def peak_memory(self):
        return LIBRARY.executor_peak_memory(self.handle)
