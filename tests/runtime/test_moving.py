"""Operators that copy, select or generate elements, compared with numpy and ONNX Runtime."""
import ml_dtypes
import numpy as np
import pytest
from support.executing import Executor, ExecutorError
from support.one_node import compare, model_of, ours

TYPES = [np.float32, np.uint8, np.int16, np.float64, np.complex128, np.bool_, ml_dtypes.bfloat16]


def numbers(random, shape, kind=np.float32):
    return random.integers(0, 100, shape).astype(kind)


def vector(*items):
    return np.array(items, np.int64)


def run(op_type, inputs, outputs=1, opset=22, types=None, **attributes):
    return ours(model_of(op_type, inputs, outputs, opset, types=types, **attributes), inputs)


@pytest.mark.parametrize("seed", range(40))
def test_transposes_of_random_shapes_and_types(seed):
    random = np.random.default_rng(seed)
    rank = random.integers(1, 6)
    x = numbers(random, random.integers(1, 20, rank), TYPES[seed % len(TYPES)])
    order = random.permutation(rank)
    np.testing.assert_array_equal(run("Transpose", [x], perm=order)[0], x.transpose(order))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape,order", [((2, 67, 33), (0, 2, 1)), ((1, 3, 301), (0, 2, 1)), ((1, 301, 3), (0, 2, 1)),
                                         ((300, 300), (1, 0)), ((4, 70, 2), (0, 2, 1)), ((2, 4, 65), (0, 2, 1)),
                                         ((2, 8, 30, 16), (0, 2, 1, 3)), ((3, 1000), (1, 0)), ((5, 600), (1, 0))])
def test_transposes_with_special_kernels(kind, shape, order):
    x = numbers(np.random.default_rng(1), shape, kind)
    np.testing.assert_array_equal(run("Transpose", [x], perm=order)[0], x.transpose(order))


@pytest.mark.parametrize("seed", range(40))
def test_slices_with_any_bounds_and_steps(seed):
    random = np.random.default_rng(seed)
    rank = random.integers(1, 5)
    x = numbers(random, random.integers(0, 9, rank), TYPES[seed % len(TYPES)])
    starts, ends = random.integers(-12, 12, rank), random.integers(-12, 12, rank)
    steps = random.choice([-3, -2, -1, 1, 2, 3, 100, -100], rank)
    wanted = x
    for axis in range(rank):
        size = x.shape[axis]
        low, high = (0, size) if steps[axis] > 0 else (-1, size - 1)
        clamp = lambda bound, lowest: min(max(bound + size if bound < 0 else bound, lowest), high)
        # A start is clamped to an element; an end may be before the first.
        at = list(range(clamp(starts[axis], 0), clamp(ends[axis], low), steps[axis]))
        wanted = np.take(wanted, at, axis)
    got, = run("Slice", [x, starts, ends, np.arange(rank), steps])
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("constants", [(), (1, 2, 3, 4)])
def test_a_backward_slice_from_before_the_first_element_starts_at_it(constants):
    for size, start, end in ((4, -9, -100), (4, -5, -2), (1, -2, -3), (0, -9, -100)):
        x = np.arange(size, dtype=np.float32)
        compare("Slice", [x, vector(start), vector(end), vector(0), vector(-1)], constants=constants)


def test_slice_bounds_may_be_the_largest_integers():
    x = np.arange(10, dtype=np.float32)
    lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    np.testing.assert_array_equal(run("Slice", [x, vector(highest), vector(lowest), vector(0), vector(-1)])[0], x[::-1])
    np.testing.assert_array_equal(run("Slice", [x, vector(lowest), vector(highest), vector(0), vector(highest)])[0], x[:1])
    np.testing.assert_array_equal(run("Slice", [x, vector(-1), vector(lowest), vector(0), vector(lowest)])[0], x[-1:])


@pytest.mark.parametrize("seed", range(15))
def test_concat_undoes_split(seed):
    random = np.random.default_rng(seed)
    shape = random.integers(1, 7, 4)
    axis = int(random.integers(-4, 4))
    x = numbers(random, shape, TYPES[seed % len(TYPES)])
    cut = int(random.integers(0, shape[axis] + 1))
    parts = run("Split", [x, vector(cut, shape[axis] - cut)], 2, axis=axis)
    for part, wanted in zip(parts, np.split(x, [cut], axis)):
        np.testing.assert_array_equal(part, wanted)
    np.testing.assert_array_equal(run("Concat", parts, axis=axis)[0], x)


def test_split_into_more_parts_than_a_tensor_may_have_axes():
    x = np.arange(40, dtype=np.float32)
    for inputs, about in (([x, np.ones(40, np.int64)], {}), ([x], {"num_outputs": 40})):
        assert [part.tolist() for part in run("Split", inputs, 40, **about)] == [[i] for i in range(40)]


@pytest.mark.parametrize("seed", range(10))
def test_expand_and_tile(seed):
    random = np.random.default_rng(seed)
    x = numbers(random, [random.choice([1, n]) for n in (3, 4, 5)], TYPES[seed % len(TYPES)])
    wide = (2,) + tuple(n if size == 1 else size for n, size in zip((3, 4, 5), x.shape))
    np.testing.assert_array_equal(run("Expand", [x, vector(*wide)])[0], np.broadcast_to(x, wide))
    repeats = random.integers(0, 4, 3)
    np.testing.assert_array_equal(run("Tile", [x, repeats])[0], np.tile(x, repeats))


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("seed", range(8))
def test_pads_of_every_mode(mode, seed):
    random = np.random.default_rng(seed)
    x = numbers(random, random.integers(2, 6, 4), TYPES[seed % len(TYPES)])
    before, after = random.integers(0, 9, 4), random.integers(0, 9, 4)
    if seed % 2:
        before[2:] = after[2:] = 0
    fill = {"constant_values": x.dtype.type(7)} if mode == "constant" else {}
    inputs = [x, np.concatenate([before, after])] + ([np.array(7, x.dtype)] if fill else [])
    wanted = np.pad(x, list(zip(before, after)), mode, **fill)
    np.testing.assert_array_equal(run("Pad", inputs, mode=mode)[0], wanted)


@pytest.mark.parametrize("pads,wanted", [((-1, 2), [2, 3, 0, 0]), ((2, -3), [0, 0]), ((-2, -1), []), ((-3, 1), [0])])
def test_negative_pads_crop(pads, wanted):
    x = np.array([1, 2, 3], np.float32)
    assert run("Pad", [x, vector(*pads)])[0].tolist() == wanted


def test_pad_of_the_first_versions_takes_attributes():
    x = np.ones((1, 1, 2, 2), np.float32)
    got, = run("Pad", [x], opset=7, pads=[0, 0, 1, 0, 0, 0, 0, 1], value=3.0)
    np.testing.assert_array_equal(got, np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 1)], constant_values=3))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("seed", range(6))
def test_gathers_and_scatters_match_onnx_runtime(index, seed):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(2, 7, 3))
    axis = int(random.integers(-3, 3))
    x, size = numbers(random, shape), shape[axis]
    compare("Gather", [x, random.integers(-size, size, (2, 3)).astype(index)], axis=axis)
    places = random.integers(-size, size, shape).astype(index)
    compare("GatherElements", [x, places], axis=axis)
    once = np.argsort(random.random(shape), axis).astype(index)
    compare("ScatterElements", [x, once, numbers(random, shape)], axis=axis)
    for reduction in ("add", "mul", "min", "max"):
        compare("ScatterElements", [x, places, numbers(random, shape)], axis=axis, reduction=reduction)
    tuples = np.stack([random.integers(-n, n, 4) for n in shape[:2]], 1)
    compare("GatherND", [x, tuples])
    compare("GatherND", [x, random.integers(0, shape[1], (shape[0], 2, 1))], batch_dims=1)
    for reduction in ("add", "mul", "min", "max"):
        compare("ScatterND", [x, tuples, numbers(random, (4, shape[2]))], reduction=reduction)


def test_a_tensor_may_be_scattered_into_itself():
    from onnx import TensorProto, helper
    nodes = [helper.make_node("Add", ["x", "x"], ["n"]), helper.make_node("ScatterElements", ["n", "at", "n"], ["y"], axis=0)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]),
                                           helper.make_tensor_value_info("at", TensorProto.INT64, [4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])])
    executor = Executor(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10))
    for _ in range(3):
        got, = executor.run({"x": np.arange(4, dtype=np.float32), "at": vector(1, 2, 3, 0)})
        assert got.tolist() == [6, 0, 2, 4]


@pytest.mark.parametrize("seed", range(12))
def test_top_k_matches_onnx_runtime(seed):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 40, 3))
    axis = int(random.integers(-3, 3))
    x = numbers(random, shape, [np.float32, np.int64, np.int32, np.float64][seed % 4])
    k = random.integers(0, shape[axis] + 1, 1)
    compare("TopK", [x, k], outputs=2, types=[{"f4": 1, "i8": 7, "i4": 6, "f8": 11}[x.dtype.str[1:]], 7], axis=axis,
            largest=seed % 2)


def test_top_k_treats_nan_as_the_largest():
    x = np.array([1, np.nan, 3, np.nan, 2], np.float32)
    assert run("TopK", [x, vector(3)], 2, types=[1, 7])[1].tolist() == [1, 3, 2]
    assert run("TopK", [x, vector(3)], 2, types=[1, 7], largest=0)[1].tolist() == [0, 4, 2]


@pytest.mark.parametrize("seed", range(8))
def test_unique_matches_onnx_runtime(seed):
    random = np.random.default_rng(seed)
    x = random.integers(0, 3, (4, 3, 2)).astype(np.float32)
    axis = {} if seed % 2 else {"axis": int(random.integers(-3, 3))}
    compare("Unique", [x], outputs=4, types=[1, 7, 7, 7], sorted=seed // 2 % 2, **axis)


def test_strings_are_copied_like_numbers():
    x = np.array([["a", "b" * 40, "c"], ["d", "", "f"]], object)
    from onnx import TensorProto, helper

    def on_text(op_type, more=(), **attributes):
        names = [f"x{i}" for i in range(1 + len(more))]
        node = helper.make_node(op_type, names, ["y"], **attributes)
        kinds = [TensorProto.STRING] + [TensorProto.INT64 if item.dtype.kind == "i" else TensorProto.BOOL for item in more]
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, k, None) for n, k in zip(names, kinds)],
                                  [helper.make_tensor_value_info("y", TensorProto.STRING, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
        return Executor(model).run([x, *more])[0].tolist()

    assert on_text("Transpose") == x.T.tolist()
    assert on_text("Slice", [vector(0), vector(2), vector(1)]) == x[:, :2].tolist()
    assert on_text("Gather", [vector(1, 1)], axis=1) == x[:, [1, 1]].tolist()
    assert on_text("Pad", [vector(0, 1, 0, 0)]) == [["", *row] for row in x.tolist()]
    assert on_text("Tile", [vector(1, 2)]) == np.tile(x, (1, 2)).tolist()
    assert on_text("Compress", [np.array([True, False, True])], axis=1) == x[:, [0, 2]].tolist()
    assert on_text("Unique") == sorted(x.flatten())


@pytest.mark.parametrize("op_type,inputs,about", [
    ("Gather", [np.zeros((2, 3), np.float32), vector(2)], {}),
    ("Gather", [np.zeros((2, 3), np.float32), vector(-3)], {}),
    ("GatherElements", [np.zeros((2, 3), np.float32), np.full((2, 3), 3)], {"axis": 1}),
    ("GatherElements", [np.zeros((2, 3), np.float32), np.zeros((3, 3), np.int64)], {"axis": 1}),
    ("GatherND", [np.zeros((2, 3), np.float32), vector(0, 0, 0)], {}),
    ("GatherND", [np.zeros((2, 3), np.float32), vector(0, 3)], {}),
    ("GatherND", [np.zeros((2, 3), np.float32), np.zeros((3, 1), np.int64)], {"batch_dims": 1}),
    ("ScatterElements", [np.zeros(3, np.float32), vector(3), np.ones(1, np.float32)], {}),
    ("ScatterElements", [np.zeros(3, np.float32), vector(0), np.ones(2, np.float32)], {}),
    ("ScatterND", [np.zeros((2, 3), np.float32), np.full((1, 1), 5), np.ones((1, 3), np.float32)], {}),
    ("ScatterND", [np.zeros((2, 3), np.float32), np.zeros((1, 1), np.int64), np.ones((1, 4), np.float32)], {}),
    ("TensorScatter", [np.zeros((1, 2, 3), np.float32), np.zeros((1, 1, 3), np.float32), vector(2)], {"opset": 24}),
    ("Split", [np.zeros(4, np.float32), vector(5)], {}),
    ("Split", [np.zeros(4, np.float32), vector(-1)], {}),
    ("Concat", [np.zeros((2, 3), np.float32), np.zeros((3, 3), np.float32)], {"axis": 1}),
    ("Concat", [np.zeros(2, np.float32), np.zeros(2, np.float64)], {"axis": 0}),
    ("Expand", [np.zeros(2, np.float32), vector(-1)], {}),
    ("Tile", [np.zeros(2, np.float32), vector(-1)], {}),
    ("Tile", [np.zeros(2, np.float32), vector(1 << 62)], {}),
    ("Pad", [np.zeros(2, np.float32), vector(-3, 0)], {}),
    ("Pad", [np.zeros(2, np.float32), vector(1 << 62, 1 << 62)], {}),
    ("Pad", [np.zeros(0, np.float32), vector(1, 1)], {"mode": "edge"}),
    ("Slice", [np.zeros(2, np.float32), vector(0), vector(1), vector(0), vector(0)], {}),
    ("Squeeze", [np.zeros(2, np.float32), vector(0)], {}),
    ("Unsqueeze", [np.zeros(2, np.float32), np.arange(32)], {}),
    ("Transpose", [np.zeros((2, 2), np.float32)], {"perm": [0, 0]}),
    ("TopK", [np.zeros(2, np.float32), vector(3)], {}),
    ("ConstantOfShape", [vector(1 << 40, 1 << 40)], {"types": [1]}),
    ("ConstantOfShape", [vector(-1)], {"types": [1]}),
    ("Range", [np.array(0), np.array(10), np.array(0)], {}),
    ("OneHot", [vector(1), vector(-1), np.zeros(2, np.float32)], {"types": [1]}),
    ("ReverseSequence", [np.zeros((3, 1), np.float32), vector(4)], {}),
    ("MaxUnpool", [np.zeros((1, 1, 1), np.float32), np.full((1, 1, 1), 2)], {"kernel_shape": [2]}),
    ("Col2Im", [np.zeros((1, 4, 3), np.float32), vector(4, 4), vector(2, 2)], {}),
    ("Det", [np.zeros((2, 3), np.float32)], {}),
    ("Einsum", [np.zeros((2, 3), np.float32), np.zeros((4, 2), np.float32)], {"equation": "ij,jk->ik"}),
    ("Einsum", [np.zeros(2, np.float32)], {"equation": "i->ii"}),
])
def test_mismatched_inputs_are_an_error(op_type, inputs, about):
    with pytest.raises(ExecutorError, match=op_type):
        run(op_type, inputs, **about)


@pytest.mark.parametrize("equation,shapes", [
    ("ij,jk->ik", [(5, 7), (7, 3)]), ("bij,bjk->bik", [(2, 5, 7), (2, 7, 3)]), ("ii->i", [(4, 4)]), ("ii", [(4, 4)]),
    ("ij->ji", [(2, 3)]), ("ij->", [(2, 3)]), ("i,j->ij", [(3,), (4,)]), ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]), ("a,ab,abc->abc", [(2,), (2, 3), (2, 3, 4)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]), ("b...,b...->...", [(3, 2, 2), (3, 2, 2)]), ("ki,jk", [(2, 3), (4, 2)])])
def test_einsums_match_numpy(equation, shapes):
    random = np.random.default_rng(1)
    for kind in (np.float32, np.float64, np.int32):
        inputs = [numbers(random, shape, kind) for shape in shapes]
        np.testing.assert_allclose(run("Einsum", inputs, equation=equation)[0], np.einsum(equation, *inputs), rtol=1e-5)


@pytest.mark.parametrize("seed", range(40))
def test_negative_and_positive_pads_on_any_axis(seed):
    random = np.random.default_rng(seed)
    rank = random.integers(1, 5)
    x = numbers(random, random.integers(3, 8, rank))
    pads = random.integers(-1, 3 if seed % 2 else 1, 2 * rank)
    cut = x[tuple(slice(max(0, -a), size - max(0, -b)) for a, b, size in zip(pads[:rank], pads[rank:], x.shape))]
    wanted = np.pad(cut, [(max(0, a), max(0, b)) for a, b in zip(pads[:rank], pads[rank:])])
    np.testing.assert_array_equal(run("Pad", [x, vector(*pads)])[0], wanted)
