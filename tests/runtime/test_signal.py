"""Fourier transforms of any length compared with numpy, and hostile regular expressions."""
import time

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.executing import Executor


def made(name, inputs, output, **attributes):
    node = helper.make_node(name, list(inputs), ["y"], **attributes)
    ports = [helper.make_tensor_value_info(port, kind, None) for port, kind in inputs.items()]
    graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info("y", output, None)])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])


def complex_of(array):
    return array[..., 0] + 1j * array[..., 1]


@pytest.mark.parametrize("inverse", [0, 1])
def test_transforms_of_every_length_agree_with_numpy(inverse):
    rng = np.random.default_rng(7)
    for length in [*range(1, 33), 97, 100, 143, 211, 360, 1009, 1024, 2018]:
        x = rng.normal(size=(2, length, 3, 2))
        node = helper.make_node("DFT", ["x", "", "axis"], ["y"], inverse=inverse)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.DOUBLE, None),
                                                helper.make_tensor_value_info("axis", TensorProto.INT64, [])],
                                  [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)])
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])
        got = Executor(model).run({"x": x, "axis": np.array(1, np.int64)})[0]
        wanted = (np.fft.ifft if inverse else np.fft.fft)(complex_of(x), axis=1)
        np.testing.assert_allclose(complex_of(got), wanted, rtol=1e-12, atol=1e-12, err_msg=f"length {length}")


@pytest.mark.parametrize("length, wanted", [(10, 10), (10, 16), (16, 9), (7, 12)])
def test_one_sided_spectra_round_trip(length, wanted):
    x = np.random.default_rng(2).normal(size=(3, length, 1)).astype(np.float32)
    forward = made("DFT", {"x": TensorProto.FLOAT, "n": TensorProto.INT64}, TensorProto.FLOAT, onesided=1)
    half = Executor(forward).run({"x": x, "n": np.array(wanted, np.int64)})[0]
    np.testing.assert_allclose(complex_of(half), np.fft.rfft(x[..., 0].astype(np.float64), wanted), atol=1e-5)
    back = made("DFT", {"x": TensorProto.FLOAT, "n": TensorProto.INT64}, TensorProto.FLOAT, onesided=1, inverse=1)
    again = Executor(back).run({"x": half, "n": np.array(wanted, np.int64)})[0]
    assert again.shape == (3, wanted, 1)
    np.testing.assert_allclose(again[..., 0], np.fft.irfft(complex_of(half.astype(np.float64)), wanted), atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 400), (2, 400, 1)])
@pytest.mark.parametrize("window", [None, 64, 100])
def test_a_real_signal_needs_no_trailing_axis(shape, window):
    """ONNX writes [batch, length, 1]; ONNX Runtime also accepts [batch, length], which models use (onnx-asr)."""
    rng = np.random.default_rng(4)
    inputs = {"x": TensorProto.FLOAT, "step": TensorProto.INT64, **({"w": TensorProto.FLOAT} if window else {"": 0}), "n": TensorProto.INT64}
    node = helper.make_node("STFT", list(inputs), ["y"])
    ports = [helper.make_tensor_value_info(name, kind, None) for name, kind in inputs.items() if name]
    graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    feeds = {"x": rng.normal(size=shape).astype(np.float32), "step": np.array(40), "n": np.array(window or 100)}
    if window:
        feeds["w"] = rng.normal(size=window).astype(np.float32)
    got = Executor(model).run(feeds)[0]
    length = window or 100
    pieces = np.stack([feeds["x"].reshape(2, 400)[:, i:i + length] for i in range(0, 400 - length + 1, 40)], 1).astype(np.float64)
    np.testing.assert_allclose(complex_of(got), np.fft.rfft(pieces * (feeds["w"] if window else 1)), atol=1e-4)


def test_hostile_patterns_take_linear_time_and_wrong_ones_are_errors():
    texts = np.array(["a" * 50000 + "b", "a" * 50000], dtype=object)
    model = made("RegexFullMatch", {"x": TensorProto.STRING}, TensorProto.BOOL, pattern="(a*)*(a|aa)+(a+)+")
    start = time.perf_counter()
    assert Executor(model).run({"x": texts})[0].tolist() == [False, True]
    assert time.perf_counter() - start < 5
    with pytest.raises(Exception, match="not a regular expression"):
        Executor(made("RegexFullMatch", {"x": TensorProto.STRING}, TensorProto.BOOL, pattern="(a"))
