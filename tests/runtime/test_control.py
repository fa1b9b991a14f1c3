"""If, Loop, Scan and SequenceMap with nested bodies, captured values and functions, compared with ONNX Runtime."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser
from support.executing import Executor, ExecutorError


def parse(text):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n{text}')


def agree(model, feeds):
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    executor = Executor(model)
    for _ in range(3):  # the second run has a plan
        for one, other in zip(executor.run(feeds), wanted):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


NESTED = """
main (float[n] x, int64 trips, bool go) => (float[n] last, float[k, n] all) {
  outer = Add(x, x)
  last, all = Loop(trips, go, x) <body = body (int64 i, bool c, float[n] state) => (bool c2, float[n] state2, float[n] seen) {
    c2 = Identity(c)
    two = Constant <value = int64 {2}> ()
    rest = Mod(i, two)
    zero = Constant <value = int64 {0}> ()
    even = Equal(rest, zero)
    state2 = If(even) <then_branch = yes () => (float[n] y) {
      count = Constant <value = int64 {3}> ()
      y, unused = Loop(count, , state) <body = inner (int64 j, bool d, float[n] s) => (bool d2, float[n] s2, int64 seen2) {
        d2 = Identity(d)
        t = Add(s, outer)
        as_float = Cast<to = 1>(i)
        s2 = Add(t, as_float)
        seen2 = Identity(j)
      }>
    }, else_branch = no () => (float[n] y) { y = Sub(state, x) }>
    seen = Add(state2, outer)
  }>
}
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("go", [True, False])
def test_a_loop_in_an_if_in_a_loop_captures_values_of_two_levels(trips, go):
    x = np.arange(4, dtype=np.float32)
    feeds = {"x": x, "trips": np.array(trips, np.int64), "go": np.array(go)}
    if trips and go:
        agree(parse(NESTED), feeds)
        return
    last, stacked = Executor(parse(NESTED)).run(feeds)
    np.testing.assert_array_equal(last, x)
    assert stacked.shape[0] == 0 and stacked.dtype == np.float32


def test_a_loop_ends_with_its_condition_and_separates_iterations():
    model = parse("""
      main (float[n] x) => (float[n] last, int64[k] seen, float[k, n] states) {
        trips = Constant <value = int64 {100}> ()
        yes = Constant <value = bool {1}> ()
        last, seen, states = Loop(trips, yes, x) <body = body (int64 i, bool c, float[n] s) => (bool c2, float[n] s2, int64 i2, float[n] s3) {
          limit = Constant <value = int64 {4}> ()
          c2 = Less(i, limit)
          s2 = Add(s, x)
          i2 = Identity(i)
          s3 = Identity(s)
        }>
      }""")
    agree(model, {"x": np.array([1, 2], np.float32)})


def test_the_state_of_a_loop_may_change_its_shape():
    model = parse("""
      main (float[n] x, int64 trips) => (float[m] last) {
        last = Loop(trips, , x) <body = body (int64 i, bool c, float[k] s) => (bool c2, float[l] s2) {
          c2 = Identity(c)
          s2 = Concat<axis = 0>(s, x)
        }>
      }""")
    for trips in (1, 3, 2):
        agree(model, {"x": np.array([1, 2], np.float32), "trips": np.array(trips, np.int64)})


@pytest.mark.parametrize("in_axis, out_axis, backwards", [(0, 0, 0), (1, 1, 1), (2, 0, 1), (-1, -1, 0)])
def test_scan_walks_along_any_axis_in_both_directions(in_axis, out_axis, backwards):
    body = parser.parse_graph("body (float[a, b] state, float[a, b] item) => (float[a, b] state2, float[a, b] made) "
                              "{ state2 = Add(state, item) \n made = Mul(state2, item) }")
    x = np.random.default_rng(1).normal(size=(3, 3, 3)).astype(np.float32)
    node = helper.make_node("Scan", ["s", "x"], ["last", "y"], body=body, num_scan_inputs=1, scan_input_axes=[in_axis],
                            scan_output_axes=[out_axis], scan_input_directions=[backwards],
                            scan_output_directions=[1 - backwards])
    ports = lambda *names: [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]
    model = helper.make_model(helper.make_graph([node], "g", ports("s", "x"), ports("last", "y")), ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    agree(model, {"s": np.ones((3, 3), np.float32), "x": x})


def test_functions_with_branches_see_their_inputs_and_attributes():
    model = onnx.parser.parse_model("""
      <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
      main (float[n] x, bool c) => (float[n] y, float[n] z) {
        y = local.Choose<factor = 3.0>(x, c)
        z = local.Choose<factor = -2.0>(y, c)
      }
      <domain: "local", opset_import: ["" : 17]>
      Choose <factor> (a, c) => (r) {
        r = If(c) <then_branch = yes () => (float[n] t) { f = Constant<value_float: float = @factor>() t = Mul(a, f) },
                   else_branch = no () => (float[n] t) { t = Neg(a) }>
      }""")
    executor = Executor(model)
    x = np.array([1, -2], np.float32)
    for condition, first, second in ((True, 3, -6), (False, -1, 1)):
        y, z = executor.run({"x": x, "c": np.array(condition)})
        np.testing.assert_array_equal(y, first * x)
        np.testing.assert_array_equal(z, second * x)


def test_sequences_are_carried_through_loops_and_mapped():
    model = parse("""
      main (float[n] x, int64 trips) => (float[m] joined, int64 length) {
        none = SequenceEmpty<dtype = 1>()
        full = Loop(trips, , none) <body = body (int64 i, bool c, seq(float[k]) s) => (bool c2, seq(float[k]) s2) {
          c2 = Identity(c)
          as_float = Cast<to = 1>(i)
          item = Add(x, as_float)
          s2 = SequenceInsert(s, item)
        }>
        doubled = SequenceMap(full) <body = twice (float[k] one) => (float[k] two) { two = Add(one, x) }>
        first = SequenceAt(doubled, trips0)
        joined = ConcatFromSequence<axis = 0>(doubled)
        length = SequenceLength(doubled)
      }""".replace("trips0", "zero").replace("none =", "zero = Constant <value = int64 {0}> ()\n none =", 1))
    agree(model, {"x": np.array([1, 2], np.float32), "trips": np.array(3, np.int64)})


def test_errors_in_a_body_name_its_path():
    model = parse("""
      main (float[n] x, int64 trips) => (float[m] y) {
        y = Loop(trips, , x) <body = body (int64 i, bool c, float[k] s) => (bool c2, float[l] s2) {
          c2 = Identity(c)
          bad = Constant <value = int64[1] {7}> ()
          s2 = Reshape(s, bad)
        }>
      }""")
    with pytest.raises(ExecutorError, match=r"Loop.*body.*Reshape"):
        Executor(model).run({"x": np.zeros(2, np.float32), "trips": np.array(1, np.int64)})
