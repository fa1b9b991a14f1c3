"""onert's C API: what calls do with right and wrong arguments."""

import ctypes

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from support.nnfw import Session

OK, ERROR, NULL, INVALID_STATE, INSUFFICIENT = 0, 1, 2, 3, 5
FLOAT32, INT32, QUANT8, UINT8, QUANT8_SIGNED = 0, 1, 2, 4, 6
DUMP_MINMAX, TRACE, PROFILE = 0, 1, 2
U8_ASYM, WO_I8_SYM = 1, 3
INTERNAL_OUTPUTS = 1


def images(count=1, seed=7):
    return np.random.default_rng(seed).standard_normal((count, 1, 28, 28)).astype(np.float32)


def by_onnx_runtime(path, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options).run(None, feed)[0]


@pytest.fixture
def prepared(create, model):
    session = create()
    assert session.load_model_from_file(model) == OK and session.prepare() == OK
    return session


def saved(path, dims, type=TensorProto.FLOAT):
    """y = x, of this shape."""
    x, y = (helper.make_tensor_value_info(name, type, dims) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "copy", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_run_gives_the_numbers_of_onnx_runtime(prepared, model):
    x, y = images(), np.zeros((1, 10), np.float32)
    assert prepared.bind("input", x) == prepared.bind("output", y) == prepared.run() == OK
    np.testing.assert_allclose(y, by_onnx_runtime(model, {"image": x}), rtol=1e-4, atol=1e-4)
    z = np.zeros((1, 10), np.float32)
    assert prepared.bind("output", z) == prepared.run_async() == getattr(prepared, "await")() == OK
    np.testing.assert_array_equal(y, z)


def test_an_asynchronous_run_that_fails_says_so_when_it_is_awaited(prepared):
    assert prepared.run_async() == OK
    assert getattr(prepared, "await")() == ERROR and "it has no buffer" in prepared.error() and "nnfw_set_input" in prepared.error()


def test_inputs_and_outputs_are_described(prepared):
    number = ctypes.c_uint32()
    assert prepared.input_size(ctypes.byref(number)) == OK and number.value == 1
    assert prepared.output_size(ctypes.byref(number)) == OK and number.value == 1
    status, info = prepared.info("input")
    assert (status, info.dtype, info.shape()) == (OK, FLOAT32, [-1, 1, 28, 28])
    assert prepared.info("output")[1].shape()[1:] == [10]
    assert prepared.info("input", 1)[0] == ERROR and "there is no input 1: the model has 1" in prepared.error()
    assert prepared.input_tensorinfo(0, None) == NULL
    for which, name in (("input", "image"), ("output", "logits")):
        call = getattr(prepared, f"{which}_tensorindex")
        assert call(name, ctypes.byref(number)) == OK and number.value == 0
        assert call("nothing", ctypes.byref(number)) == ERROR and "'nothing'" in prepared.error()
        assert call(None, ctypes.byref(number)) == call(name, None) == NULL


@pytest.mark.parametrize("type", [TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.UINT32])
def test_a_type_that_onert_does_not_have_is_an_error(create, tmp_path, type):
    session = create()
    assert session.load_model_from_file(saved(tmp_path / "m.onnx", [2], type)) == OK
    assert session.info("input")[0] == session.info("output")[0] == ERROR and "cannot hold" in session.error()


def test_seven_dimensions_are_an_error(create, tmp_path):
    session = create()
    assert session.load_model_from_file(saved(tmp_path / "m.onnx", [1] * 7)) == OK
    assert session.info("input")[0] == ERROR


@pytest.mark.parametrize("which, short", [("input", ERROR), ("output", INSUFFICIENT)])
def test_a_short_buffer_is_an_error_and_a_longer_one_is_not(create, tmp_path, which, short):
    session = create()
    assert session.load_model_from_file(saved(tmp_path / "m.onnx", [2, 3])) == session.prepare() == OK
    assert session.bind(which, np.zeros(5, np.float32)) == short and "20 bytes" in session.error()
    assert session.bind(which, np.zeros(6, np.float32)) == session.bind(which, np.zeros(7, np.float32)) == OK
    assert session.bind(which, np.zeros(6, np.float32), dtype=INT32) == ERROR
    assert session.bind(which, np.zeros(6, np.float32), index=1) == ERROR
    assert getattr(session, f"set_{which}")(0, FLOAT32, None, ctypes.c_size_t(4)) == ERROR and "NULL" in session.error()
    assert getattr(session, f"set_{which}")(0, FLOAT32, None, ctypes.c_size_t(0)) == OK


def test_the_shape_of_an_input_may_change_between_runs(create, tmp_path):
    session = create()
    assert session.load_model_from_file(saved(tmp_path / "m.onnx", ["n", 3])) == session.prepare() == OK
    x, y = np.arange(12, dtype=np.float32), np.zeros(12, np.float32)
    _, info = session.info("input")
    for rows in (2, 4, 1):
        info.dims[0] = rows
        assert session.set_input_tensorinfo(0, ctypes.byref(info)) == OK
        assert session.info("input")[1].shape() == [rows, 3]
        assert session.bind("input", x) == session.bind("output", y) == session.run() == OK
        assert session.info("output")[1].shape() == [rows, 3]
        np.testing.assert_array_equal(y[:3 * rows], x[:3 * rows])
    info.dims[0] = 4  # with the buffers that are set
    assert session.set_input_tensorinfo(0, ctypes.byref(info)) == session.run() == OK
    np.testing.assert_array_equal(y, x)
    assert session.bind("output", y, length=47) == OK  # dynamic: known only after the run
    assert session.run() == INSUFFICIENT and "48 bytes" in session.error()


@pytest.mark.parametrize("rank, dims", [(7, [1] * 6), (-1, [1]), (2, [0, 3]), (2, [-1, 3]), (3, [1, 1, 3]), (2, [1, 4])])
def test_an_impossible_shape_is_an_error(create, tmp_path, rank, dims):
    session = create()
    assert session.load_model_from_file(saved(tmp_path / "m.onnx", ["n", 3])) == OK
    _, info = session.info("input")
    info.rank = rank
    info.dims[:len(dims)] = dims
    assert session.set_input_tensorinfo(0, ctypes.byref(info)) == ERROR and session.error()
    assert session.set_input_tensorinfo(0, None) == NULL


def test_buffers_of_the_quantized_type_give_the_same_as_float_buffers(prepared, model):
    x, y = images(), np.zeros((1, 10), np.float32)
    assert prepared.bind("input", x) == prepared.bind("output", y) == OK
    assert prepared.set_execute_config(DUMP_MINMAX, None) == prepared.run() == OK
    before = y.copy()
    assert prepared.set_quantization_type(U8_ASYM) == prepared.quantize() == prepared.reset_execute_config() == OK
    assert prepared.run() == OK and not np.array_equal(y, before) and y.argmax() == before.argmax()
    quantized = onnx.load(model.with_suffix(".q.onnx"))
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in quantized.graph.initializer}

    def parameters(op, port):
        node = next(node for node in quantized.graph.node if node.op_type == op and port in [*node.input, *node.output])
        return constants[node.input[1]], constants[node.input[2]]
    (x_scale, x_zero), (y_scale, y_zero) = parameters("QuantizeLinear", "image"), parameters("DequantizeLinear", "logits")
    q = np.clip(np.rint(x / x_scale) + x_zero, 0, 255).astype(np.uint8)
    r = np.zeros((1, 10), np.uint8)
    for dtype in (QUANT8, UINT8):
        r[:] = 0
        assert prepared.bind("input", q, dtype=dtype) == prepared.bind("output", r, dtype=dtype) == prepared.run() == OK
        np.testing.assert_array_equal((r.astype(np.int32) - y_zero).astype(np.float32) * y_scale, y)
    assert prepared.bind("input", q, dtype=QUANT8_SIGNED) == ERROR


def test_full_quantization_without_ranges_is_an_error_that_says_what_to_call(prepared):
    assert prepared.quantize() == INVALID_STATE and "nnfw_set_quantization_type" in prepared.error()
    assert prepared.set_quantization_type(U8_ASYM) == OK
    assert prepared.quantize() == INVALID_STATE and "NNFW_RUN_CONFIG_DUMP_MINMAX" in prepared.error()
    assert "anybit_" not in prepared.error()


def test_a_quantized_model_may_be_prepared_or_run_at_once(create, model):
    session = create()
    assert session.load_model_from_file(model) == session.set_quantization_type(WO_I8_SYM) == session.quantize() == OK
    x, y = images(), np.zeros((1, 10), np.float32)
    assert session.bind("input", x) == session.bind("output", y) == session.run() == OK
    at_once = y.copy()
    assert session.quantize() == session.prepare() == session.run() == OK
    np.testing.assert_array_equal(y, at_once)
    np.testing.assert_allclose(y, by_onnx_runtime(model.with_suffix(".q.onnx"), {"image": x}), rtol=1e-4, atol=1e-4)


def test_outputs_are_kept_for_the_caller(create, tmp_path):
    session = create()
    assert session.load_model_from_file(saved(tmp_path / "m.onnx", ["n", 3])) == OK
    assert session.set_prepare_config(INTERNAL_OUTPUTS, None) == session.prepare() == OK
    pointer = ctypes.c_void_p()
    for rows in (2, 5, 1):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        _, info = session.info("input")
        info.dims[0] = rows
        assert session.set_input_tensorinfo(0, ctypes.byref(info)) == session.bind("input", x) == session.run() == OK
        assert session.get_output(0, ctypes.byref(info), ctypes.byref(pointer)) == OK and info.shape() == [rows, 3]
        np.testing.assert_array_equal(np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float)), (rows, 3)), x)
    assert session.get_output(1, ctypes.byref(info), ctypes.byref(pointer)) == ERROR
    assert session.get_output(0, None, ctypes.byref(pointer)) == session.get_output(0, ctypes.byref(info), None) == NULL


def test_outputs_that_are_not_kept_are_an_error(prepared):
    x, pointer = images(), ctypes.c_void_p()
    assert prepared.bind("input", x) == prepared.run() == OK
    assert prepared.get_output(0, ctypes.byref(prepared.info("output")[1]), ctypes.byref(pointer)) == ERROR
    assert "NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC" in prepared.error()


def test_automatic_compilation_quantizes_after_the_number_of_runs_that_is_set(create, model, tmp_path):
    session = create()
    assert session.load_model_from_file(model) == session.prepare() == OK
    x, y = images(20), np.zeros((1, 10), np.float32)
    assert session.set_quantization_type(U8_ASYM) == OK
    assert session.set_quantized_model_path(tmp_path / "q.onnx") == session.set_codegen_model_path(tmp_path / "c.c") == OK
    assert session.bind("output", y) == OK

    def run(number):
        assert session.bind("input", x[number]) == session.run_with_auto_compilation("c-gen", 0) == OK, session.error()
        return (tmp_path / "q.onnx").exists(), (tmp_path / "c.c").exists()
    assert run(0) == run(1) == (False, False)  # no number is set
    assert session.set_odc_param_minmax_records_count(0) == ERROR
    assert session.set_odc_param_minmax_records_count(6) == OK
    assert [run(number) for number in range(2, 7)] == [(False, False)] * 3 + [(True, True)] * 2
    expected = by_onnx_runtime(tmp_path / "q.onnx", {"image": x[6:7]})
    np.testing.assert_allclose(y, expected, atol=0.2)
    assert session.run_with_auto_compilation("c", 0) == ERROR and session.run_with_auto_compilation(None, 0) == NULL


def test_ranges_are_deleted(prepared, model):
    x = images()
    assert prepared.bind("input", x) == prepared.set_execute_config(DUMP_MINMAX, None) == prepared.run() == OK
    assert prepared.reset_execute_config() == OK
    assert model.with_suffix(".ranges.json").exists()
    assert prepared.odc_delete_minmax_file() == OK
    assert not model.with_suffix(".ranges.json").exists()


def test_ranges_that_cannot_be_saved_are_an_error_of_close(build, model, tmp_path):
    session = Session(ctypes.CDLL(str(build / "lib" / "libnnfw-anybit.so")))
    (tmp_path / "work").mkdir()
    assert session.set_workspace(tmp_path / "work") == session.load_model_from_file(model) == session.prepare() == OK
    assert session.bind("input", images()) == session.set_execute_config(DUMP_MINMAX, None) == session.run() == OK
    (tmp_path / "work").rmdir()
    assert session.close_session() == ERROR


def test_a_trace_is_written_to_the_workspace(create, model, tmp_path):
    session = create()
    (tmp_path / "work").mkdir()
    assert session.set_workspace(tmp_path / "nothing") == ERROR and "is not a folder" in session.error()
    assert session.set_workspace(None) == NULL and session.set_workspace(tmp_path / "work") == OK
    assert session.load_model_from_file(model) == session.prepare() == session.bind("input", images()) == OK
    assert session.set_execute_config(TRACE, None) == session.run() == session.reset_execute_config() == OK
    assert (tmp_path / "work" / "digits.trace.json").exists()


def test_what_cannot_be_done_is_an_error_with_a_reason(create, model):
    session = create()
    assert session.load_model_from_file(model) == OK
    for call, words, reason in [
            ("set_prepare_config", (0, None), "NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC"), ("set_prepare_config", (9, None), ""),
            ("set_input_layout", (0, 1), "layout of the model"), ("set_output_layout", (0, 2), "layout of the model"),
            ("set_input_layout", (1, 0), "index"), ("set_input_type", (0, UINT8), "only float32"), ("set_output_type", (1, 0), ""),
            ("set_available_backends", ("acl_cl",), "there is no backend 'acl_cl'"), ("set_quantization_type", (0,), "QUANTIZE_TYPE"),
            ("set_quantization_type", (99,), "QUANTIZE_TYPE"), ("codegen", ("abc", 0), "-gen"), ("codegen", ("nothing-gen", 0), "nothing-gen"),
            ("codegen", ("c-gen", 99), "there is no preference 99"), ("set_config", ("EXECUTOR", "Linear"), "EXECUTOR"),
            ("set_config", ("NUM_THREADS", "x"), "NUM_THREADS"), ("set_config", ("NUM_THREADS", "0"), "NUM_THREADS"),
            ("get_config", ("EXECUTOR", ctypes.create_string_buffer(9), ctypes.c_size_t(9)), "EXECUTOR"),
            ("configure_signature", ("x",), "signatures"), ("train_prepare", (), "does not train")]:
        assert getattr(session, call)(*words) == ERROR and reason in session.error() != "", call
    for call, words in [("set_available_backends", (None,)), ("set_quantized_model_path", (None,)), ("set_codegen_model_path", (None,)),
                        ("codegen", (None, 0)), ("set_config", (None, "1")), ("set_config", ("NUM_THREADS", None))]:
        assert getattr(session, call)(*words) == NULL, call
    assert session.prepare() == OK
    for key in (PROFILE, 99):
        assert session.set_execute_config(key, None) == ERROR and session.error()


def test_the_number_of_threads_is_set_and_returned(create, model):
    session, text = create(), ctypes.create_string_buffer(8)
    assert session.load_model_from_file(model) == session.set_config("NUM_THREADS", "2") == OK
    assert session.get_config("NUM_THREADS", text, ctypes.c_size_t(8)) == OK and text.value == b"2"
    assert session.get_config("NUM_THREADS", text, ctypes.c_size_t(1)) == INSUFFICIENT


def test_a_buffer_for_the_message_must_hold_all_of_it(create):
    session, text = create(), ctypes.create_string_buffer(400)
    assert session.load_model_from_file("/nothing.onnx") == ERROR
    length = len(session.error())
    assert session.get_last_error_message(text, ctypes.c_size_t(length)) == INSUFFICIENT
    assert session.get_last_error_message(text, ctypes.c_size_t(length + 1)) == OK
    assert session.get_last_error_message(None, ctypes.c_size_t(400)) == NULL


def test_the_version_is_that_of_the_api(create):
    session, number = create(), ctypes.c_uint32()
    assert session.query_info_u32(0, ctypes.byref(number)) == OK and number.value == 0x01001f00
    assert session.query_info_u32(1, ctypes.byref(number)) == session.query_info_u32(0, None) == ERROR


def test_a_model_is_loaded_from_memory(create, model):
    session, bytes_ = create(), model.read_bytes()
    assert session.load_circle_from_buffer(None, ctypes.c_size_t(9)) == NULL
    assert session.load_circle_from_buffer(b"no model", ctypes.c_size_t(8)) == ERROR
    assert session.load_circle_from_buffer(bytes_, ctypes.c_size_t(len(bytes_))) == session.prepare() == OK
