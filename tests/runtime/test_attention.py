"""Attention operators against numpy and ONNX Runtime."""
import numpy as np
import pytest
from support.executing import ExecutorError
from support.one_node import compare, model_of, ours

MICROSOFT = "com.microsoft"


def floats(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def attention(q, k, v, bias=0, scale=None):
    """[batch, heads, positions, size] in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / np.sqrt(q.shape[-1])) + bias
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("batch,heads,kv_heads,queries,keys,size,v_size",
                         [(1, 1, 1, 1, 1, 1, 1), (2, 4, 2, 5, 7, 8, 6), (1, 12, 12, 128, 128, 64, 64),
                          (1, 2, 1, 300, 700, 16, 40), (3, 2, 2, 1, 33, 24, 24)])
def test_attention_of_many_sizes(batch, heads, kv_heads, queries, keys, size, v_size):
    random = np.random.default_rng(1)
    q, k, v = (floats(random, *shape) for shape in ((batch, heads, queries, size), (batch, kv_heads, keys, size),
                                                   (batch, kv_heads, keys, v_size)))
    got, = ours(model_of("Attention", [q, k, v], opset=23), [q, k, v])
    np.testing.assert_allclose(got, attention(q, k, v), rtol=1e-4, atol=1e-5)
    flat = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(batch, x.shape[2], -1) for x in (q, k, v)]
    turned, = ours(model_of("Attention", flat, opset=23, q_num_heads=heads, kv_num_heads=kv_heads), flat)
    np.testing.assert_allclose(turned, got.transpose(0, 2, 1, 3).reshape(batch, queries, -1), rtol=1e-6, atol=1e-7)
    mask = np.tril(np.ones((queries, keys), bool))
    causal, = ours(model_of("Attention", [q, k, v], opset=23, is_causal=1), [q, k, v])
    np.testing.assert_allclose(causal, attention(q, k, v, np.where(mask, 0, -np.inf)), rtol=1e-4, atol=1e-5)


def test_the_number_of_threads_does_not_change_a_bit():
    inputs = [floats(np.random.default_rng(2), 2, 3, 200, 32) for _ in range(3)]
    model = model_of("Attention", inputs, opset=23)
    one, = ours(model, inputs, threads=1)
    many, = ours(model, inputs, threads=3)
    np.testing.assert_array_equal(one, many)


def test_padding_keys_are_ignored():
    random = np.random.default_rng(3)
    q, k, v = floats(random, 2, 3, 4, 8), floats(random, 2, 3, 9, 8), floats(random, 2, 3, 9, 8)
    lengths = np.array([5, 9], np.int64)
    inputs = [q, k, v, None, None, None, lengths]
    got, = ours(model_of("Attention", inputs, opset=24), inputs)
    bias = np.where(np.arange(9) < lengths[:, None], 0, -np.inf)[:, None, None]
    np.testing.assert_allclose(got, attention(q, k, v, bias), rtol=1e-4, atol=1e-6)


def test_mismatched_shapes_are_errors():
    q = np.zeros((1, 2, 3, 4), np.float32)
    for k, v in [(np.zeros((1, 2, 3, 5)), np.zeros((1, 2, 3, 4))), (np.zeros((1, 3, 3, 4)), np.zeros((1, 3, 3, 4))),
                 (np.zeros((1, 2, 3, 4)), np.zeros((1, 2, 4, 4)))]:
        inputs = [q, k.astype(np.float32), v.astype(np.float32)]
        with pytest.raises(ExecutorError, match="do not fit"):
            ours(model_of("Attention", inputs, opset=23), inputs)
    mask = np.zeros((2, 3), np.float32)
    with pytest.raises(ExecutorError, match="mask"):
        ours(model_of("Attention", [q, q, q, mask], opset=23), [q, q, q, mask])


MASKS = {
    "none": lambda random, b, s, t: None,
    "ends": lambda random, b, s, t: random.integers(1, t, b).astype(np.int32),
    "ends and beginnings": lambda random, b, s, t: np.concatenate([random.integers(t - 2, t, b),
                                                                   random.integers(0, 2, b)]).astype(np.int32),
    "keys": lambda random, b, s, t: random.integers(0, 2, (b, t)).astype(np.int32),
    "queries": lambda random, b, s, t: random.integers(0, 2, (b, s, t)).astype(np.int32),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("past", [0, 4])
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_onnx_runtimes_attention(mask, past, unidirectional):
    random = np.random.default_rng(4)
    batch, length, hidden, heads = 2, 6, 24, 3
    inputs = [floats(random, batch, length, 20), floats(random, 20, 3 * hidden) / 4, floats(random, 3 * hidden),
              MASKS[mask](random, batch, length, past + length)]
    if past:
        inputs.append(floats(random, 2, batch, heads, past, hidden // heads))
    compare("Attention", inputs, outputs=2 if past else 1, domain=MICROSOFT, num_heads=heads,
            unidirectional=unidirectional, constants=(1,))


def test_onnx_runtimes_attention_with_sizes_and_a_bias_of_the_scores():
    random = np.random.default_rng(5)
    inputs = [floats(random, 2, 5, 16), floats(random, 16, 12 + 12 + 20), floats(random, 44), None, None,
              floats(random, 1, 2, 5, 5)]
    compare("Attention", inputs, domain=MICROSOFT, num_heads=2, qkv_hidden_sizes=[12, 12, 20], scale=0.2)


@pytest.mark.parametrize("mask", ["none", "ends", "keys"])
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_quantized_attention(mask, per_column, kind):
    random = np.random.default_rng(6)
    width = 36
    weight_range = (-64, 64) if kind == np.int8 else (0, 128)  # 7 bits: ONNX Runtime saturates beyond
    scale = random.uniform(0.001, 0.01, width if per_column else 1).astype(np.float32)
    inputs = [random.integers(0, 256, (2, 5, 16)).astype(np.uint8),
              random.integers(*weight_range, (16, width)).astype(kind), floats(random, width),
              np.float32(0.02), scale if per_column else scale[0], MASKS[mask](random, 2, 5, 5),
              np.uint8(120), np.full(scale.shape, 3, kind) if per_column else kind(3)]
    compare("QAttention", inputs, domain=MICROSOFT, num_heads=3, types=[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("heads_first", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("mask", ["none", "ends", "keys"])
def test_multi_head_attention(heads_first, bias, mask):
    random = np.random.default_rng(7)
    q, k, v = floats(random, 2, 5, 24), floats(random, 2, 7, 24), floats(random, 2, 7, 24)
    if heads_first:
        k, v = (np.ascontiguousarray(x.reshape(2, 7, 3, 8).transpose(0, 2, 1, 3)) for x in (k, v))
    inputs = [q, k, v, floats(random, 72) if bias else None, MASKS[mask](random, 2, 5, 7), floats(random, 1, 3, 5, 7)]
    compare("MultiHeadAttention", inputs, domain=MICROSOFT, num_heads=3)


def test_multi_head_attention_of_packed_and_separate_inputs_is_equal():
    random = np.random.default_rng(10)
    plain = [floats(random, 2, 5, 24) for _ in range(3)]
    q, k, v = (x.reshape(2, 5, 3, 8) for x in plain)
    wanted, = ours(model_of("MultiHeadAttention", plain, domain=MICROSOFT, num_heads=3), plain)
    for packed in ([plain[0], np.stack([k, v], 3)], [np.stack([q, k, v], 3)]):
        got, = ours(model_of("MultiHeadAttention", packed, domain=MICROSOFT, num_heads=3), packed)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_attention_with_a_past(unidirectional):
    random = np.random.default_rng(8)
    step = [floats(random, 2, 3, 24) for _ in range(3)]
    past = [floats(random, 2, 3, 4, 8) for _ in range(2)]
    compare("MultiHeadAttention", step + [None, None, None] + past, outputs=3, domain=MICROSOFT, num_heads=3,
            unidirectional=unidirectional)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("positions", [(2, 5), (1,)])
def test_onnx_runtimes_rotary_embedding(interleaved, rank, positions):
    random = np.random.default_rng(9)
    x = floats(random, 2, 3, 5, 8) if rank == 4 else floats(random, 2, 5, 24)
    ids = random.integers(0, 11, positions).astype(np.int64)
    inputs = [x, ids, floats(random, 16, 4), floats(random, 16, 4)]
    compare("RotaryEmbedding", inputs, domain=MICROSOFT, interleaved=interleaved)
    inputs[1] = ids + 16
    with pytest.raises(ExecutorError, match="not in the caches"):
        ours(model_of("RotaryEmbedding", inputs, domain=MICROSOFT), inputs)
