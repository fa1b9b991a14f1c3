"""anybit calibrate on the command line, compared with numpy and ONNX Runtime."""
import json
import os
import pty
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.measured import run

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
MODELS = ROOT / "build" / "models"


@pytest.fixture(scope="session")
def pixels():
    """Handwritten digits, [n, 28, 28] bytes."""
    return np.load(DIGITS / "test_images.npy").reshape(-1, 28, 28)


@pytest.fixture(scope="session")
def digits(pixels):
    return ((pixels.astype(np.float32) / 255 - 0.1307) / 0.3081).astype(np.float32).reshape(-1, 1, 28, 28)


def lines_of_digits(pixels, height, width, count, seed=0):
    """Images [3, height, width] of rows of handwritten digits, from -1 to 1, as inputs of the OCR models."""
    random = np.random.default_rng(seed)
    scale = height // 28 or 1
    result = []
    for _ in range(count):
        row = np.zeros((height, width), np.float32)
        for left in range(0, width - 28 * scale, 30 * scale):
            one = np.kron(pixels[random.integers(len(pixels))], np.ones((scale, scale)))
            top = (height - 28 * scale) // 2
            row[top:top + 28 * scale, left:left + 28 * scale] = one
        result.append(np.broadcast_to(row / 127.5 - 1, (3, height, width)))
    return np.stack(result).astype(np.float32)


def float_values(model):
    """Names of the float32 outputs of nodes in the main graph, and the model with all of them as outputs."""
    model = onnx.shape_inference.infer_shapes(model)
    given = {one.name for one in model.graph.output}
    names = []
    for node in model.graph.node:
        for name in node.output:
            if name and node.op_type != "Constant":
                names.append(name)
                if name not in given:
                    model.graph.output.append(onnx.ValueInfoProto(name=name))
    return names, model


def peer_statistics(path, samples):
    """The values of all samples by name, from ONNX Runtime without optimizations."""
    names, model = float_values(onnx.load(path))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = {}
    for sample in samples:
        outputs = dict(zip([one.name for one in session.get_outputs()], session.run(None, sample)))
        for name in names:
            value = outputs[name]
            if isinstance(value, np.ndarray) and value.dtype == np.float32:
                found.setdefault(name, []).append(value.ravel())
    return {name: np.concatenate(values) for name, values in found.items()}


REAL = [
    ("examples/digits/digits.onnx", "image", None),
    ("build/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", "x", (48, 192)),
    ("build/models/ch_PP-OCRv4_rec_infer.onnx", "x", (48, 320)),
    ("build/models/ch_PP-OCRv4_det_infer.onnx", "x", (160, 160)),
]


@pytest.mark.parametrize("path,name,size", REAL, ids=[Path(one[0]).stem for one in REAL])
def test_minima_and_maxima_match_onnx_runtime(anybit, digits, pixels, tmp_path, path, name, size):
    data = digits[:6] if size is None else lines_of_digits(pixels, *size, 3)
    np.save(tmp_path / "data.npy", data)
    expected = peer_statistics(ROOT / path, [{name: one[None]} for one in data])
    done = anybit("calibrate", ROOT / path, "--data", tmp_path / "data.npy", "-o", tmp_path / "r.json", "--json")
    tensors = json.loads(done.stdout)["tensors"]
    assert set(expected) <= set(tensors)
    for value, numbers in expected.items():
        ours = tensors[value]
        tolerance = 1e-4 * max(1, np.abs(numbers).max())
        assert ours["count"] == numbers.size, value
        assert ours["samples"] == len(data), value
        assert abs(ours["min"] - numbers.min()) <= tolerance, value
        assert abs(ours["max"] - numbers.max()) <= tolerance, value
    assert tensors[name]["min"] == data.min() and tensors[name]["max"] == data.max()


@pytest.mark.parametrize("percentile", [99.999, 99.9, 95])
def test_percentiles_match_numpy(anybit, digits, tmp_path, percentile):
    np.save(tmp_path / "data.npy", digits[:20])
    expected = peer_statistics(DIGITS / "digits.onnx", [{"image": one[None]} for one in digits[:20]])
    done = anybit("calibrate", DIGITS / "digits.onnx", "--data", tmp_path / "data.npy", "-o", tmp_path / "r.json",
                  "--observer", "percentile", "--percentile", percentile, "--json")
    tensors = json.loads(done.stdout)["tensors"]
    cut = (100 - percentile) / 2
    for value, numbers in expected.items():
        low, high = np.percentile(numbers, [cut, 100 - cut])
        # Bins are at most 1/128 wide; values in the sparse tail are further apart.
        slack = 0.01 * max(abs(low), abs(high)) + 1e-4
        nearest = np.sort(numbers)
        rank = int((numbers.size - 1) * (1 - cut / 100))
        gap = nearest[min(rank + 1, numbers.size - 1)] - nearest[rank]
        assert abs(tensors[value]["high"] - high) <= slack + gap, value
        rank = int((numbers.size - 1) * cut / 100)
        gap = nearest[min(rank + 1, numbers.size - 1)] - nearest[rank]
        assert abs(tensors[value]["low"] - low) <= slack + gap, value


def test_percentile_requires_the_percentile_observer(anybit, digits, tmp_path):
    done = anybit("calibrate", DIGITS / "model.onnx", "--data", digits, "-o", tmp_path / "r.json", "--observer", "minmax",
                  "--percentile", "50", code=2)
    assert "--observer percentile" in done.stderr


def test_threads_and_order_and_shards_do_not_change_the_ranges(anybit, digits, tmp_path):
    def calibrated(data, name, *more):
        np.save(tmp_path / f"{name}.npy", data)
        anybit("calibrate", DIGITS / "digits.onnx", "--data", tmp_path / f"{name}.npy", "-o", tmp_path / f"{name}.json", *more)
        return tmp_path / f"{name}.json"

    def without_order(path):
        ranges = json.loads(path.read_text())
        averages = [one.pop("moving_average") for one in ranges["tensors"].values()]
        return ranges, averages

    whole = calibrated(digits[:30], "whole", "--threads", 1)
    assert calibrated(digits[:30], "threads", "--threads", 3).read_bytes() == whole.read_bytes()
    assert without_order(calibrated(digits[:30][::-1], "reversed"))[0] == without_order(whole)[0]
    shards = [calibrated(digits[begin:begin + 10], f"shard{begin}") for begin in (0, 10, 20)]
    anybit("calibrate", "--merge", *shards, "-o", tmp_path / "merged.json")
    merged, averages = without_order(tmp_path / "merged.json")
    expected, expected_averages = without_order(whole)
    assert merged == expected
    done = anybit("calibrate", "--merge", *shards, "--data", tmp_path, "-o", tmp_path / "merged.json", code=2)
    assert "merged without samples" in done.stderr
    done = anybit("calibrate", "--merge", shards[0], shards[1], shards[0], "-o", tmp_path / "merged.json", code=2)
    assert "is given twice" in done.stderr
    for word in (["--allow-nan"], ["--momentum", "0.5"]):
        assert "--merge" in anybit("calibrate", "--merge", *shards, *word, "-o", tmp_path / "merged.json", code=2).stderr
    for ours, theirs in zip(averages, expected_averages):
        for end in ("min", "max"):
            assert ours[end]["value"] == pytest.approx(theirs[end]["value"], rel=1e-9, abs=1e-9)


def test_memory_does_not_grow_with_the_number_of_samples(tool, digits, tmp_path):
    peaks = []
    for repeat in (1, 100):  # 300 KB, 30 MB
        np.save(tmp_path / "data.npy", np.tile(digits[:100], (repeat, 1, 1, 1)))
        _, peak, _ = run([tool("anybit"), "calibrate", DIGITS / "digits.onnx", "--data", tmp_path / "data.npy", "-o", tmp_path / "r.json",
                          "--threads", "2"])
        peaks.append(peak / 1000)
    assert peaks[1] < peaks[0] + 4000, peaks  # KB


def png(pixels):
    """The bytes of a PNG file of [h, w] or [h, w, 3] bytes."""
    colour = 2 if pixels.ndim == 3 else 0
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_every_kind_of_file_gives_the_same_ranges(anybit, digits, pixels, tmp_path):
    data = digits[:5]
    np.save(tmp_path / "batch.npy", data)
    np.save(tmp_path / "doubles.npy", data.astype(np.float64))
    np.save(tmp_path / "more_dims.npy", data[:, None])
    np.savez(tmp_path / "batch.npz", image=data)
    np.savez_compressed(tmp_path / "packed.npz", image=data)
    (tmp_path / "raw.bin").write_bytes(data.tobytes())
    (tmp_path / "batch.pb").write_bytes(numpy_helper.from_array(data).SerializeToString())
    for kind in ("npy", "npz", "pb", "png", "flat", "deep"):
        (tmp_path / kind).mkdir()
    for i, one in enumerate(data):
        np.save(tmp_path / "npy" / f"{i}.npy", one[None])
        np.save(tmp_path / "flat" / f"{i}.npy", one)
        np.savez(tmp_path / "npz" / f"{i}.npz", image=one[None])
        (tmp_path / "pb" / f"{i}.pb").write_bytes(numpy_helper.from_array(one[None]).SerializeToString())
        (tmp_path / "png" / f"{i}.png").write_bytes(png(pixels[i]))
        (tmp_path / "deep" / f"class{i}").mkdir()
        np.save(tmp_path / "deep" / f"class{i}" / "x.npy", one[None])
    (tmp_path / "npy" / ".hidden").write_text("not looked at")

    def calibrated(*arguments):
        anybit("calibrate", DIGITS / "digits.onnx", "-o", tmp_path / "r.json", *arguments)
        return json.loads((tmp_path / "r.json").read_text())

    expected = calibrated("--data", tmp_path / "batch.npy")
    assert expected["samples"] == 5
    for name in ("doubles.npy", "more_dims.npy", "batch.npz", "packed.npz", "raw.bin", "batch.pb", "npy", "flat", "npz", "pb", "deep"):
        assert calibrated("--data", tmp_path / name) == expected, name
    assert calibrated("--data", f"image={tmp_path / 'npy'}") == expected
    assert calibrated("--data", tmp_path / "npy" / "0.npy", *[tmp_path / "npy" / f"{i}.npy" for i in range(1, 5)]) == expected
    images = calibrated("--data", tmp_path / "png", "--mean", "0.1307", "--std", "0.3081")
    for name, one in expected["tensors"].items():
        assert images["tensors"][name]["max"] == pytest.approx(one["max"], rel=1e-4, abs=1e-4)
        assert images["tensors"][name]["min"] == pytest.approx(one["min"], rel=1e-4, abs=1e-4)
    assert calibrated("--data", tmp_path / "batch.npy", "--samples", 2)["samples"] == 2
    assert calibrated("--calib", tmp_path / "batch.npy") == expected  # as `quantize` calls it


@pytest.fixture
def image_model(tmp_path):
    """Identity of an image [1, 3, h, w]; h and w are symbolic."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, "h", "w"])
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y])
    path = tmp_path / "image.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_images_are_resized_and_normalized_per_channel(anybit, image_model, tmp_path):
    photo = np.random.default_rng(3).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    (tmp_path / "p.png").write_bytes(png(photo))

    def bounds(*arguments):
        done = anybit("calibrate", image_model, "--data", tmp_path / "p.png", "-o", tmp_path / "r.json", "--json", *arguments)
        return json.loads(done.stdout)["tensors"]["x"]

    plain = bounds()
    assert plain["count"] == 40 * 60 * 3
    assert (plain["min"], plain["max"]) == (pytest.approx(photo.min() / 255), pytest.approx(photo.max() / 255))
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    normal = bounds("--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225")
    expected = (photo / 255 - mean) / std
    assert normal["min"] == pytest.approx(expected.min(), abs=1e-5)
    assert normal["max"] == pytest.approx(expected.max(), abs=1e-5)
    halved = bounds("--size", "20,30")
    assert halved["count"] == 20 * 30 * 3
    assert plain["min"] < halved["min"] < halved["max"] < plain["max"]


@pytest.fixture
def two_inputs(tmp_path):
    """y = a / b, with a branch for large sums."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "ab"]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    branches = {}
    for name, op in (("then_branch", "Neg"), ("else_branch", "Abs")):
        result = helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, None)
        branches[name] = helper.make_graph([helper.make_node(op, ["ratio"], [f"{name}_out"])], name, [], [result])
    nodes = [helper.make_node("Div", ["a", "b"], ["ratio"], name="the_division"),
             helper.make_node("ReduceSum", ["ratio"], ["sum"], keepdims=0),
             helper.make_node("Greater", ["sum", "bound"], ["large"]),
             helper.make_node("If", ["large"], ["y"], **branches)]
    bound = numpy_helper.from_array(np.float32(1000), "bound")
    graph = helper.make_graph(nodes, "g", ports, [out], [bound])
    path = tmp_path / "two.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_inputs_are_paired_and_a_single_sample_is_broadcast(anybit, two_inputs, tmp_path):
    a = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", np.full((1, 3), 2, np.float32))
    np.save(tmp_path / "b3.npy", np.full((3, 3), 2, np.float32))
    done = anybit("calibrate", two_inputs, "--data", f"a={tmp_path / 'a.npy'}", f"b={tmp_path / 'b.npy'}", "-o", tmp_path / "r.json", "--json")
    tensors = json.loads(done.stdout)["tensors"]
    assert tensors["ratio"]["max"] == 6 and tensors["ratio"]["samples"] == 4
    assert tensors["else_branch_out"]["samples"] == 4 and tensors["then_branch_out"]["samples"] == 0
    assert "large" not in tensors
    done = anybit("calibrate", two_inputs, "--data", f"a={tmp_path / 'a.npy'}", f"b={tmp_path / 'b3.npy'}", "-o", tmp_path / "s.json", code=2)
    assert "3 samples of input 'b'" in done.stderr
    assert not (tmp_path / "s.json").exists()


@pytest.mark.parametrize("ir", [3, 8])
def test_ranges_of_a_model_whose_weights_are_inputs_suffice_for_quantization(anybit, tmp_path, ir):
    random = np.random.default_rng(0)
    weights = [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
               for name, shape in (("w", (4, 3, 3, 3)), ("b", (4,)), ("k", ()))]
    ports = [helper.make_tensor_value_info(one.name, TensorProto.FLOAT, list(one.dims)) for one in weights]
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w", "b"], ["c"]), helper.make_node("Add", ["c", "k"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8]), *ports],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=ir), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", random.standard_normal((1, 3, 8, 8)).astype(np.float32))
    anybit("calibrate", tmp_path / "m.onnx", "--data", tmp_path / "x.npy", "-o", tmp_path / "r.json")
    anybit("quantize", tmp_path / "m.onnx", "--ranges", tmp_path / "r.json", "-o", tmp_path / "by_ranges.onnx")
    anybit("quantize", tmp_path / "m.onnx", "--data", tmp_path / "x.npy", "-o", tmp_path / "by_samples.onnx")  # or --calib
    one, other = (onnx.load(tmp_path / f"by_{name}.onnx").graph for name in ("ranges", "samples"))
    assert [node.op_type for node in one.node] == [node.op_type for node in other.node]
    for a, b in zip(one.initializer, other.initializer, strict=True):
        np.testing.assert_allclose(numpy_helper.to_array(a), numpy_helper.to_array(b), rtol=1e-5)


def test_a_branch_that_no_sample_enters_is_reported(anybit, two_inputs, tmp_path):
    np.savez(tmp_path / "s.npz", a=np.ones((1, 3), np.float32), b=np.ones((1, 3), np.float32))
    text = anybit("calibrate", two_inputs, "--data", tmp_path / "s.npz", "-o", tmp_path / "r.json").stdout
    assert "1 values were not reached" in text and "then_branch_out" in text


def test_nan_is_reported_with_node_and_sample_unless_it_is_allowed(anybit, two_inputs, tmp_path):
    a, b = np.ones((5, 3), np.float32), np.ones((5, 3), np.float32)
    a[3, 1] = b[3, 1] = 0
    np.savez(tmp_path / "data.npz", a=a, b=b)
    done = anybit("calibrate", two_inputs, "--data", tmp_path / "data.npz", "-o", tmp_path / "r.json", code=1)
    for part in ("sample 3", "data.npz[3]", "the_division", "'ratio'", "NaN", "--allow-nan"):
        assert part in done.stderr, part
    assert not (tmp_path / "r.json").exists()
    text = anybit("calibrate", two_inputs, "--data", tmp_path / "data.npz", "-o", tmp_path / "r.json", "--allow-nan").stdout
    assert "ratio" in text and "first in sample 3" in text
    ranges = json.loads((tmp_path / "r.json").read_text())["tensors"]["ratio"]
    assert ranges["nans"] == 1 and ranges["max"] == 1


@pytest.mark.parametrize("arguments,message,code", [
    ([], "no samples", 2),
    (["--data", "missing.npy"], "there is no 'missing.npy'", 1),
    (["--data", "wrong_shape.npy"], "sample 0", 2),
    (["--data", "wrong_rank.npy"], "has no samples of", 2),
    (["--data", "wrong_type.npy"], "int64", 2),
    (["--data", "wrong_names.npz"], "there is no input", 2),
    (["--data", "broken.npy"], "broken.npy", 1),
    (["--data", "broken.png"], "PNG: the file is cut off", 1),
    (["--data", "text.png"], "not in a known image format", 1),
    (["--data", "short.bin"], "not a multiple of one sample", 2),
    (["--data", "empty_folder"], "is empty", 2),
    (["--data", "text.txt"], "the file type is not supported for samples", 2),
    (["--data", "imagee=good.npy"], "did you mean 'image'", 2),
    (["--data", "good.npy", "--observer", "minmix"], "minmax", 2),
    (["--data", "good.npy", "--samples", "0"], "--samples", 2),
    (["--data", "image.png", "--mean", "127.5"], "divide it by 255", 2),
    (["--data", "image.png", "--layout", "NWHC"], "NCHW or NHWC", 2),
    (["--data", "good.npy", "-o", "no/such/folder/r.json"], "no/such/folder", 1),
])
def test_wrong_samples_are_reported(anybit, digits, pixels, tmp_path, monkeypatch, arguments, message, code):
    monkeypatch.chdir(tmp_path)
    np.save("good.npy", digits[:2])
    np.save("wrong_shape.npy", digits[:2, :, :20])
    np.save("wrong_rank.npy", digits[:2, 0, 0])
    np.save("wrong_type.npy", digits[:2].astype(np.int64))
    np.savez("wrong_names.npz", image=digits[:2], other=digits[:2])
    Path("broken.npy").write_bytes(b"\x93NUMPY\1\0")
    Path("broken.png").write_bytes(png(pixels[0])[:20])
    Path("image.png").write_bytes(png(pixels[0]))
    Path("short.bin").write_bytes(b"1234567")
    Path("empty_folder").mkdir()
    Path("text.txt").write_text("hello")
    Path("text.png").write_text("hello")
    output = [] if "-o" in arguments else ["-o", "r.json"]
    done = anybit("calibrate", DIGITS / "digits.onnx", *arguments, *output, code=code)
    assert message in done.stderr
    assert not Path("r.json").exists()


def test_mismatched_or_damaged_ranges_are_rejected(anybit, digits, two_inputs, tmp_path):
    np.save(tmp_path / "x.npy", digits[:3])
    anybit("calibrate", DIGITS / "digits.onnx", "--data", tmp_path / "x.npy", "-o", tmp_path / "a.json")
    anybit("calibrate", DIGITS / "digits.onnx", "--data", tmp_path / "x.npy", "-o", tmp_path / "plain.json", "--observer", "minmax")
    np.savez(tmp_path / "s.npz", a=np.ones((1, 3), np.float32), b=np.ones((1, 3), np.float32))
    anybit("calibrate", two_inputs, "--data", tmp_path / "s.npz", "-o", tmp_path / "b.json")

    refused_codes = {tmp_path / "b.json": ("different models", 2), tmp_path / "plain.json": ("bins", 2)}
    text = (tmp_path / "a.json").read_text()
    for name, content in {"cut": text[:-100], "none": "", "other": "{}", "newer": text.replace('"version": 1', '"version": 2'),
                          "count": text.replace('"count": ', '"count": 1', 1), "deep": "[" * 100_000}.items():
        (tmp_path / f"{name}.json").write_text(content)
        refused_codes[tmp_path / f"{name}.json"] = ("", 1)
    refused_codes[tmp_path / "missing.json"] = ("missing.json", 1)
    for path, (message, code) in refused_codes.items():
        done = anybit("calibrate", "--merge", tmp_path / "a.json", path, "-o", tmp_path / "m.json", code=code)
        assert message in done.stderr, path
        assert not (tmp_path / "m.json").exists()


def test_a_call_without_a_model_or_with_the_model_as_output_is_rejected(anybit, digits, tmp_path):
    assert "no model" in anybit("calibrate", "-o", tmp_path / "r.json", code=2).stderr
    model = tmp_path / "m.onnx"
    model.write_bytes((DIGITS / "digits.onnx").read_bytes())
    np.save(tmp_path / "x.npy", digits[:1])
    done = anybit("calibrate", model, "--data", tmp_path / "x.npy", "-o", model, code=2)
    assert "overwrite the model" in done.stderr
    assert model.read_bytes() == (DIGITS / "digits.onnx").read_bytes()


def test_a_terminal_gets_a_bar_with_rate_and_time_left(tool, pixels, tmp_path):
    np.save(tmp_path / "x.npy", lines_of_digits(pixels, 48, 320, 8))
    main, side = pty.openpty()
    process = subprocess.Popen([tool("anybit"), "calibrate", MODELS / "ch_PP-OCRv4_rec_infer.onnx", "--data", tmp_path / "x.npy",
                                "-o", tmp_path / "r.json"], stderr=side, stdout=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"})
    os.close(side)
    shown = b""
    try:
        while part := os.read(main, 65536):
            shown += part
    except OSError:  # the other side is closed
        pass
    assert process.wait(timeout=120) == 0
    assert b"of 8 samples" in shown and b"[#" in shown and b"per second" in shown and b"left" in shown


def test_an_archive_and_a_path_of_the_same_input_are_not_mixed(anybit, tmp_path):
    image = np.load(DIGITS / "samples" / "3.npy")
    np.savez(tmp_path / "x.npz", image=image)
    said = anybit("calibrate", DIGITS / "digits.onnx", "--data", tmp_path / "x.npz", f"image={DIGITS / 'samples' / '4.npy'}",
                  "-o", tmp_path / "r.json", code=2).stderr
    assert "input 'image' is given twice" in said and not (tmp_path / "r.json").exists()
