"""anybit.get_library_path(), and loading of the library."""
import ctypes
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from support.ort_library import QUARK, WithLibrary, one_node

from anybit import get_library_path


def test_the_library_stands_beside_libanybit():
    path = Path(get_library_path())
    assert path.is_absolute() and path.name == "libanybit_ort.so" and (path.parent / "libanybit.so").exists()


def test_there_is_no_warning_for_the_cpu():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert get_library_path() == get_library_path("CPU") == get_library_path(device="cpu")


@pytest.mark.parametrize("device", ["CUDA", "ROCM"])
def test_other_devices_get_the_library_for_the_cpu_with_a_warning(device):
    with pytest.warns(UserWarning, match=f"device '{device}'") as caught:
        assert get_library_path(device) == get_library_path()
    assert caught[0].filename == __file__


def test_many_sessions_use_it_and_outlive_their_options():
    x = np.ones((1, 32), np.float32)
    sessions = [WithLibrary(one_node("MXQuantizeDequantize", QUARK)) for _ in range(5)]
    for one in sessions:
        np.testing.assert_array_equal(one.run(x=x)[0], x)
    del sessions
    np.testing.assert_array_equal(WithLibrary(one_node("MXQuantizeDequantize", QUARK)).run(x=x)[0], x)


def test_the_options_serve_several_sessions():
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(get_library_path())
    model = one_node("MXQuantizeDequantize", QUARK).SerializeToString()
    x = np.ones((1, 32), np.float32)
    for _ in range(2):
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], x)


def test_a_process_without_anybit_can_use_it():
    """Only ONNX Runtime, and the path."""
    program = ("import sys, numpy, onnxruntime; options = onnxruntime.SessionOptions(); options.register_custom_ops_library(sys.argv[1]); "
               "session = onnxruntime.InferenceSession(sys.stdin.buffer.read(), options); "
               "print(session.run(None, {'x': numpy.ones((1, 32), numpy.float32)})[0].sum())")
    done = subprocess.run([sys.executable, "-c", program, get_library_path()], capture_output=True,
                          input=one_node("MXQuantizeDequantize", QUARK).SerializeToString())
    assert done.stdout == b"32.0\n", done.stderr.decode()


def test_a_runtime_before_1_17_is_told_what_it_needs():
    """Such a runtime has no functions of version 17. Its first version can make a status."""
    make_status = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
    get_api = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
    said = []

    def create_status(code, message):
        said.append((code, message.decode()))
        return 1

    first_entry = make_status(create_status)
    table = (ctypes.c_void_p * 1)(ctypes.cast(first_entry, ctypes.c_void_p).value)
    old = get_api(lambda version: ctypes.addressof(table) if version == 1 else None)
    base = (ctypes.c_void_p * 2)(ctypes.cast(old, ctypes.c_void_p).value, None)
    register = ctypes.CDLL(get_library_path()).RegisterCustomOps
    register.restype = ctypes.c_void_p
    assert register(None, base) == 1
    assert said == [(9, "anybit: these operators need ONNX Runtime 1.17 or newer")]
