"""Calibration data as people have it: images of any shape and colour order, pixels as bytes, folders with other files."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

SEED = 11
HEIGHT, WIDTH = 30, 50  # of the photo


@pytest.fixture
def photo(tmp_path):
    """A smooth image, so that interpolation differs little between implementations; every channel differs."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    pixels = np.stack([x * 5, y * 8, (x + y) * 3], axis=-1).astype(np.uint8)
    path = tmp_path / "photo.png"
    Image.fromarray(pixels).save(path)
    return path


def identity(path, dims, kind=TensorProto.FLOAT):
    ports = [helper.make_tensor_value_info(name, kind, dims) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", ports[:1], ports[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def convolution(path):
    """A layer to quantize."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, 8, 8]) for name in "xy"]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3, 3, 1, 1], np.float32([[1, 2, 3], [4, -5, 6], [7, 8, 9]]).ravel())
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], name="conv")], "g", ports[:1], ports[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def read(anybit, tmp_path):
    """What the model gets, read by `anybit run`."""
    def read(model, data, *options):
        anybit("run", model, "--input", f"x={data}", "-o", tmp_path / "out", *options)
        return np.load(tmp_path / "out" / "y.npy")
    return read


def resized(image, height, width):
    return np.asarray(image.resize((width, height), Image.BILINEAR), np.float32)


def letterboxed(image, side):
    """Ultralytics' definition: the scale fits both sides, the borders are gray 114."""
    scale = min(side / image.height, side / image.width)
    height, width = round(image.height * scale), round(image.width * scale)
    frame = np.full((side, side, 3), 114, np.float32)
    top, left = round((side - height) / 2 - 0.1), round((side - width) / 2 - 0.1)
    frame[top:top + height, left:left + width] = resized(image, height, width)
    return frame


def cropped(image, shorter, side):
    """torchvision's Resize(shorter) and CenterCrop(side)."""
    least = min(image.height, image.width)
    height, width = (shorter if size == least else int(shorter * size / least) for size in (image.height, image.width))
    top, left = int(round((height - side) / 2)), int(round((width - side) / 2))
    return resized(image, height, width)[top:top + side, left:left + side]


# Pillow rounds to bytes between its two passes.
def test_images_keep_their_proportions_as_in_the_tools_of_the_field(read, photo, tmp_path):
    model, image = identity(tmp_path / "m.onnx", [1, 3, 24, 24]), Image.open(photo)
    for option, expected in [("letterbox", letterboxed(image, 24)), ("crop:28", cropped(image, 28, 24)), ("crop", cropped(image, 24, 24)),
                             ("stretch", resized(image, 24, 24))]:
        found = read(model, photo, "--resize", option, "--scale", 255)
        np.testing.assert_allclose(found[0].transpose(1, 2, 0), expected, atol=1.6, err_msg=option)
    assert (read(model, photo, "--resize", "letterbox:0", "--scale", 255)[0, :, 0] == 0).all()


def test_the_shorter_side_gets_the_size_of_a_model_that_takes_any(read, photo, tmp_path):
    model = identity(tmp_path / "m.onnx", [1, 3, "h", "w"])
    assert read(model, photo, "--resize", "shorter", "--size", 15).shape == (1, 3, 15, 25)
    assert read(model, photo, "--size", "12x20").shape == read(model, photo, "--size", "12,20").shape == (1, 3, 12, 20)


def test_channels_and_scale_are_those_of_the_model(read, photo, tmp_path):
    planes, rows = identity(tmp_path / "a.onnx", [1, 3, HEIGHT, WIDTH]), identity(tmp_path / "b.onnx", [1, HEIGHT, WIDTH, 3])
    pixels = np.asarray(Image.open(photo), np.float32)
    np.testing.assert_array_equal(read(rows, photo, "--scale", 255)[0], pixels)
    np.testing.assert_array_equal(read(rows, photo, "--scale", 255, "--channels", "BGR")[0], pixels[:, :, ::-1])
    mean, deviation = np.float32([104, 117, 123]), np.float32([57, 58, 59])
    found = read(planes, photo, "--scale", 255, "--channels", "bgr", "--mean", "104,117,123", "--std", "57,58,59")
    np.testing.assert_array_equal(found[0].transpose(1, 2, 0), (pixels[:, :, ::-1] - mean) / deviation)


def test_bytes_are_pixels_if_the_scale_is_given(anybit, read, photo, tmp_path):
    model = identity(tmp_path / "m.onnx", [1, 3, HEIGHT, WIDTH])
    pixels = np.asarray(Image.open(photo)).transpose(2, 0, 1)[None]
    np.save(tmp_path / "pixels.npy", pixels)
    said = anybit("run", model, "--input", f"x={tmp_path / 'pixels.npy'}", code=2).stderr
    assert "the array is uint8, but the input takes float32" in said and "--scale 1" in said
    np.testing.assert_array_equal(read(model, tmp_path / "pixels.npy", "--scale", 255), pixels.astype(np.float32))
    options = ["--mean", "0.4,0.5,0.6", "--std", "0.2,0.3,0.4"]
    np.testing.assert_array_equal(read(model, tmp_path / "pixels.npy", *options), read(model, photo, *options))


@pytest.mark.parametrize("options,message", [
    (["--mean", "0.5"], "--mean has no effect: the samples have neither images nor uint8 pixels"),
    (["--layout", "NCHW"], "--layout has no effect"),
    (["--size", "8"], "--size has no effect: the samples have no images"),
    (["--resize", "letterbox"], "--resize has no effect"),
    (["--channels", "BGR"], "--channels has no effect"),
])
def test_options_without_effect_are_refused(anybit, tmp_path, options, message):
    model = identity(tmp_path / "m.onnx", [1, 3, 8, 8])
    np.save(tmp_path / "x.npy", np.random.default_rng(SEED).random((2, 3, 8, 8), np.float32))
    assert message in anybit("calibrate", model, "--data", tmp_path / "x.npy", "-o", tmp_path / "r.json", *options, code=2).stderr


@pytest.mark.parametrize("options,message", [
    (["--resize", "fill"], "stretch, letterbox"), (["--resize", "letterbox:256"], "stretch, letterbox"), (["--resize", "crop:0"], "stretch, letterbox"),
    (["--resize", "crop:999999999999"], "stretch, letterbox"), (["--resize", "crop:4"], "does not fit into an image of 4 x 6"),
    (["--size", "8x"], "a size like 224"), (["--size", "0"], "a size like 224"), (["--size", "1000000x1000000"], "too large"),
    (["--channels", "RGBA"], "RGB or BGR"), (["--scale", "0"], "a number from"), (["--mean", "127"], "--scale 255"),
])
def test_options_of_images_name_what_is_wrong(anybit, photo, tmp_path, options, message):
    model = identity(tmp_path / "m.onnx", [1, 3, "h", "w"] if "--size" in options else [1, 3, 8, 8])
    said = anybit("calibrate", model, "--data", photo, "-o", tmp_path / "r.json", *options, code=(1, 2)).stderr
    assert message in said, said


def test_other_files_of_a_folder_are_skipped_with_a_remark(anybit, photo, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    photo.rename(folder / "1.png")
    for name in ("README.md", ".DS_Store", "labels.csv", "Thumbs.db"):
        (folder / name).write_text("not a sample")
    model = convolution(tmp_path / "m.onnx")
    said = anybit("calibrate", model, "--data", folder, "-o", tmp_path / "r.json").stderr
    assert "skipped, not samples:" in said and ".DS_Store" in said and "and 1 more" in said
    report = json.loads(anybit("quantize", model, "-o", tmp_path / "q.onnx", "--recipe", "int8", "--calib", folder, "--json").stdout)
    assert sum("skipped, not samples" in one for one in report["remarks"]) == 1
    (folder / "1.png").unlink()
    assert "has no file with samples" in anybit("calibrate", model, "--data", folder, "-o", tmp_path / "r.json", code=2).stderr


@pytest.mark.parametrize("value", [0, 0.5])
def test_constant_data_is_remarked(anybit, tmp_path, value):
    model = convolution(tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.full((5, 3, 8, 8), value, np.float32))
    remark = f"input 'x': every value of all 5 samples is {value}: is this real data?"
    assert remark in anybit("calibrate", model, "--data", tmp_path / "x.npy", "-o", tmp_path / "r.json").stderr
    assert remark in anybit("quantize", model, "-o", tmp_path / "q.onnx", "--recipe", "int8", "--calib", tmp_path / "x.npy").stdout
    assert remark in anybit("compare", model, model, "--data", tmp_path / "x.npy").stdout


def test_an_array_of_another_name_needs_the_name_of_its_input(anybit, tmp_path):
    model = identity(tmp_path / "m.onnx", [1, 3, 8, 8])
    data = np.random.default_rng(SEED).random((2, 3, 8, 8), np.float32)
    for name in ("arr_0", "pixels"):
        np.savez_compressed(tmp_path / "data.npz", **{name: data})
        said = anybit("calibrate", model, "--data", tmp_path / "data.npz", "-o", tmp_path / "r.json", code=2).stderr
        assert f"there is no input '{name}'" in said and "x=PATH" in said
        anybit("calibrate", model, "--data", f"x={tmp_path / 'data.npz'}", "-o", tmp_path / "r.json")


def test_messages_about_a_sample_begin_with_it(anybit, tmp_path):
    model = convolution(tmp_path / "m.onnx")
    path = tmp_path / "bad.npy"
    np.save(path, np.ones((1, 3, 8, 9), np.float32))
    for words in (["quantize", model, "-o", tmp_path / "q.onnx", "--recipe", "int8", "--calib", path],
                  ["calibrate", model, "-o", tmp_path / "r.json", "--data", path], ["compare", model, model, "--data", path]):
        assert anybit(*words, code=2).stderr.startswith(f"anybit: sample 0 ({path}): "), words
    assert anybit("run", model, "--input", f"x={path}", code=2).stderr.startswith(f"anybit: sample 0 ({path}): ")


def test_random_inputs_have_sizes_that_models_take(anybit, tmp_path):
    cases = {(TensorProto.FLOAT, ("n", 3, "h", "w")): [1, 3, 224, 224], (TensorProto.FLOAT, ("n", "h", "w", 1)): [1, 224, 224, 1],
             (TensorProto.INT64, ("n", "tokens")): [1, 16], (TensorProto.FLOAT, ("n", "samples")): [1, 16000],
             (TensorProto.FLOAT, ("n", 80, "frames")): [1, 80, 128], (TensorProto.FLOAT, ("n", "tokens", 64)): [1, 16, 64]}
    for (kind, dims), expected in cases.items():
        model = identity(tmp_path / "m.onnx", list(dims), kind)
        said = anybit("run", model).stdout
        assert str(expected) in said, said
    assert "[1, 8]" in anybit("run", identity(tmp_path / "m.onnx", ["n", "tokens"], TensorProto.INT64), "--dim", "tokens=8").stdout


def test_an_error_on_guessed_sizes_says_how_to_give_others(anybit, tmp_path):
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "s"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, ["n", "tokens", 4])],
                              [helper.make_tensor_value_info("y", 1, None)], [helper.make_tensor("s", TensorProto.INT64, [2], [3, 4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    said = anybit("run", tmp_path / "m.onnx", code=(1, 2)).stderr
    assert "tokens=16" in said and "--dim" in said, said
    assert "tokens=16" in anybit("bench", tmp_path / "m.onnx", code=(1, 2)).stderr
    anybit("run", tmp_path / "m.onnx", "--dim", "tokens=3")


def test_small_things(anybit, tmp_path):
    assert "Subcommands:" in anybit().stdout
    model = convolution(tmp_path / "m.onnx")
    assert "did you mean 'c-gen'?" in anybit("codegen", model, "--target", "c", "-o", tmp_path / "m.c", code=2).stderr
    np.save(tmp_path / "nan.npy", np.where(np.arange(192) == 7, np.nan, 1).reshape(1, 3, 8, 8).astype(np.float32))
    for words in (["calibrate", model, "-o", tmp_path / "r.json", "--data"], ["quantize", model, "-o", tmp_path / "q.onnx", "--recipe", "int8", "--calib"]):
        assert "--allow-nan" in anybit(*words, tmp_path / "nan.npy", code=1).stderr, words


def test_models_without_finite_outputs_are_not_called_equal(anybit, tmp_path):
    model = identity(tmp_path / "m.onnx", [1, 4])
    np.save(tmp_path / "nan.npy", np.full((1, 4), np.nan, np.float32))
    verdict = json.loads(anybit("compare", model, model, "--data", tmp_path / "nan.npy", "--json").stdout)["verdict"]
    assert verdict["level"] == "unknown" and "no finite values" in verdict["reason"], verdict
