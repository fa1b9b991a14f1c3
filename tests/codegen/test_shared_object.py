"""so-gen: its library matches the runtime, called directly and by a session."""

import ctypes
import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[2]
from support.executing import Executor
from support.generating import choosing_model

EXAMPLES = ROOT / "examples"
SEED = 11
NETS = {"digits": (1, 1, 28, 28), "cifar": (1, 3, 32, 32)}
PREFERENCES = {"digits": ["default", "performance", "memory", "compile-time"], "cifar": ["performance"]}


@pytest.fixture(scope="module")
def models(anybit, tmp_path_factory):
    """models[net, kind]: the path of a net in float or int8."""
    folder = tmp_path_factory.mktemp("models")
    found = {}
    for net, shape in NETS.items():
        found[net, "float"] = EXAMPLES / net / f"{net}.onnx"
        found[net, "int8"] = folder / f"{net}.int8.onnx"
        samples = folder / f"{net}.npy"
        np.save(samples, samples_for(shape, 16))
        anybit("quantize", found[net, "float"], "-o", found[net, "int8"], "--recipe", "int8", "--calib", samples)
    return found


def samples_for(shape, count):
    return np.random.default_rng(SEED).normal(size=(count, *shape)).astype(np.float32)


def make(anybit, model, net, folder, *words):
    out = folder / f"{net}.so"
    shape = ",".join(map(str, NETS[net]))
    anybit("codegen", model, "--target", "so-gen", "-o", out, "--shape", f"image={shape}", *words)
    return out


def run_by_hand(library, x, like):
    outputs = np.zeros_like(like)
    inputs = (ctypes.c_void_p * 1)(x.ctypes.data)
    targets = (ctypes.c_void_p * 1)(outputs.ctypes.data)
    assert library.run_main_graph(inputs, targets) == 0
    return outputs


def same(found, expected, kind):
    if kind == "float":
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["float", "int8"])
@pytest.mark.parametrize("net", NETS)
def test_the_library_matches_the_runtime(anybit, models, net, kind, tmp_path):
    runtime = Executor(str(models[net, kind]))
    for preference in PREFERENCES[net]:
        library = ctypes.CDLL(str(make(anybit, models[net, kind], net, tmp_path, "--prefer", preference)))
        for x in samples_for(NETS[net], 4):
            expected = runtime.run({"image": x})[0]
            same(run_by_hand(library, x, expected), expected, kind)
        (tmp_path / f"{net}.so").rename(tmp_path / f"{preference}.so")


def test_the_library_describes_its_inputs_and_outputs(anybit, models, tmp_path):
    library = ctypes.CDLL(str(make(anybit, models["digits", "float"], "digits", tmp_path)))
    library.main_graph_signature.restype = ctypes.c_char_p
    signature = json.loads(library.main_graph_signature())
    assert signature["inputs"] == [{"name": "image", "type": "float32", "dims": [1, 1, 28, 28]}]
    assert [one["dims"] for one in signature["outputs"]] == [[1, 10]]
    name, kind, rank, dims = ctypes.c_char_p(), ctypes.c_char_p(), ctypes.c_int32(), ctypes.POINTER(ctypes.c_int64)()
    ask = [ctypes.byref(one) for one in (name, kind, rank, dims)]
    assert library.main_graph_port(0, ctypes.c_size_t(0), *ask) == 0
    assert (name.value, kind.value, dims[:rank.value]) == (b"image", b"float32", [1, 1, 28, 28])
    assert library.main_graph_port(1, ctypes.c_size_t(1), *ask) == -1


# One recipe per kind of format; recipes that also quantize activations would reveal any error.
RECIPES = ["int8x4", "int16", "w2", "mxfp4", "nvfp4", "mx4", "block-log8", "fixed8", "ternary", "binary", "fp8"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_any_number_format_becomes_code(anybit, tmp_path, recipe):
    samples, model = tmp_path / "samples.npy", tmp_path / "model.onnx"
    np.save(samples, samples_for(NETS["digits"], 8))
    calibration = ["--calib", samples] if recipe.startswith("int") else []
    anybit("quantize", EXAMPLES / "digits" / "digits.onnx", "-o", model, "--recipe", recipe, *calibration)
    runtime = Executor(str(model))
    library = ctypes.CDLL(str(make(anybit, model, "digits", tmp_path)))
    for x in samples_for(NETS["digits"], 3):
        expected = runtime.run({"image": x})[0]
        np.testing.assert_allclose(run_by_hand(library, x, expected), expected, rtol=1e-3, atol=1e-3)


class Session:
    """The part of the C interface that the tests need."""

    def __init__(self, build, model, shape):
        self.library = ctypes.CDLL(str(build / "lib" / "libanybit.so"))
        self.library.anybit_last_error.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        self.library.anybit_create_session(ctypes.byref(self.handle))
        self.call("load_model_from_file", str(model).encode())
        self.call("set_workspace", b"")
        self.call("set_input_shape", ctypes.c_size_t(0), len(shape), (ctypes.c_int64 * len(shape))(*shape))
        self.call("prepare")

    def call(self, name, *arguments):
        status = getattr(self.library, f"anybit_{name}")(self.handle, *arguments)
        assert status == 0, (name, self.library.anybit_last_error(self.handle))

    def run(self, x, like):
        out = np.zeros_like(like)
        self.call("set_input", ctypes.c_size_t(0), 1, ctypes.c_void_p(x.ctypes.data), ctypes.c_size_t(x.nbytes))
        self.call("set_output", ctypes.c_size_t(0), 1, ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(out.nbytes))
        self.call("run")
        return out

    def close(self):
        self.library.anybit_close_session(self.handle)


@pytest.mark.parametrize("kind", ["float", "int8"])
@pytest.mark.parametrize("net", NETS)
def test_a_session_uses_the_library(build, models, net, kind, tmp_path):
    session = Session(build, models[net, kind], NETS[net])
    runtime = Executor(str(models[net, kind]))
    session.call("set_codegen_model_path", str(tmp_path / "made.so").encode())
    session.call("codegen", b"so-gen", 1)
    session.call("set_available_backends", b"so")
    for x in samples_for(NETS[net], 2):
        expected = runtime.run({"image": x})[0]
        same(session.run(x, expected), expected, kind)
    session.close()


# Types that .npy files lack, with example values.
NARROW = {"BFLOAT16": np.array([0x3f80, 0xc000, 0x4040], np.uint16), "INT4": np.array([1, 7, 0xff], np.uint8),
          "UINT4": np.array([1, 15, 3], np.uint8), "FLOAT8E4M3FN": np.array([1, 0x38, 0xb0], np.uint8),
          "FLOAT8E5M2": np.array([1, 0x38, 0xb0], np.uint8)}


@pytest.mark.parametrize("kind", NARROW)
def test_a_session_uses_the_library_for_types_of_few_bits(build, tmp_path, kind):
    number, quantized = TensorProto.DataType.Value(kind), NARROW[kind]
    x, z = (helper.make_tensor_value_info(name, number, [3]) for name in "xz")
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT), helper.make_node("Cast", ["y"], ["z"], to=number)]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y, z]), opset_imports=[helper.make_opsetid("", 21)],
                              ir_version=10)
    onnx.save(model, tmp_path / "m.onnx")
    session = Session(build, tmp_path / "m.onnx", (3,))
    values, back = np.zeros(3, np.float32), np.zeros_like(quantized)
    for name, index, kind_of, array in [("input", 0, number, quantized), ("output", 0, 1, values), ("output", 1, number, back)]:
        session.call(f"set_{name}", ctypes.c_size_t(index), kind_of, ctypes.c_void_p(array.ctypes.data),
                     ctypes.c_size_t(array.nbytes))
    session.call("run")
    expected = values.copy()
    assert expected.any() and (back == quantized).all()
    session.call("set_codegen_model_path", str(tmp_path / "m.so").encode())
    session.call("codegen", b"so-gen", 0)
    session.call("set_available_backends", b"so")
    values[:], back[:] = 0, 0
    session.call("run")
    assert (values == expected).all() and (back == quantized).all()
    session.close()


def test_sessions_with_one_file_run_at_the_same_time(build, models, tmp_path):
    """The memory of the library is static; each session has a copy."""
    xs = samples_for(NETS["digits"], 2)
    runtime = Executor(str(models["digits", "float"]))
    expected = [runtime.run({"image": x})[0] for x in xs]
    sessions = []
    for _ in xs:
        sessions.append(Session(build, models["digits", "float"], NETS["digits"]))
        sessions[-1].call("set_codegen_model_path", str(tmp_path / "made.so").encode())
        sessions[-1].call("codegen", b"so-gen", 3)
    wrong = []

    def work(which):
        for _ in range(200):
            if not np.allclose(sessions[which].run(xs[which], expected[which]), expected[which], rtol=1e-4, atol=1e-4):
                wrong.append(which)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []
    for one in sessions:
        one.close()


def test_a_run_that_selects_an_invalid_branch_fails(anybit, tmp_path):
    onnx.save(choosing_model([3, 2], [4, 2]), tmp_path / "net.onnx")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    anybit("codegen", tmp_path / "net.onnx", "--target", "so-gen", "-o", tmp_path / "net.so")
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    y = np.zeros((3, 2), np.float32)
    for first, code in ((True, 0), (False, 1)):
        chosen = np.array(first)
        inputs = (ctypes.c_void_p * 2)(x.ctypes.data, chosen.ctypes.data)
        assert library.run_main_graph(inputs, (ctypes.c_void_p * 1)(y.ctypes.data)) == code
    np.testing.assert_array_equal(y, x.reshape(3, 2))


def test_the_compiler_is_set_by_the_environment_and_its_output_is_reported(anybit, models, tmp_path, monkeypatch):
    script = tmp_path / "compiler"
    script.write_text("#!/bin/sh\necho it says $1 >&2\nexit 3\n")
    script.chmod(0o755)
    for name, said in ((f"{script} no", "it says no"), ("no-such-compiler", "cannot start 'no-such-compiler'")):
        monkeypatch.setenv("CC", name)
        error = anybit("codegen", models["digits", "float"], "--target", "so-gen", "-o", tmp_path / "digits.so", "--shape",
                       "image=1,1,28,28", code=1).stderr
        assert "so-gen" in error and said in error
    assert not (tmp_path / "digits.so").exists()


def test_a_hanging_compiler_is_terminated_with_its_children(anybit, models, tmp_path, monkeypatch):
    script = tmp_path / "slow"
    script.write_text(f"#!/bin/sh\nsleep 100 &\necho $! > {tmp_path}/child\nwait\n")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    begin = time.monotonic()
    error = anybit("codegen", models["digits", "float"], "--target", "so-gen", "-o", tmp_path / "digits.so", "--shape",
                   "image=1,1,28,28", "--set", "time-limit=1", code=1).stderr
    assert "took longer than 1 s" in error and time.monotonic() - begin < 60
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
        pytest.fail("a child of the compiler lives on")


@pytest.mark.parametrize("setting", ["time-limit=0", "time-limit=soon", "speed=9"])
def test_unknown_settings_are_rejected(anybit, models, tmp_path, setting):
    anybit("codegen", models["digits", "float"], "--target", "so-gen", "-o", tmp_path / "digits.so", "--shape",
           "image=1,1,28,28", "--set", setting, code=1)
