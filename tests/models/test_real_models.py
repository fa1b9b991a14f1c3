"""Real models agree with ONNX Runtime, in float32 and quantized (by its tools and by anybit), at several input shapes."""

import numpy as np
import onnx
import pytest
from support import peer_models
from support.executing import Executor
from support.reversed_order import turned_round
from support.peer_models import IMAGES, MODELS, image, peer, quantized
from support.same_inputs import decibels, differences

FLOAT_ERROR = 1e-4  # of the largest value
QUANTIZED_DB = 40

SHAPES = {
    "ch_PP-OCRv4_det_infer": [(1, 3, 160, 160), (1, 3, 96, 224), (2, 3, 64, 64)],
    "ch_PP-OCRv4_rec_infer": [(1, 3, 48, 160), (2, 3, 48, 96), (1, 3, 48, 320)],
    "ch_ppocr_mobile_v2.0_cls_infer": [(1, 3, 48, 192), (3, 3, 48, 192)],
}
CASES = [(stem, shape) for stem, shapes in SHAPES.items() for shape in shapes]


def assert_close(got, wanted, slack=0.0):
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    largest = np.abs(wanted).max()
    assert np.abs(got - wanted).max() <= FLOAT_ERROR * largest + slack


@pytest.mark.parametrize("stem,shape", CASES)
def test_image_models_agree_in_float32(stem, shape):
    path = MODELS / f"{stem}.onnx"
    x = image(shape, seed=7)
    session = peer(path)
    feeds = {session.get_inputs()[0].name: x}
    wanted = session.run(None, feeds)
    # On ambiguous images, ONNX Runtime's own graph optimizations change its result by more than the bound. Our Winograd
    # convolutions have up to 2.4 times the error of plain sums (docs/speed.md).
    doubts = [np.abs(a - b).max() for a, b in zip(wanted, peer(path, optimized=False).run(None, feeds))]
    executor = Executor(path)
    for threads in (1, 2):
        for got, other, doubt in zip(Executor(path, threads=threads).run([x]), wanted, doubts):
            assert_close(got, other, 2.4 * doubt)
    first, second = executor.run([x]), executor.run([x])  # the second run follows the plan of the first
    assert all(np.array_equal(a, b) for a, b in zip(first, second))


# In a dot product, the order of summation changes the rounding only near a tie: about one quantized value in a million.
# Averages, and sums of two values with the same scale, hit ties exactly: the test only asks for one step there.
@pytest.mark.parametrize("kind", ["tensor", "channel", "anybit"])
@pytest.mark.parametrize("stem", IMAGES)
def test_each_quantized_node_is_within_one_step_given_the_same_inputs(stem, kind):
    checked = fused = integers = other = 0
    for name, apart, steps in differences(quantized(stem, kind), image(IMAGES[stem], seed=11)):
        assert apart.max() <= 1, f"{name}: {apart.max()} steps apart, run as {steps}"
        checked += 1
        fused += "DequantizeLinear" not in " ".join(steps)
        if not any(tied in step for step in steps for tied in ("QLinearAdd", "AveragePool")):
            integers += apart.size
            other += np.count_nonzero(apart)
    assert checked > 50 and fused > 0.8 * checked
    assert other <= 1e-5 * integers, f"{other} of {integers} quantized values differ"


# One different value in a million is enough: the difference spreads through later layers until it is as large as the
# quantization error. ONNX Runtime differs from itself as much with another order of summation (docs/accuracy.md,
# make bench-agreement). So anybit must be about as close to ONNX Runtime as ONNX Runtime is to the float model, in the median
# over several images, since a single image depends on chance: two results whose errors are independent differ by 3 dB more than
# each of them from the float model, and medians of seven images vary by about 1 dB.
@pytest.mark.parametrize("kind", ["tensor", "channel", "dynamic", "anybit"])
@pytest.mark.parametrize("stem", IMAGES)
def test_complete_quantized_models_agree(stem, kind):
    path = quantized(stem, kind)
    session, exact = peer(path, optimized=False), peer(MODELS / f"{stem}.onnx")
    name = session.get_inputs()[0].name
    for shape in SHAPES[stem][:2]:
        images = [image(shape, seed=seed) for seed in range(11, 18)]
        wanted = [session.run(None, {name: x})[0] for x in images]
        lost = np.median([decibels(a, exact.run(None, {name: x})[0]) for a, x in zip(wanted, images)])
        for fuse in (False, True):
            executor = Executor(path, fuse=fuse)
            got = [executor.run([x])[0] for x in images]
            assert all(a.shape == b.shape for a, b in zip(got, wanted))
            near = np.median([decibels(a, b) for a, b in zip(got, wanted)])
            assert near >= min(QUANTIZED_DB, lost - 4), f"fuse={fuse}, shape {shape}"


@pytest.mark.parametrize("kind", ["tensor", "channel", "anybit"])
@pytest.mark.parametrize("stem", IMAGES)
def test_integer_sums_do_not_depend_on_the_order_of_channels(stem, kind):
    path = quantized(stem, kind)
    turned = onnx.load_from_string(turned_round(path))
    assert sum(node.op_type == "Gather" for node in turned.graph.node) > 20
    x = image(IMAGES[stem], seed=11)
    assert np.array_equal(Executor(turned).run([x])[0], Executor(path).run([x])[0])


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


def test_quantized_models_are_cached():
    assert peer_models.quantized("ch_ppocr_mobile_v2.0_cls_infer", "tensor").stat().st_size > 100_000
