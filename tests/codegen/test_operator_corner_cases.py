"""c-gen: edge cases that random operators rarely cover: windows beyond the input, large integers, single rows, unused states."""
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.executing import Executor
from support.generating import SEED, compiled, generate, model_of, random_integers


@pytest.mark.parametrize("attributes,side", [(dict(pads=[0, 0, 2, 2]), 3), (dict(auto_pad="SAME_UPPER", strides=[2, 2]), 2)])
def test_a_dilated_window_over_the_whole_input_is_bit_identical_to_the_runtime(attributes, side, tmp_path):
    """This is not a GEMM: the window reaches into the padding after the input."""
    random = np.random.default_rng(SEED)
    x = random_integers(random, np.int8, (1, 3, side, side))
    constants = {"s": np.float32(0.1), "z": np.int8(3), "w": random_integers(random, np.int8, (4, 3, side, side)), "wz": np.int8(0)}
    model = model_of([helper.make_node("QLinearConv", ["x", "s", "z", "w", "s", "wz", "s", "z"], ["y"], dilations=[2, 2], **attributes)],
                     {"x": x}, constants)
    expected = Executor(model).run({"x": x})
    generate(model, tmp_path / "net.c")
    np.testing.assert_array_equal(compiled(["net"], tmp_path)["net"].run([x], expected)[0], expected[0])


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32])
def test_means_of_large_integers_are_bit_identical_to_the_runtime(kind, tmp_path):
    x = np.array([[np.iinfo(kind).max] * 3 + [1], [np.iinfo(kind).min] * 3 + [7]], kind)
    model = model_of([helper.make_node("ReduceMean", ["x", "axes"], ["y"])], {"x": x}, {"axes": np.array([1])})
    expected = Executor(model).run({"x": x})
    generate(model, tmp_path / "net.c")
    made = compiled(["net"], tmp_path, "-fsanitize=undefined", "-fno-sanitize-recover")["net"].run([x], expected)[0]
    np.testing.assert_array_equal(made, expected[0])


@pytest.mark.parametrize("recipe", ["ternary-weights", "binary-weights", "log8-weights"])
def test_packed_weights_of_one_row_compile_without_a_warning(anybit, recipe, tmp_path):
    x = np.array([[0.5]], np.float32)
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": x}, {"w": np.array([[1, -2, 3, -4, 5]], np.float32)})
    onnx.save(model, tmp_path / "net.onnx")
    anybit("quantize", tmp_path / "net.onnx", "-o", tmp_path / "net.q.onnx", "--recipe", recipe)
    made = onnx.load(tmp_path / "net.q.onnx")
    expected = Executor(made).run({"x": x})
    generate(made, tmp_path / "net.c")
    np.testing.assert_allclose(compiled(["net"], tmp_path)["net"].run([x], expected)[0], expected[0], rtol=1e-6)


@pytest.mark.parametrize("outputs", [["y0", "y1", "y2"], ["", "y1", "y2"], ["y0"], ["", "", "y2"]])
def test_a_loop_carried_value_need_not_be_an_output(outputs, tmp_path):
    def port(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    nodes = [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Identity", ["a"], ["row"])]
    state = [port("a", TensorProto.FLOAT, [3]), port("b", TensorProto.FLOAT, [3])]
    body = helper.make_graph(nodes, "body", [port("turn", TensorProto.INT64, []), port("go", TensorProto.BOOL, []), *state],
                             [port("on", TensorProto.BOOL, []), port("s", TensorProto.FLOAT, [3]), port("a", TensorProto.FLOAT, [3]),
                              port("row", TensorProto.FLOAT, [3])])
    feeds = {"x": np.array([1, 2, 3], np.float32), "z": np.array([5, 4, 3], np.float32)}
    model = model_of([helper.make_node("Loop", ["n", "", "x", "z"], outputs, body=body)], feeds, {"n": np.array(5)}, list(filter(None, outputs)))
    expected = Executor(model).run(feeds)
    generate(model, tmp_path / "net.c")
    for made, right in zip(compiled(["net"], tmp_path)["net"].run(list(feeds.values()), expected), expected):
        np.testing.assert_array_equal(made, right)


def test_a_resize_to_nothing_by_a_tiny_scale_is_generated(tmp_path):
    """The filter would be 1e37 elements wide, which must not overflow the conversion to an integer."""
    x = np.zeros((0, 1, 4, 4), np.float32)
    model = model_of([helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear", antialias=1)], {"x": x},
                     {"scales": np.array([1e-37, 1, 0.6, 0.6], np.float32)})
    expected = Executor(model).run({"x": x})
    assert expected[0].shape == (0, 1, 2, 2)
    generate(model, tmp_path / "net.c")


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("op,more,attributes", [
    ("ReduceMax", [np.array([1])], {}), ("ReduceMin", [np.array([2])], {"keepdims": 0}), ("GatherND", [np.array([[1, 2], [0, 1]])], {}),
    ("GatherElements", [np.full((2, 3, 1), -2)], {"axis": 2}), ("ReverseSequence", [np.array([2, 3])], {"time_axis": 1, "batch_axis": 0})])
def test_pass_through_operators_copy_integers(op, more, attributes, kind, tmp_path):
    random = np.random.default_rng(SEED)
    x = random_integers(random, kind, (2, 3, 4))
    constants = {"s": np.float32(0.02), "z": kind(5), **{f"more{i}": value for i, value in enumerate(more)}}
    nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["f"]),
             helper.make_node(op, ["f", *(f"more{i}" for i in range(len(more)))], ["m"], **attributes),
             helper.make_node("QuantizeLinear", ["m", "s", "z"], ["y"])]
    model = model_of(nodes, {"x": x}, constants)
    expected = Executor(model, fuse=False).run({"x": x})
    generate(model, tmp_path / "net.c")
    assert "float" not in re.sub(r"/\*.*?\*/|//.*", "", (tmp_path / "net.c").read_text(), flags=re.S)
    np.testing.assert_array_equal(compiled(["net"], tmp_path)["net"].run([x], expected)[0], expected[0])
