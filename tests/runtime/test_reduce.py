"""Reductions, ArgMax and the softmax family compared with numpy and ONNX Runtime."""
import ml_dtypes
import numpy as np
import pytest
from support.executing import ExecutorError
from support.one_node import compare, model_of, ours

SUMS = {
    "ReduceSum": lambda x, axes: x.sum(axes, keepdims=True),
    "ReduceMean": lambda x, axes: x.mean(axes, keepdims=True),
    "ReduceL1": lambda x, axes: np.abs(x).sum(axes, keepdims=True),
    "ReduceL2": lambda x, axes: np.sqrt((x * x).sum(axes, keepdims=True)),
    "ReduceSumSquare": lambda x, axes: (x * x).sum(axes, keepdims=True),
    "ReduceLogSum": lambda x, axes: np.log(x.sum(axes, keepdims=True)),
    "ReduceLogSumExp": lambda x, axes: np.log(np.exp(x).sum(axes, keepdims=True)),
    "ReduceProd": lambda x, axes: x.prod(axes, keepdims=True),
    "ReduceMax": lambda x, axes: x.max(axes, keepdims=True),
    "ReduceMin": lambda x, axes: x.min(axes, keepdims=True),
}
REALS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)


def random_axes(random, rank):
    return tuple(sorted(random.choice(rank, random.integers(1, rank + 1), replace=False).tolist()))


@pytest.mark.parametrize("name", SUMS)
def test_reductions_over_any_axes_match_numpy(name):
    seed = 7
    random = np.random.default_rng(seed)
    for trial in range(12):
        shape = random.integers(1, 20, random.integers(1, 5))
        kind = REALS[trial % len(REALS)]
        x = random.uniform(0.5, 1.5, shape).astype(kind)
        axes = random_axes(random, len(shape))
        wanted = SUMS[name](x.astype(np.float64), axes)
        got, = ours(model_of(name, [x, np.array(axes)]), [x, np.array(axes)])
        rough = {np.float16: 1e-3, ml_dtypes.bfloat16: 1e-2}.get(kind, 1e-5)
        np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=rough, atol=rough / 10,
                                   err_msg=f"seed {seed}, trial {trial}, {shape} over {axes}")


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint32, np.uint64])
def test_integers_wrap_around_and_are_exact(name, kind):
    random = np.random.default_rng(11)
    x = random.integers(np.iinfo(kind).min, np.iinfo(kind).max, (5, 4, 6), dtype=kind, endpoint=True)
    numpys = {"ReduceSum": np.sum, "ReduceProd": np.prod, "ReduceMax": np.max, "ReduceMin": np.min}[name]
    for axes in [(0,), (1,), (2,), (0, 2)]:
        wanted = numpys(x.astype(object), axis=axes, keepdims=True)
        got, = ours(model_of(name, [x, np.array(axes)]), [x, np.array(axes)])
        bits = np.iinfo(kind).bits
        assert [int(v) % 2 ** bits for v in got.ravel()] == [int(v) % 2 ** bits for v in wanted.ravel()]


def test_long_sums_of_floats_keep_their_precision():
    x = np.full((3, 1_000_000), 0.1, np.float32)
    for axis, data in [(1, x), (0, np.ascontiguousarray(x.T))]:
        got, = ours(model_of("ReduceSum", [data, np.array([axis])]), [data, np.array([axis])])
        np.testing.assert_allclose(got, np.float64(np.float32(0.1)) * 1e6, rtol=2e-6)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_does_not_change_a_bit(threads):
    x = np.random.default_rng(3).standard_normal((7, 300, 500)).astype(np.float32)
    for axes in [(0,), (1,), (2,), (0, 2)]:
        model = model_of("ReduceMean", [x, np.array(axes)])
        one, = ours(model, [x, np.array(axes)], threads=1)
        many, = ours(model, [x, np.array(axes)], threads=threads)
        np.testing.assert_array_equal(one, many)


def test_a_nan_is_the_largest_and_the_smallest():
    x = np.zeros((3, 40), np.float32)
    x[1, 17] = np.nan
    for name in ("ReduceMax", "ReduceMin"):
        for axis in (0, 1):
            got, = ours(model_of(name, [x, np.array([axis])]), [x, np.array([axis])])
            assert np.isnan(got).sum() == 1


@pytest.mark.parametrize("opset", [11, 12, 13])
def test_axes_may_be_an_attribute_in_older_versions(opset):
    x = np.random.default_rng(5).standard_normal((3, 4, 5)).astype(np.float32)
    compare("ReduceMean", [x], opset=opset, axes=[-1, 0], keepdims=0)
    compare("ReduceMax", [x], opset=opset)


def test_an_axis_outside_the_tensor_is_an_error():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ExecutorError, match="axis"):
        ours(model_of("ReduceSum", [x, np.array([2])], opset=13), [x, np.array([2])])


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [9, 11, 13])
def test_softmax_follows_its_version(name, opset):
    seed = 13
    random = np.random.default_rng(seed)
    for trial in range(8):
        x = (random.standard_normal(random.integers(1, 30, 3)) * 5).astype(np.float32)
        axis = int(random.integers(0 if opset < 11 else -3, 3))
        compare(name, [x], opset=opset, axis=axis)


@pytest.mark.parametrize("kind", [np.float16, np.float64, ml_dtypes.bfloat16])
def test_softmax_of_other_floats(kind):
    x = (np.random.default_rng(1).standard_normal((4, 33)) * 3).astype(kind)
    e = np.exp(x.astype(np.float64))
    got, = ours(model_of("Softmax", [x], axis=-1), [x])
    np.testing.assert_allclose(got.astype(np.float64), e / e.sum(-1, keepdims=True), rtol=1e-2, atol=1e-7)


def test_softmax_of_far_apart_and_infinite_numbers():
    x = np.array([[1e4, -1e4, 0, 1e4], [-np.inf, 0, 0, -np.inf], [88, -88, 87, 0]], np.float32)
    for axis, data in [(1, x), (0, np.ascontiguousarray(x.T))]:
        got, = ours(model_of("Softmax", [data], axis=axis), [data])
        with np.errstate(all="ignore"):
            e = np.exp(data.astype(np.float64) - data.max(axis, keepdims=True))
        np.testing.assert_allclose(got, e / e.sum(axis, keepdims=True), rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.int64, np.float16])
@pytest.mark.parametrize("last", [0, 1])
def test_arg_max_finds_the_first_or_the_last(kind, last):
    x = np.random.default_rng(2).integers(0, 4, (6, 7, 8)).astype(kind)
    for name, numpys in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        for axis in range(3):
            wanted = numpys(x, axis)
            if last:
                wanted = x.shape[axis] - 1 - numpys(np.flip(x, axis), axis)
            got, = ours(model_of(name, [x], types=[7], axis=axis, keepdims=0, select_last_index=last), [x])
            np.testing.assert_array_equal(got, wanted)
