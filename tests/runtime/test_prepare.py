"""Models before and after the passes of preparation: the same outputs, in the executor and in ONNX Runtime."""
import pathlib

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper, parser
from support import backend
from support.executing import Executor, ExecutorError, prepare, recognise
from test_raise_opset import MODELS, sample

MOVES = {"unique_names", "inline_functions", "constant_nodes", "cast_like", "fold_shapes", "inline_if", "remove_no_ops", "remove_unused",
         "free_initializers"}


def parsed(text, **weights):
    """A model written as text, with further initializers."""
    model = parser.parse_model(text.replace("<>", ""))
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items())
    return model


def values(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def operators(model):
    return [node.op_type for node in model.graph.node]


def assert_close(one, other, exact=False):
    if isinstance(one, list):
        assert len(one) == len(other)
        for pair in zip(one, other):
            assert_close(*pair, exact)
        return
    if one is None or one.dtype == object:
        np.testing.assert_array_equal(one, other)
        return
    if one.dtype.kind != "f" or exact:
        assert one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        return
    largest = np.max(np.abs(one[np.isfinite(one)]), initial=0)
    np.testing.assert_allclose(other, one, rtol=0, atol=1e-5 * max(float(largest), 1e-30))


def run_in_onnx_runtime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def same_after(model, feeds, only=(), keep=(), runtime=True):
    """Prepares, checks and compares; returns the prepared model and the changes."""
    after, changes = prepare(model, only, keep)
    onnx.checker.check_model(after)
    assert [one.name for one in after.graph.output] == [one.name for one in model.graph.output]
    exact = all(name in MOVES for name, number in changes.items() if number)
    before = Executor(model).run(feeds)
    assert_close(before, Executor(after).run(feeds), exact)
    if runtime:
        assert_close(run_in_onnx_runtime(model, feeds), run_in_onnx_runtime(after, feeds))
    again, more = prepare(after, only, keep)
    assert not any(more.values()), more
    return after, changes


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.onnx")), ids=lambda path: path.stem)
def test_real_models_give_the_same_and_get_smaller(path):
    model = onnx.load(path)
    after, changes = same_after(model, sample(model))
    assert sum(changes.values()) > 0
    names = [node.name for node in after.graph.node]
    assert all(names) and len(set(names)) == len(names)
    assert "Constant" not in operators(after) and "Identity" not in operators(after)
    assert "BatchNormalization" not in operators(after)


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.onnx")), ids=lambda path: path.stem)
def test_each_pass_alone_keeps_the_outputs_of_real_models(path):
    model = onnx.load(path)
    feeds = sample(model)
    for name in prepare(model)[1]:
        same_after(model, feeds, [name], runtime=False)


def test_every_case_of_the_backend_suite_gives_the_same_after_preparation():
    wrong, compared, changed = [], 0, 0
    cases = [case for kind in ("node", "simple", "pytorch-converted", "pytorch-operator")
             for case in backend.loader.load_model_tests(kind=kind)]
    for name, case in sorted((case.name, case) for case in cases):
        if "bernoulli" in name or "training" in name:  # random numbers differ from run to run
            continue
        model = onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
        try:
            feeds = [dict(zip([port.name for port in model.graph.input], inputs))
                     for inputs, _ in backend.data_sets(case, model)]
            executor = Executor(model)
            before = [executor.run(one) for one in feeds]
        except ExecutorError:
            continue  # covered by the conformance tests
        try:
            after, changes = prepare(model)
            # Constants of old files are listed as inputs; afterwards they are not.
            ports = {port.name for port in after.graph.input}
            executor = Executor(after)
            assert_close(before, [executor.run({k: v for k, v in one.items() if k in ports}) for one in feeds])
            compared += 1
            changed += sum(number for pass_name, number in changes.items() if pass_name != "unique_names") > 0
        except (ExecutorError, AssertionError) as error:
            wrong.append(f"{name}: {' '.join(str(error).split())[:300]}")
    assert compared > 1800 and changed > 300 and not wrong, "\n".join([f"{compared} compared, {changed} changed", *wrong])


LIGHT = sorted((pathlib.Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_classic_networks_give_the_same_with_fewer_normalizations(path):
    model = onnx.load(path)
    constants = {one.name for one in model.graph.initializer}
    feeds = {port.name: values(*[dim.dim_value for dim in port.type.tensor_type.shape.dim])
             for port in model.graph.input if port.name not in constants}
    after, _ = prepare(model)
    assert_close(Executor(model, threads=2).run(feeds), Executor(after, threads=2).run(feeds))
    # Some stand before an activation; some weights are broadcast from a scalar, and too large to be constants.
    norms, left = (operators(one).count("BatchNormalization") for one in (model, after))
    assert left < norms or norms == 0


CONV = """<ir_version: 8, opset_import: ["" : 17]>
  main (float[n, 4, 9, 9] x) => (float[n, 6, h, w] y) {
    c = Conv<%s>(x, w%s)
    y = BatchNormalization<epsilon = 0.01>(c, s, b, m, v)
  }"""


def norm(channels):
    return dict(s=values(channels), b=values(channels, seed=2), m=values(channels, seed=3),
                v=np.abs(values(channels, seed=4)) + 0.1)


@pytest.mark.parametrize("attributes, weights, bias", [
    ("pads = [1, 1, 1, 1]", (6, 4, 3, 3), True), ("group = 2", (6, 2, 3, 3), False), ("strides = [2, 2]", (6, 4, 1, 1), True)])
def test_normalization_is_folded_into_the_preceding_convolution(attributes, weights, bias):
    extra = dict(bias=values(6, seed=7)) if bias else {}
    model = parsed(CONV % (attributes, ", bias" if bias else ""), w=values(*weights), **extra, **norm(6))
    after, _ = same_after(model, {"x": values(2, 4, 9, 9)})
    assert operators(after) == ["Conv"]


def test_normalization_is_folded_into_a_transposed_convolution_with_groups():
    model = parsed("""<ir_version: 8, opset_import: ["" : 17]>
      main (float[n, 4, 5, 5] x) => (float[n, 6, h, w] y) {
        c = ConvTranspose<group = 2, strides = [2, 2]>(x, w)
        y = BatchNormalization(c, s, b, m, v)
      }""", w=values(4, 3, 3, 3), **norm(6))
    after, _ = same_after(model, {"x": values(2, 4, 5, 5)})
    assert operators(after) == ["ConvTranspose"]


@pytest.mark.parametrize("matmul", ["Gemm<transB = 1>(x, t, c)", "Gemm<beta = 0.5>(x, w, c)", "Gemm(x, w)", "MatMul(x, w)"])
def test_normalization_is_folded_into_a_matmul(matmul):
    w = values(4, 6)
    model = parsed(f"""<ir_version: 8, opset_import: ["" : 17]>
      main (float[n, 4] x) => (float[n, 6] y) {{
        g = {matmul}
        y = BatchNormalization(g, s, b, m, v)
      }}""", w=w, t=w.T.copy(), c=values(6, seed=9), **norm(6))
    after, _ = same_after(model, {"x": values(3, 4)})
    assert operators(after) == ["Gemm"]


def test_normalization_of_a_matmul_with_more_dimensions_stays():
    model = parsed("""<ir_version: 8, opset_import: ["" : 17]>
      main (float[2, 6, 4] x) => (float[2, 6, 6] y) {
        g = MatMul(x, w)
        y = BatchNormalization(g, s, b, m, v)
      }""", w=values(4, 6), **norm(6))
    after, _ = same_after(model, {"x": values(2, 6, 4)})
    assert operators(after) == ["MatMul", "BatchNormalization"]


@pytest.mark.parametrize("attributes, folded", [("", True), ("pads = [1, 1, 1, 1]", False), ('auto_pad = "VALID"', True),
                                                ('auto_pad = "SAME_UPPER"', False)])
def test_normalization_is_folded_into_the_following_convolution_without_padding(attributes, folded):
    model = parsed("""<ir_version: 8, opset_import: ["" : 17]>
      main (float[n, 4, 7, 7] x) => (float[n, 6, h, w] y) {
        c = BatchNormalization(x, s, b, m, v)
        y = Conv<%s>(c, w)
      }""" % attributes, w=values(6, 4, 3, 3), **norm(4))
    after, _ = same_after(model, {"x": values(2, 4, 7, 7)})
    assert operators(after) == (["Conv"] if folded else ["BatchNormalization", "Conv"])


def test_a_normalization_that_is_kept_or_used_twice_or_overflows_stays():
    model = parsed(CONV % ("", ""), w=values(6, 4, 3, 3), **norm(6))
    model.graph.node[1].name = "/bn"
    after, _ = same_after(model, {"x": values(1, 4, 9, 9)}, keep=["/bn"])
    assert operators(after) == ["Conv", "BatchNormalization"]
    model.graph.output.append(helper.make_tensor_value_info("c", 1, ["n", 6, "h", "w"]))
    after, _ = same_after(model, {"x": values(1, 4, 9, 9)})
    assert operators(after) == ["Conv", "BatchNormalization"]
    large = {**norm(6), "s": np.full(6, 3e38, np.float32), "v": np.full(6, 1e-6, np.float32)}
    after, _ = prepare(parsed(CONV % ("", ""), w=values(6, 4, 3, 3), **large))
    assert operators(after) == ["Conv", "BatchNormalization"]


def test_per_channel_constants_are_folded_into_the_weights():
    model = parsed("""<ir_version: 8, opset_import: ["" : 17]>
      main (float[n, 4, 7, 7] x) => (float[n, 6, h, w] y) {
        a = Conv(x, w)
        b = Mul(a, scale)
        c = Sub(shift, b)
        d = Div(c, two)
        e = Relu(d)
        y = Add(e, scale)
      }""", w=values(6, 4, 3, 3), scale=values(6, 1, 1), shift=values(1, 6, 1, 1), two=np.float32(2))
    after, _ = same_after(model, {"x": values(2, 4, 7, 7)})
    assert operators(after) == ["Conv", "Relu", "Add"]


def test_matmul_and_add_of_a_row_become_a_gemm():
    text = """<ir_version: 8, opset_import: ["" : 17]>
      main (float[%s] x) => (float[%s] y) { a = MatMul(x, w)  y = Add(%s) }"""
    weights = dict(w=values(4, 6), b=values(6, seed=3))
    after, _ = same_after(parsed(text % ("n, 4", "n, 6", "b, a"), **weights), {"x": values(3, 4)})
    assert operators(after) == ["Gemm"]
    after, _ = same_after(parsed(text % ("n, k, 4", "n, k, 6", "a, b"), **weights), {"x": values(2, 3, 4)})
    assert operators(after) == ["MatMul", "Add"] and [group[0] for group in recognise(after)] == ["linear"]
    square = dict(w=values(4, 6), b=values(6, 6, seed=3))
    after, _ = same_after(parsed(text % ("6, 4", "6, 6", "a, b"), **square), {"x": values(6, 4)})
    assert operators(after) == ["MatMul", "Add"]


def test_constants_are_folded_but_not_expanded_nor_copied():
    model = parsed("""<ir_version: 8, opset_import: ["" : 17]>
      main (float[n, 300] x) => (float[n, 300] y, float[n, m] z, float[p, q] large) {
        t = Transpose<perm = [1, 0]>(w)
        s = Sqrt(four)
        a = MatMul(x, t)
        y = Div(a, s)
        shape = Constant<value_ints = [1500, 1500]>()
        large_one = Expand(four, shape)
        large = Mul(large_one, four)
        u = Transpose<perm = [1, 0]>(tied)
        b = MatMul(x, u)
        z = MatMul(b, tied)
      }""", w=values(300, 300), four=np.float32(4), tied=values(1000, 300))
    after, _ = same_after(model, {"x": values(2, 300)})
    # The shared table is not copied; nine megabytes of fours do not become a constant.
    assert operators(after) == ["MatMul", "Div", "Expand", "Mul", "Transpose", "MatMul", "MatMul"]
    assert len(after.SerializeToString()) < len(model.SerializeToString()) + 2000


@pytest.mark.parametrize("seed", range(16))
def test_nested_concats_of_constants_are_folded(seed):
    """A random tree: constants before and behind, values that are used twice, another axis; every other tree has an input of the model."""
    random = np.random.default_rng(seed)
    constants = {f"c{i}": values(2, 2, seed=i) for i in range(14)} | {"row": np.int64([2, -1])}
    loose, nodes = [*constants][:-1] + ["x"] * (seed % 2), []
    while len(loose) > 1:
        a = loose.pop(int(random.integers(len(loose))))
        b = a if random.random() < 0.1 else loose.pop(int(random.integers(len(loose))))
        made = f"k{len(nodes)}"
        if a == b or random.random() > 0.1:
            nodes.append(helper.make_node("Concat", [a, b], [made], axis=1 if random.random() < 0.8 else -1))
        else:
            nodes.append(helper.make_node("Concat", [a, a], [f"{made}_tall"], axis=0))
            nodes.append(helper.make_node("Reshape", [f"{made}_tall", "row"], [f"{made}_wide"]))
            nodes.append(helper.make_node("Concat", [f"{made}_wide", b], [made], axis=1))
        loose.append(made)
    nodes.append(helper.make_node("Mul", [loose[0], "z"], ["y"]))
    inputs = [helper.make_tensor_value_info(name, 1, [2, 2] if name == "x" else []) for name in "xz"[1 - seed % 2:]]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, [2, None])],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    after, changes = same_after(model, {one.name: values(2, 2) if one.name == "x" else np.array(2, np.float32) for one in inputs})
    assert changes["fold_constants"] > 0
    if seed % 2 == 0:
        assert operators(after) == ["Mul"]


def test_quantized_weights_and_random_numbers_are_not_folded():
    model = parsed("""<ir_version: 8, opset_import: ["" : 17]>
      main (float[4, 4] x) => (float[4, 4] y, float[2] r) {
        w = DequantizeLinear(q, scale)
        y = MatMul(x, w)
        r = RandomNormal<shape = [2]>()
      }""", q=np.ones((4, 4), np.int8), scale=np.float32(0.5))
    after, _ = prepare(model)
    assert operators(after) == ["DequantizeLinear", "MatMul", "RandomNormal"]


def test_known_shapes_become_constants():
    model = parsed("""<ir_version: 8, opset_import: ["" : 17]>
      main (float[n, 4, 6] x) => (float[n, 24] y, float[k, 6] z, int64[1] batch) {
        s = Shape(x)
        one = Constant<value_int = 1>()
        zero = Constant<value_int = 0>()
        first = Constant<value_ints = [0]>()
        c = Gather(s, one)
        batch = Gather(s, first)
        minus = Constant<value_ints = [-1]>()
        dims = Constant<value_ints = [24]>()
        target = Concat<axis = 0>(batch, dims)
        y = Reshape(x, target)
        rows = Gather(s, zero)
        product = Mul(rows, c)
        axes = Constant<value_ints = [0]>()
        p = Unsqueeze(product, axes)
        six = Constant<value_ints = [6]>()
        to = Concat<axis = 0>(p, six)
        z = Reshape(x, to)
      }""")
    after, _ = same_after(model, {"x": values(3, 4, 6)})
    assert operators(after) == ["Shape", "Gather", "Reshape", "Reshape"]  # one of the outputs is a shape


def test_identity_nodes_are_removed():
    model = parsed("""<ir_version: 8, opset_import: ["" : 17]>
      main (float[n, 4, 6] x) => (float[n, 4, 6] y, float[n, 4, 6] again) {
        a = Identity(x)
        b = Dropout(a)
        c = Transpose<perm = [0, 1, 2]>(b)
        d = Cast<to = 1>(c)
        e = Concat<axis = 1>(d)
        r = Relu(e)
        shape = Constant<value_ints = [0, 4, 6]>()
        f = Reshape(r, shape)
        one = Constant<value_float = 1.0>()
        g = Mul(one, f)
        pads = Constant<value_ints = [0, 0, 0, 0, 0, 0]>()
        h = Pad(g, pads)
        y = Identity(h)
        i = Sigmoid(h)
        again = Identity(i)
      }""")
    after, _ = same_after(model, {"x": values(2, 4, 6)})
    assert operators(after) == ["Relu", "Sigmoid"]


def test_an_identity_between_input_and_output_stays():
    model = parsed("""<ir_version: 8, opset_import: ["" : 17]>
      main (float[n] x) => (float[n] y, float[n] z) { y = Identity(x)  z = Identity(y) }""")
    after, _ = same_after(model, {"x": values(3)})
    assert operators(after) == ["Identity", "Identity"]


BRANCHES = """<ir_version: 8, opset_import: ["" : 17]>
  main (float[n, 4] x, bool c) => (float[n, 6] y) {
    y = If(%s) <
      then_branch = yes () => (float[n, 6] t) { a = Identity(x)  k = Constant<value_float = 2.0>()  m = Mul(a, k)  g = MatMul(m, w)  t = Add(g, b) },
      else_branch = no () => (float[n, 6] t) { a = Dropout(x)  t = MatMul(a, w) }>
  }"""


def test_subgraphs_are_prepared_like_the_main_graph():
    weights = dict(w=values(4, 6), b=values(6, seed=5))
    model = parsed(BRANCHES % "c", **weights)
    for condition in (True, False):
        after, _ = same_after(model, {"x": values(3, 4), "c": np.array(condition)})
    bodies = {one.name: one.g for one in after.graph.node[0].attribute}
    assert [node.op_type for node in bodies["then_branch"].node] == ["Mul", "Gemm"]
    assert [node.op_type for node in bodies["else_branch"].node] == ["MatMul"]
    names = [name for body in bodies.values() for node in body.node for name in (*node.output, node.name)]
    assert len(set(names)) == len(names)


def test_an_if_with_a_constant_condition_is_inlined():
    model = parsed(BRANCHES % "yes", w=values(4, 6), b=values(6, seed=5), yes=np.array(True))
    after, _ = same_after(model, {"x": values(3, 4), "c": np.array(False)})
    assert operators(after) == ["Mul", "Gemm"]


def test_functions_are_inlined_unless_their_opset_differs():
    text = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
      main (float[n, 4] x) => (float[n, 4] y, float[n, 4] z) {
        a = local.Twice<by = 3.0>(x)
        y = local.Twice(a)
        z = local.Wrapped(x)
      }
      <domain: "local", opset_import: ["" : %d]>
      Twice <by: float = 2.0> (v) => (r) {
        k = Constant<value_float: float = @by>()
        r = Mul(v, k)
      }
      <domain: "local", opset_import: ["" : %d, "local" : 1]>
      Wrapped (v) => (r) { s = ReduceSum(v)  t = local.Twice(v)  r = Add(s, t) }"""
    after, _ = same_after(parser.parse_model(text % (17, 17)), {"x": values(3, 4)})
    assert operators(after) == ["Mul", "Mul", "ReduceSum", "Mul", "Add"] and not after.functions
    # ReduceSum has not changed since opset 13; in opset 12 its axes were an attribute.
    after, _ = same_after(parser.parse_model(text % (17, 14)), {"x": values(3, 4)})
    assert operators(after) == ["Mul", "Mul", "ReduceSum", "Mul", "Add"]
    model = parser.parse_model(text % (17, 12))
    after, _ = prepare(model)
    assert_close(Executor(model).run({"x": values(3, 4)}), Executor(after).run({"x": values(3, 4)}))
    assert operators(after) == ["Mul", "Mul", "Wrapped"] and {one.name for one in after.functions} == {"Twice", "Wrapped"}


def test_a_cast_like_a_value_of_known_type_is_folded():
    model = parsed("""<ir_version: 9, opset_import: ["" : 19]>
        agraph (float[N, 3] x, float16[N] y) => (float[N, 3] z, float16[N] w) {
          one = CastLike(double_one, x)  bias = Expand(one, three)  z = Add(x, bias)
          two = CastLike(x, y)  three_d = ReduceMax<keepdims=0>(two)  w = Mul(y, three_d) }""",
                   double_one=np.float64(1.5), three=np.int64([3]))
    after, changes = same_after(model, {"x": values(2, 3), "y": values(2).astype(np.float16)})
    assert changes["cast_like"] == 2
    assert operators(after) == ["Add", "Cast", "ReduceMax", "Mul"]


def test_constants_of_old_files_are_not_inputs():
    model = parsed(CONV % ("", ""), w=values(6, 4, 3, 3), **norm(6))
    model.ir_version = 3
    for one in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(one.name, 1, one.dims))
    after, _ = same_after(model, {"x": values(2, 4, 9, 9)})
    assert operators(after) == ["Conv"] and [one.name for one in after.graph.input] == ["x"] and after.ir_version == 4


def test_an_input_with_a_default_is_not_a_constant():
    model = parsed(CONV % ("", ""), w=values(6, 4, 3, 3), **norm(6))
    model.graph.input.append(helper.make_tensor_value_info("w", 1, [6, 4, 3, 3]))
    after, _ = same_after(model, {"x": values(2, 4, 9, 9)})
    assert operators(after) == ["Conv", "BatchNormalization"] and len(after.graph.input) == 2


def test_a_pass_that_does_not_exist_is_named():
    with pytest.raises(ExecutorError, match="fold_batch_norms.*\n.*fold_batch_norm"):
        prepare(parsed(CONV % ("", ""), w=values(6, 4, 3, 3), **norm(6)), ["fold_batch_norms"])
