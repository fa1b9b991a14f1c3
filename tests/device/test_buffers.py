"""Buffers of a session: one that is too short is an error of the call that sets it."""

import ctypes

import onnx
import pytest
from onnx import TensorProto, helper

OK, INVALID_ARGUMENT = 0, 1
FLOAT = 1


def copy_model(dims):
    """y = x."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "copy", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def session(build, tmp_path):
    """session(dims): (call, error) of a prepared session; call("run") is anybit_run(session)."""
    library, handles = ctypes.CDLL(str(build / "lib" / "libanybit.so")), []
    library.anybit_last_error.restype = ctypes.c_char_p

    def start(dims):
        onnx.save(copy_model(dims), tmp_path / "m.onnx")
        handles.append(ctypes.c_void_p())
        handle = handles[-1]

        def call(name, *words):
            return getattr(library, f"anybit_{name}")(handle, *words)
        assert library.anybit_create_session(ctypes.byref(handle)) == OK
        assert call("load_model_from_file", str(tmp_path / "m.onnx").encode()) == OK
        assert call("prepare") == OK
        return call, lambda: library.anybit_last_error(handle).decode()
    yield start
    for handle in handles:
        library.anybit_close_session(handle)


def buffer(count):
    return (ctypes.c_float * count)(*range(count))


def set_buffer(call, which, memory, length=None):
    return call(f"set_{which}", ctypes.c_size_t(0), FLOAT, memory, ctypes.c_size_t(ctypes.sizeof(memory) if length is None else length))


@pytest.mark.parametrize("which", ["input", "output"])
@pytest.mark.parametrize("length", [0, 4, 23])
def test_a_buffer_shorter_than_a_static_shape_is_an_error_at_the_call(session, which, length):
    call, error = session([2, 3])
    assert set_buffer(call, which, buffer(6), length) == INVALID_ARGUMENT
    assert f"a buffer of {length} bytes is too small for float32[2, 3]" in error() and "24 bytes" in error()


def test_a_rejected_buffer_leaves_the_old_one(session):
    call, _ = session([2, 3])
    x, y = buffer(6), (ctypes.c_float * 6)()
    assert set_buffer(call, "input", x) == set_buffer(call, "output", y) == OK
    assert set_buffer(call, "input", buffer(1)) == set_buffer(call, "output", buffer(1)) == INVALID_ARGUMENT
    assert call("run") == OK and list(y) == list(x)


def test_a_dynamic_input_needs_one_element_of_each_dynamic_dimension_or_the_shape_that_is_set(session):
    call, error = session(["n", 3])
    assert set_buffer(call, "input", buffer(2)) == INVALID_ARGUMENT and "float32[1, 3]" in error()
    assert set_buffer(call, "input", buffer(3)) == set_buffer(call, "input", buffer(9)) == OK
    dims = (ctypes.c_int64 * 2)(4, 3)
    assert call("set_input_shape", ctypes.c_size_t(0), 2, dims) == OK
    assert set_buffer(call, "input", buffer(9)) == INVALID_ARGUMENT and "float32[4, 3]" in error()
    assert set_buffer(call, "input", buffer(12)) == OK


def test_a_dynamic_output_is_checked_by_the_run(session):
    call, error = session(["n", 3])
    x, y = buffer(9), (ctypes.c_float * 9)()
    assert set_buffer(call, "input", x) == set_buffer(call, "output", y, 35) == OK
    assert call("run") == INVALID_ARGUMENT and "too small for float32[3, 3]" in error()
    assert set_buffer(call, "output", y, 36) == OK and call("run") == OK and list(y) == list(x)


def test_a_dynamic_input_may_be_empty(session):
    call, _ = session(["n", 3])
    y = (ctypes.c_float * 3)()
    assert set_buffer(call, "input", buffer(3), 0) == set_buffer(call, "output", y) == OK
    assert call("run") == OK
