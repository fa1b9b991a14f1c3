"""Real models give what ONNX Runtime gives, in float32 and quantized by its own tools, at several input shapes."""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "runtime"))

import peer_models  # noqa: E402
from executing import Executor  # noqa: E402
from peer_models import IMAGES, MODELS, image, peer, quantized  # noqa: E402

FLOAT_ERROR = 1e-4  # of the largest value
QUANTIZED_DB = 40

SHAPES = {
    "ch_PP-OCRv4_det_infer": [(1, 3, 160, 160), (1, 3, 96, 224), (2, 3, 64, 64)],
    "ch_PP-OCRv4_rec_infer": [(1, 3, 48, 160), (2, 3, 48, 96), (1, 3, 48, 320)],
    "ch_ppocr_mobile_v2.0_cls_infer": [(1, 3, 48, 192), (3, 3, 48, 192)],
}
CASES = [(stem, shape) for stem, shapes in SHAPES.items() for shape in shapes]


def assert_close(got, wanted):
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    largest = np.abs(wanted).max()
    assert np.abs(got - wanted).max() <= FLOAT_ERROR * largest


def decibels(got, wanted):
    noise = np.sum((got.astype(np.float64) - wanted) ** 2)
    return np.inf if noise == 0 else 10 * np.log10(np.sum(wanted.astype(np.float64) ** 2) / noise)


@pytest.mark.parametrize("stem,shape", CASES)
def test_picture_models_agree_in_float(stem, shape):
    path = MODELS / f"{stem}.onnx"
    x = image(shape, seed=7)
    session = peer(path)
    wanted = session.run(None, {session.get_inputs()[0].name: x})
    executor = Executor(path)
    for threads in (1, 2):
        for got, other in zip(Executor(path, threads=threads).run([x]), wanted):
            assert_close(got, other)
    first, second = executor.run([x]), executor.run([x])  # the second run follows the plan of the first
    assert all(np.array_equal(a, b) for a, b in zip(first, second))


@pytest.mark.parametrize("kind", ["tensor", "channel", "dynamic"])
@pytest.mark.parametrize("stem", IMAGES)
def test_quantized_models_agree(stem, kind):
    path = quantized(stem, kind)
    session = peer(path, optimized=False)  # its optimized kernels saturate on this kind of CPU
    for shape in SHAPES[stem][:2]:
        x = image(shape, seed=11)
        wanted = session.run(None, {session.get_inputs()[0].name: x})
        for fuse in (False, True):
            for got, other in zip(Executor(path, fuse=fuse).run([x]), wanted):
                assert got.shape == other.shape
                assert decibels(got, other) >= QUANTIZED_DB, f"fuse={fuse}, shape {shape}"


@pytest.mark.parametrize("name", ["silero_vad_v5", "silero_vad_v6", "silero_vad_legacy"])
def test_speech_models_agree_over_many_steps(name):
    path = MODELS / f"{name}.onnx"
    session = peer(path)
    executor = Executor(path)
    rng = np.random.default_rng(3)
    for rate, size in ((16000, 512), (8000, 256)):
        feeds = {}
        for port in session.get_inputs():
            if port.name == "input":
                feeds["input"] = None
            elif port.name == "sr":
                feeds["sr"] = np.array(rate, np.int64)
            else:
                shape = [dim if isinstance(dim, int) else 1 for dim in port.shape]
                feeds[port.name] = np.zeros(shape, np.float32)
        states = [port.name for port in session.get_inputs() if port.name not in ("input", "sr")]
        for step in range(6):
            wave = np.sin(np.arange(size) * (0.05 + 0.02 * step)) * 0.3 + 0.05 * rng.standard_normal(size)
            feeds["input"] = wave.astype(np.float32)[None]
            wanted, got = session.run(None, feeds), executor.run(feeds)
            for a, b in zip(got, wanted):
                assert_close(a, b)
            feeds.update(zip(states, wanted[1:]))


def test_made_models_are_kept():
    assert peer_models.quantized("ch_ppocr_mobile_v2.0_cls_infer", "tensor").stat().st_size > 100_000
