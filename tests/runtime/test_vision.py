"""Resize and operators that sample images, compared with ONNX Runtime."""
import itertools

import numpy as np
import pytest
from support.executing import ExecutorError
from support.one_node import compare, model_of, ours

COORDINATES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]


def image(random, *shape, kind=np.float32):
    return (random.random(shape) * 200).astype(kind)


def resize(x, scales=None, sizes=None, rtol=1e-4, atol=2e-3, opset=19, **attributes):
    inputs = [x, None, None if scales is None else np.array(scales, np.float32)]
    inputs += [] if sizes is None else [np.array(sizes, np.int64)]
    return compare("Resize", inputs, rtol=rtol, atol=atol, opset=opset, constants=(2, 3), **attributes)


@pytest.mark.parametrize("mode,coordinates", list(itertools.product(["nearest", "linear", "cubic"], COORDINATES)))
def test_resizes_of_every_mode(mode, coordinates):
    random = np.random.default_rng(1)
    x = image(random, 2, 3, 8, 12)  # integral output sizes: for others the runtimes differ on align_corners
    for scales in ([1, 1, 2, 2], [1, 1, 0.5, 0.75], [1, 1, 3, 0.5]):
        resize(x, scales, mode=mode, coordinate_transformation_mode=coordinates)
    resize(x, sizes=[2, 3, 14, 5], mode=mode, coordinate_transformation_mode=coordinates)


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest_mode_supports_all_roundings(rounding):
    x = image(np.random.default_rng(2), 1, 2, 8, 6)
    for coordinates in COORDINATES:
        for scales in ([1, 1, 2, 2], [1, 1, 0.5, 0.5], [1, 1, 4, 1]):
            resize(x, scales, nearest_mode=rounding, coordinate_transformation_mode=coordinates)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialiased_resizes(mode):
    x = image(np.random.default_rng(3), 1, 2, 20, 30)
    for scales in ([1, 1, 0.3, 0.4], [1, 1, 2, 0.5]):
        for outside in (0, 1):
            resize(x, scales, mode=mode, antialias=1, exclude_outside=outside)


def test_resizes_of_one_and_three_spatial_axes():
    random = np.random.default_rng(4)
    resize(image(random, 2, 3, 11), [1, 1, 2.5], mode="linear")
    resize(image(random, 1, 2, 3, 4, 5), [1, 1, 2, 2, 2], mode="linear")
    resize(image(random, 1, 2, 3, 4, 5), [1, 1, 2, 3, 2], mode="nearest")


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.float16])
def test_resizes_of_small_types_are_rounded_once(kind):
    x = (np.random.default_rng(5).random((1, 2, 6, 6)) * 100).astype(kind)
    inputs = [x, None, np.array([1, 1, 2, 2], np.float32)]
    got, = ours(model_of("Resize", inputs, opset=19, mode="linear"), inputs)
    wide = [x.astype(np.float64), *inputs[1:]]
    wanted, = ours(model_of("Resize", wide, opset=19, mode="linear"), wide)
    np.testing.assert_array_equal(got, np.rint(wanted).astype(kind) if kind != np.float16 else wanted.astype(kind))


def test_a_region_is_cropped_and_resized():
    x = image(np.random.default_rng(6), 1, 1, 6, 6)
    inputs = [x, np.array([0, 0, 0.21, -0.33, 1, 1, 0.83, 1.44], np.float32), None, np.array([1, 1, 5, 7])]
    for mode in ("nearest", "linear", "cubic"):
        compare("Resize", inputs, opset=19, constants=(1, 3), mode=mode, atol=1e-3, rtol=1e-4, extrapolation_value=9.0,
                coordinate_transformation_mode="tf_crop_and_resize")


def test_upsample_and_the_first_resize():
    x = image(np.random.default_rng(7), 1, 2, 4, 5)
    scales = np.array([1, 1, 2, 3], np.float32)
    for mode in ("nearest", "linear"):
        compare("Upsample", [x, scales], opset=9, constants=(1,), mode=mode, atol=1e-3)
        compare("Resize", [x, scales], opset=10, constants=(1,), mode=mode, atol=1e-3)


@pytest.mark.parametrize("mode,padding,align", list(itertools.product(
    ["linear", "nearest", "cubic"], ["zeros", "border", "reflection"], [0, 1])))
def test_grid_sample(mode, padding, align):
    random = np.random.default_rng(8)
    x = image(random, 2, 3, 5, 6)
    grid = (random.random((2, 4, 7, 2)) * 4 - 2).astype(np.float32)
    compare("GridSample", [x, grid], opset=20, mode=mode, padding_mode=padding, align_corners=align, atol=1e-2, rtol=1e-3)


def test_a_grid_may_hold_anything():
    x = image(np.random.default_rng(9), 1, 1, 3, 3)
    grid = np.array([np.nan, np.inf, -np.inf, 1e38, -1e38, 0], np.float32).reshape(1, 1, 3, 2)
    for mode, padding in itertools.product(["linear", "nearest", "cubic"], ["zeros", "border", "reflection"]):
        inputs = [x, grid]
        got, = ours(model_of("GridSample", inputs, opset=20, mode=mode, padding_mode=padding), inputs)
        assert got.shape == (1, 1, 1, 3)


@pytest.mark.parametrize("mode,sampling,coordinates", list(itertools.product(
    ["avg", "max"], [0, 2], ["half_pixel", "output_half_pixel"])))
def test_roi_align(mode, sampling, coordinates):
    random = np.random.default_rng(10)
    x = image(random, 2, 3, 8, 9)
    corners = random.random((5, 2)) * 6
    rois = np.concatenate([corners, corners + random.random((5, 2)) * 6], 1).astype(np.float32)
    batches = random.integers(0, 2, 5)
    compare("RoiAlign", [x, rois, batches], opset=16, mode=mode, sampling_ratio=sampling, output_height=3, output_width=2,
            coordinate_transformation_mode=coordinates, spatial_scale=0.75, atol=1e-2, rtol=1e-3)


def test_max_roi_pool():
    random = np.random.default_rng(11)
    x = image(random, 2, 3, 8, 9)
    rois = np.array([[0, 0, 0, 5, 5], [1, 2, 3, 8, 7], [1, 4, 4, 4, 4]], np.float32)
    compare("MaxRoiPool", [x, rois], opset=16, pooled_shape=[2, 3])


def test_non_max_suppression_matches_onnx_runtime():
    random = np.random.default_rng(12)
    for seed in range(6):
        corners = random.random((2, 30, 2)) * 5
        boxes = np.concatenate([corners, corners + random.random((2, 30, 2)) * 3], 2).astype(np.float32)
        scores = random.random((2, 4, 30)).astype(np.float32)
        inputs = [boxes, scores, np.array([8]), np.array([0.3], np.float32), np.array([0.4], np.float32)]
        compare("NonMaxSuppression", inputs, opset=11, types=[7], center_point_box=seed % 2)


def test_col2im_and_det():
    random = np.random.default_rng(13)
    columns = image(random, 2, 3 * 4, 12)
    compare("Col2Im", [columns, np.array([4, 5]), np.array([2, 2])], opset=18, rtol=1e-4)
    compare("Det", [random.random((3, 4, 4)).astype(np.float32)], rtol=1e-4)


@pytest.mark.parametrize("op_type,inputs,about", [
    ("Resize", [np.zeros((1, 1), np.float32), None, np.array([1, -1], np.float32)], {}),
    ("Resize", [np.zeros((1, 1), np.float32), None, np.array([1, np.nan], np.float32)], {}),
    ("Resize", [np.zeros((1, 1), np.float32), None, np.array([1, 1e38], np.float32)], {}),
    ("Resize", [np.zeros((1, 1), np.float32), None, None, np.array([1, -4])], {}),
    ("Resize", [np.zeros((1, 0), np.float32), None, None, np.array([1, 4])], {}),
    ("Resize", [np.zeros((1, 1), np.float32), None, None, np.array([1, 4, 4])], {}),
    ("Resize", [np.zeros((1, 1), np.float32)], {}),
    ("RoiAlign", [np.zeros((1, 1, 2, 2), np.float32), np.zeros((1, 4), np.float32), np.array([1])], {}),
    ("RoiAlign", [np.zeros((1, 1, 2, 2), np.float32), np.array([[0, 0, 1e30, 1]], np.float32), np.array([0])], {}),
    ("MaxRoiPool", [np.zeros((1, 1, 2, 2), np.float32), np.array([[1, 0, 0, 1, 1]], np.float32)], {"pooled_shape": [1, 1]}),
    ("GridSample", [np.zeros((1, 1, 2, 2), np.float32), np.zeros((1, 1, 1, 3), np.float32)], {}),
])
def test_mismatched_inputs_are_an_error(op_type, inputs, about):
    with pytest.raises(ExecutorError, match=op_type):
        ours(model_of(op_type, inputs, **about), inputs)


def test_a_broken_image_is_empty():
    for data in (b"", b"no image", b"\x89PNG\r\n\x1a\n broken", b"RIFF\0\0\0\0WEBPVP8 "):
        inputs = [np.frombuffer(data, np.uint8)]
        assert ours(model_of("ImageDecoder", inputs), inputs)[0].shape == (0, 0, 3)


@pytest.mark.parametrize("channels,mode", [(16, "nearest"), (16, "linear"), (12, "nearest"), (12, "linear"), (16, "cubic")])
def test_resize_and_concat_between_convolutions(channels, mode):
    """In any output layout of the convolution."""
    from onnx import TensorProto, helper, numpy_helper
    from support.one_node import theirs
    random = np.random.default_rng(14)
    weights = {"w1": random.standard_normal((channels, 3, 3, 3)), "w2": random.standard_normal((5, 2 * channels, 1, 1)),
               "scales": np.array([1, 1, 2, 2])}
    nodes = [helper.make_node("Conv", ["x0", "w1"], ["a"], pads=[1, 1, 1, 1]),
             helper.make_node("Resize", ["a", "", "scales"], ["b"], mode=mode),
             helper.make_node("Resize", ["b", "", "half"], ["c"], mode="linear"),
             helper.make_node("Concat", ["a", "c"], ["d"], axis=1),
             helper.make_node("Conv", ["d", "w2"], ["y"])]
    weights["half"] = np.array([1, 1, 0.5, 0.5])
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, 3, 8, 10])],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "ybd"],
                              [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    inputs = [random.random((1, 3, 8, 10)).astype(np.float32)]
    for got, wanted in zip(ours(model, inputs), theirs(model, inputs)):
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)
