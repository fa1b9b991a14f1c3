"""anybit calibrate --collect, compared with numpy on the values of ONNX Runtime."""
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"


@pytest.fixture(scope="session")
def digits():
    pixels = np.load(DIGITS / "test_images.npy").reshape(-1, 1, 28, 28)
    return ((pixels.astype(np.float32) / 255 - 0.1307) / 0.3081).astype(np.float32)


def rows_of(x, node, attributes, weight):
    """The input matrix of a layer (im2col for convolutions): [groups, rows, length]."""
    if node.op_type != "Conv":
        return x.reshape(1, -1, x.shape[-1])
    (height, width), groups = weight.shape[2:], attributes.get("group", 1)
    top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
    down, across = attributes.get("strides", [1, 1])
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), (2, 3))[:, :, ::down, ::across]
    n, channels, rows, columns = windows.shape[:4]
    split = windows.reshape(n, groups, channels // groups, rows, columns, height * width)
    return split.transpose(1, 0, 3, 4, 2, 5).reshape(groups, n * rows * columns, -1)


def matrix_of(found):
    """XᵀX from the file: [groups, length, length]."""
    groups, length, unit = found["groups"], found["length"], 2.0**(40 * found["digit"])
    high, low = (np.array(found[name].split(), np.float64).reshape(groups, -1) for name in ("high", "low"))
    full = np.zeros((groups, length, length))
    upper = np.triu_indices(length)
    full[:, upper[0], upper[1]] = high * unit + low * (unit / 2.0**40)
    return np.maximum(full, full.transpose(0, 2, 1)) + np.minimum(full, full.transpose(0, 2, 1)) - full * np.eye(length)


def test_second_moments_and_channel_maxima_match_numpy(anybit, digits, tmp_path):
    np.save(tmp_path / "data.npy", digits[:12])
    anybit("calibrate", DIGITS / "digits.onnx", "--data", tmp_path / "data.npy", "-o", tmp_path / "r.json",
           "--collect", "second-moment,channel-maxima")
    tensors = json.loads((tmp_path / "r.json").read_text())["tensors"]
    model = onnx.load(DIGITS / "digits.onnx")
    weights = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    watched = onnx.load(DIGITS / "digits.onnx")
    given = {one.name for one in watched.graph.output}
    watched.graph.output.extend(onnx.ValueInfoProto(name=name) for node in watched.graph.node for name in node.output
                                if name not in given)
    session = onnxruntime.InferenceSession(watched.SerializeToString(), providers=["CPUExecutionProvider"])
    found = dict(zip([one.name for one in session.get_outputs()], session.run(None, {"image": digits[:12]})))
    found["image"] = digits[:12]
    layers = [node for node in model.graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]
    assert len(layers) > 5 and any(weights[node.input[1]].shape[1] == 1 for node in layers)
    for node in layers:
        value = node.input[0]
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        rows = rows_of(found[value].astype(np.float64), node, attributes, weights[node.input[1]])
        expected = rows.transpose(0, 2, 1) @ rows
        ours = {name: one for name, one in tensors[value]["second-moment"].items() if one["length"] == rows.shape[2]}
        assert len(ours) == 1, (value, list(tensors[value]["second-moment"]))
        one = next(iter(ours.values()))
        assert one["rows"] == rows.shape[1]
        tolerance = 1e-11 if value == "image" else 1e-4  # ONNX Runtime's sums differ
        np.testing.assert_allclose(matrix_of(one), expected, atol=tolerance * np.abs(expected).max(), rtol=tolerance)
        axis = 1 if node.op_type == "Conv" else found[value].ndim - 1
        maxima = np.abs(found[value]).max(axis=tuple(i for i in range(found[value].ndim) if i != axis))
        kept = np.array(next(iter(tensors[value]["channel-maxima"].values()))["maxima"].split(), np.float32)
        np.testing.assert_allclose(kept, maxima, rtol=tolerance, atol=1e-5)


def test_collected_shards_merge_to_the_result_of_one_run(anybit, digits, tmp_path):
    collect = ["--collect", "second-moment,channel-maxima"]
    for name, part in (("whole", digits[:30]), ("a", digits[:11]), ("b", digits[11:30])):
        np.save(tmp_path / f"{name}.npy", part)
        anybit("calibrate", DIGITS / "digits.onnx", "--data", tmp_path / f"{name}.npy", "-o", tmp_path / f"{name}.json",
               "--threads", 1 if name == "a" else 4, *collect)
    anybit("calibrate", "--merge", tmp_path / "b.json", tmp_path / "a.json", "-o", tmp_path / "merged.json")
    whole, merged = (json.loads((tmp_path / f"{name}.json").read_text())["tensors"] for name in ("whole", "merged"))
    for name, tensor in whole.items():
        tensor.pop("moving_average")
        merged[name].pop("moving_average")
        assert merged[name] == tensor, name
    assert sum("second-moment" in tensor for tensor in whole.values()) > 5


def test_invalid_collectors_are_rejected(anybit, digits, tmp_path):
    np.save(tmp_path / "data.npy", digits[:3])
    call = ["calibrate", DIGITS / "digits.onnx", "--data", tmp_path / "data.npy", "-o", tmp_path / "r.json"]
    done = anybit(*call, "--collect", "second-momnet", code=2)
    assert "did you mean 'second-moment'?" in done.stderr
    done = anybit(*call, "--collect", "second-moment", "--max-memory", "1M", code=1)
    assert "XᵀX of 288 channels" in done.stderr and "--max-memory" in done.stderr
    assert not (tmp_path / "r.json").exists()
    anybit(*call, "--collect", "bins,extent")
    anybit(*call[:-1], tmp_path / "c.json", "--collect", "channel-maxima")
    done = anybit("calibrate", "--merge", tmp_path / "r.json", tmp_path / "c.json", "-o", tmp_path / "m.json", code=2)
    assert "only one of the two has channel-maxima (axis -1)" in done.stderr
