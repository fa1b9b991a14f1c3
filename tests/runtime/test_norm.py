"""Normalizations compared with numpy and ONNX Runtime."""
import ml_dtypes
import numpy as np
import pytest
from support.executing import ExecutorError
from support.one_node import compare, model_of, ours

MICROSOFT = "com.microsoft"


def floats(random, *shape, kind=np.float32):
    return random.standard_normal(shape).astype(kind)


def layer_norm(x, axis, scale, shift, epsilon=1e-5):
    axes = tuple(range(axis % x.ndim, x.ndim))
    x = x.astype(np.float64)
    centered = x - x.mean(axes, keepdims=True)
    return centered / np.sqrt((centered ** 2).mean(axes, keepdims=True) + epsilon) * scale + shift


@pytest.mark.parametrize("kind,rough", [(np.float32, 1e-5), (np.float64, 1e-6), (np.float16, 3e-3),
                                        (ml_dtypes.bfloat16, 3e-2)])
def test_layer_norm_of_every_type_and_axis(kind, rough):
    random = np.random.default_rng(1)
    x = (floats(random, 3, 5, 37) * 3 + 2).astype(kind)
    for axis in (-1, 1, 0):
        scale, shift = floats(random, *x.shape[axis:], kind=kind), floats(random, *x.shape[axis:], kind=kind)
        inputs = [x, scale, shift]
        got, mean, inverse = ours(model_of("LayerNormalization", inputs, 3, types=[1, 1, 1], axis=axis), inputs)
        np.testing.assert_allclose(got.astype(np.float64), layer_norm(x, axis, scale.astype(np.float64),
                                   shift.astype(np.float64)), rtol=rough, atol=rough)
        assert mean.dtype == np.float32 and mean.shape == inverse.shape == x.shape[:axis % 3] + (1,) * (3 - axis % 3)


@pytest.mark.parametrize("shape", [(1,), (37,), (5, 1), (3, 5, 37), (1, 1, 37)])
def test_the_scale_of_a_layer_norm_broadcasts(shape):
    random = np.random.default_rng(2)
    x, scale = floats(random, 3, 5, 37), floats(random, *shape)
    got, = ours(model_of("LayerNormalization", [x, scale]), [x, scale])
    np.testing.assert_allclose(got, layer_norm(x, -1, scale, 0), rtol=1e-5, atol=1e-5)


def test_layer_norm_of_large_means_keeps_its_precision():
    x = floats(np.random.default_rng(3), 4, 768) + 1000
    one = np.ones(768, np.float32)
    got, = ours(model_of("LayerNormalization", [x, one]), [x, one])
    np.testing.assert_allclose(got, layer_norm(x, -1, one, 0), atol=2e-4)


def test_onnx_runtimes_older_layer_norms():
    random = np.random.default_rng(4)
    x, scale, shift = floats(random, 2, 7, 48), floats(random, 48), floats(random, 48)
    compare("LayerNormalization", [x, scale, shift], outputs=3, opset=13, epsilon=1e-3)
    compare("SimplifiedLayerNormalization", [x, scale], opset=13)


def test_rms_norm_has_the_type_of_its_scale():
    random = np.random.default_rng(5)
    x, scale = floats(random, 4, 33, kind=np.float16), floats(random, 33)
    got, = ours(model_of("RMSNormalization", [x, scale], opset=23, types=[1]), [x, scale])
    wide = x.astype(np.float64)
    np.testing.assert_allclose(got, wide / np.sqrt((wide ** 2).mean(-1, keepdims=True) + 1e-5) * scale, rtol=1e-5)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("skip_shape", [(3, 6, 40), (6, 40), (1, 6, 40)])
def test_skip_layer_norm(bias, skip_shape):
    random = np.random.default_rng(6)
    x, skip, gamma, beta, more = (floats(random, *shape) for shape in ((3, 6, 40), skip_shape, (40,), (40,), (40,)))
    about = dict(domain=MICROSOFT, outputs=["y0", "", "", "y3"], types=[1] * 4, epsilon=1e-5)
    compare("SkipLayerNormalization", [x, skip, gamma, beta] + [more] * bias, **about)
    compare("SkipSimplifiedLayerNormalization", [x, skip, gamma] + [more] * bias, **about)


@pytest.mark.parametrize("segments", [False, True])
def test_embed_layer_norm(segments):
    random = np.random.default_rng(7)
    ids = random.integers(0, 50, (2, 9)).astype(np.int32)
    kinds = random.integers(0, 2, (2, 9)).astype(np.int32) if segments else None
    words, places, parts = floats(random, 50, 24), floats(random, 16, 24), floats(random, 2, 24)
    gamma, beta, mask = floats(random, 24), floats(random, 24), random.integers(0, 2, (2, 9)).astype(np.int32)
    inputs = [ids, kinds, words, places, parts if segments else None, gamma, beta, mask]
    compare("EmbedLayerNormalization", inputs, outputs=3, types=[1, 6, 1], domain=MICROSOFT)
    ids[1, 3] = 50
    with pytest.raises(ExecutorError, match="no row 50"):
        ours(model_of("EmbedLayerNormalization", inputs, 2, types=[1, 6], domain=MICROSOFT), inputs)


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
@pytest.mark.parametrize("shape", [(2, 5), (3, 4, 7), (2, 3, 5, 6), (1, 2, 3, 4, 5)])
def test_batch_norm(opset, shape):
    random = np.random.default_rng(8)
    inputs = [floats(random, *shape)] + [floats(random, shape[1]) for _ in range(3)]
    compare("BatchNormalization", inputs + [np.abs(floats(random, shape[1]))], opset=opset, epsilon=1e-3)


def test_batch_norm_in_training():
    random = np.random.default_rng(9)
    x, (scale, shift, mean, spread) = floats(random, 4, 3, 5, 6), random.uniform(0.5, 1, (4, 3)).astype(np.float32)
    inputs = [x, scale, shift, mean, spread]
    y, means, spreads = ours(model_of("BatchNormalization", inputs, 3, opset=15, training_mode=1, momentum=0.7), inputs)
    axes, column = (0, 2, 3), (slice(None), None, None)
    np.testing.assert_allclose(means, mean * 0.7 + x.mean(axes) * 0.3, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(spreads, spread * 0.7 + x.var(axes) * 0.3, rtol=1e-5)
    wanted = (x - x.mean(axes)[column]) / np.sqrt(x.var(axes)[column] + 1e-5) * scale[column] + shift[column]
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 9, 4), (1, 6, 2, 3, 4)])
def test_instance_and_group_norm(shape):
    random = np.random.default_rng(10)
    inputs = [floats(random, *shape) + 3, floats(random, 6), floats(random, 6)]
    compare("InstanceNormalization", inputs, epsilon=1e-4)
    x, scale, shift = inputs
    got, = ours(model_of("GroupNormalization", inputs, opset=21, num_groups=3), inputs)
    groups = x.reshape(shape[0] * 3, -1).astype(np.float64)
    plain = ((groups - groups.mean(1, keepdims=True)) / np.sqrt(groups.var(1, keepdims=True) + 1e-5)).reshape(shape)
    column = (slice(None),) + (None,) * (len(shape) - 2)
    np.testing.assert_allclose(got, plain * scale[column] + shift[column], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axes", [None, [0, 2, 3], [1], [2, 3], [0, 1]])
def test_mean_variance_norm(axes):
    x = floats(np.random.default_rng(11), 3, 4, 5, 6) * 2 + 1
    compare("MeanVarianceNormalization", [x], rtol=1e-4, **({"axes": axes} if axes else {}))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_lrn(size):
    x = floats(np.random.default_rng(12), 2, 5, 3, 4) * 10
    if size % 2:  # ONNX Runtime supports no others
        compare("LRN", [x], size=size, alpha=0.01, beta=0.6, bias=1.5)
    got, = ours(model_of("LRN", [x], size=size), [x])
    squares = np.zeros_like(x)
    for c in range(5):
        squares[:, c] = (x[:, max(0, c - (size - 1) // 2):c + size // 2 + 1] ** 2).sum(1)
    np.testing.assert_allclose(got, x / (1 + 1e-4 / size * squares) ** 0.75, rtol=1e-5)


@pytest.mark.parametrize("p", [1, 2])
def test_lp_norm_of_zero_is_zero(p):
    x = floats(np.random.default_rng(13), 3, 4, 5)
    x[1] = 0
    for axis in (0, 1, -1):
        got, = ours(model_of("LpNormalization", [x], axis=axis, p=p), [x])
        length = np.linalg.norm(x, p, axis, keepdims=True)
        np.testing.assert_allclose(got, x / np.where(length == 0, 1, length), rtol=1e-5)
