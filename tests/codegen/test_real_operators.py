"""c-gen: float convolutions and Fourier transforms, compared with the runtime."""
import numpy as np
import pytest
from onnx import helper
from support.executing import Executor
from support.generating import DEFAULT, MEMORY, SEED, compiled, generate, model_of


def test_float_convolutions_are_close_to_the_runtime(tmp_path):
    """With tiles, which overlap or are partial on short rows, and without tiles."""
    random = np.random.default_rng(SEED)
    models, feeds = {}, {}
    for number in range(24):
        channels, outputs, groups = [(3, 10, 1), (32, 7, 1), (6, 4, 2), (5, 5, 5)][number % 4]
        height, width = [(9, 14), (1, 5), (7, 3), (16, 16), (2, 33), (4, 1)][number // 4]
        kernel = [min(height, 1 + number % 3), min(width, 1 + number // 2 % 3)]
        x = random.normal(size=(2, channels, height, width)).astype(np.float32)
        constants = {"w": random.normal(size=(outputs, channels // groups, *kernel)).astype(np.float32),
                     "b": random.normal(size=outputs).astype(np.float32)}
        conv = helper.make_node("Conv", ["x", "w", "b"][:3 - number % 2], ["c"], group=groups, strides=[1 + number % 5 // 4, 1 + number % 2],
                                pads=[kernel[0] // 2, kernel[1] - 1, kernel[0] - 1, kernel[1] // 2])
        model = model_of([conv, helper.make_node("LeakyRelu", ["c"], ["y"])], {"x": x}, constants)
        for preference in (DEFAULT, MEMORY):
            name = f"conv_{number}_{preference}"
            models[name], feeds[name] = model, x
            generate(model, tmp_path / f"{name}.c", preference)
    assert sum("real_tile(" in (tmp_path / f"{name}.c").read_text() for name in models) >= 12
    for options in ([], ["-O2", "-mavx2"], ["-U__SSE__"]):  # the last: without vectors
        for name, program in compiled(list(models), tmp_path, *options).items():
            right = Executor(models[name], threads=1).run({"x": feeds[name]})
            made, = program.run([feeds[name]], right)
            np.testing.assert_allclose(made, right[0], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("length", [8, 12])
@pytest.mark.parametrize("kind", ["whole", "half", "inverse", "back"])
def test_fourier_transforms_match_the_runtime(length, kind, tmp_path):
    """FFT for powers of two, otherwise naive DFT; with truncated and zero-padded signals."""
    random = np.random.default_rng(SEED)
    x = random.normal(size=(2, 10, 3, 1 if kind == "half" else 2)).astype(np.float32)
    constants = {"n": np.int64(length), "axis": np.int64(1)}
    node = helper.make_node("DFT", ["x", "n", "axis"], ["y"], onesided=int(kind in ("half", "back")), inverse=int(kind in ("inverse", "back")))
    model = model_of([node], {"x": x}, constants)
    right = Executor(model, threads=1).run({"x": x})
    generate(model, tmp_path / "net.c")
    made, = compiled(["net"], tmp_path)["net"].run([x], right)
    np.testing.assert_allclose(made, right[0], rtol=1e-6, atol=1e-6)
