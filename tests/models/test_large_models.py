"""Larger models agree with ONNX Runtime: a sentence encoder, and the networks of the onnx package's light set."""
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.executing import Executor
from support.peer_models import MODELS, QUANTIZED, peer

pytestmark = pytest.mark.large_models
LIGHT = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))
ENCODER = MODELS / "large" / "all-MiniLM-L6-v2.onnx"


def assert_close(got, wanted, bound=1e-4):
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max() <= bound * np.abs(wanted).max()


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_networks_agree(path):
    session = peer(path)
    rng = np.random.default_rng(1)
    feeds = {port.name: rng.standard_normal([dim if isinstance(dim, int) else 1 for dim in port.shape]).astype(np.float32)
             for port in session.get_inputs()}
    for got, wanted in zip(Executor(path, threads=2).run(feeds), session.run(None, feeds)):
        assert_close(got, wanted)


def sentence(batch, length, seed):
    rng = np.random.default_rng(seed)
    return {"input_ids": rng.integers(1000, 20000, (batch, length)), "token_type_ids": np.zeros((batch, length), np.int64),
            "attention_mask": np.ones((batch, length), np.int64)}


@pytest.mark.parametrize("batch,length", [(1, 16), (2, 64), (1, 128)])
def test_the_sentence_encoder_agrees(batch, length):
    feeds = sentence(batch, length, seed=length)
    got, = Executor(ENCODER, threads=2).run(feeds)
    wanted, = peer(ENCODER).run(None, feeds)
    assert_close(got, wanted)


def test_the_dynamically_quantized_sentence_encoder_agrees():
    from onnxruntime.quantization import QuantType, quantize_dynamic

    QUANTIZED.mkdir(parents=True, exist_ok=True)
    path = QUANTIZED / "all-MiniLM-L6-v2.dynamic.onnx"
    if not path.exists():
        quantize_dynamic(str(ENCODER), str(path), weight_type=QuantType.QInt8)
    feeds = sentence(1, 32, seed=5)
    got, = Executor(path).run(feeds)
    wanted, = peer(path, optimized=False).run(None, feeds)
    assert 10 * np.log10(np.sum(wanted.astype(np.float64) ** 2) / np.sum((got.astype(np.float64) - wanted) ** 2)) >= 40
