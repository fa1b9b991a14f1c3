"""anybit run on several samples: folders, archives, images."""
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
MODEL, SAMPLES = DIGITS / "digits.onnx", DIGITS / "samples"


def save_sum(path, shape):
    """y = a + b; z = a."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "abyz"]
    nodes = [helper.make_node("Add", ["a", "b"], ["y"]), helper.make_node("Identity", ["a"], ["z"])]
    graph = helper.make_graph(nodes, "g", ports[:2], ports[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.fixture
def adds(tmp_path):
    return save_sum(tmp_path / "add.onnx", ["n", 3])


def folder(path, arrays):
    path.mkdir()
    for name, array in arrays.items():
        np.save(path / name, np.asarray(array, np.float32))
    return path


def save_gray(path, pixels):
    """A grayscale PNG."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def test_a_folder_is_run_sample_by_sample(anybit, tmp_path):
    (tmp_path / "labels.txt").write_text("\n".join(map(str, range(10))))
    call = ["run", MODEL, "--input", f"image={SAMPLES}", "-o", tmp_path / "out", "--labels", tmp_path / "labels.txt", "--repeat", 2]
    said = anybit(*call).stdout
    assert "Samples 10\n" in said and "median of 20 runs" in said and "top-1 100.00 %, top-5 100.00 % of 10 rows" in said
    assert "logits/0-0.npy\nWritten 9 more files" in said
    files = sorted((tmp_path / "out").rglob("*.*"))
    assert files == [tmp_path / "out" / "logits" / f"{i}-{i}.npy" for i in range(10)]
    for i, path in enumerate(files):
        anybit("run", MODEL, "--input", SAMPLES / f"{i}.npy", "-o", tmp_path / "one")
        np.testing.assert_array_equal(np.load(path), np.load(tmp_path / "one" / "logits.npy"))
    told = json.loads(anybit(*call, "--json").stdout)
    assert [one["name"] for one in told["samples"]] == [str(SAMPLES / f"{i}.npy") for i in range(10)]
    assert [path for one in told["samples"] for path in one["written"]] == told["written"] == list(map(str, files))
    assert told["samples"][3]["outputs"] == {"logits": {"type": "float32[1, 10]"}} and told["labels"]["rows"] == 10
    assert sum((one["milliseconds"] for one in told["samples"]), []) == told["milliseconds"]


def test_outputs_of_many_samples_are_samples_of_the_next_model(anybit, adds, tmp_path):
    a = folder(tmp_path / "a", {f"{i:02}": [[i, i, i]] for i in range(12)})
    b = folder(tmp_path / "b", {f"x{i:02}": [[1, 2, 3]] for i in range(12)})
    anybit("run", adds, "--input", f"a={a}", "--input", f"b={b}", "-o", tmp_path / "1")
    assert (tmp_path / "1" / "y" / "03-03.npy").is_file()
    anybit("run", adds, "--input", f"a={tmp_path / '1' / 'y'}", "--input", f"b={tmp_path / '1' / 'z'}", "-o", tmp_path / "2")
    for i, path in enumerate(sorted((tmp_path / "2" / "y").iterdir())):
        np.testing.assert_array_equal(np.load(path), [[2 * i + 1, 2 * i + 2, 2 * i + 3]])


def test_different_counts_are_a_usage_error_and_a_single_sample_is_broadcast(anybit, adds, tmp_path):
    a = folder(tmp_path / "a", {str(i): [[i, i, i]] for i in range(3)})
    b = folder(tmp_path / "b", {str(i): [[i, i, i]] for i in range(2)})
    said = anybit("run", adds, "--input", f"a={a}", "--input", f"b={b}", code=2).stderr
    assert "there are 2 samples of input 'b', and more of others" in said
    anybit("run", adds, "--input", f"a={a}", "--input", f"b={b / '1.npy'}", "-o", tmp_path / "out")
    assert [np.load(path)[0, 0] for path in sorted((tmp_path / "out" / "y").iterdir())] == [1, 2, 3]


def test_an_archive_of_several_samples_and_a_folder_of_archives(anybit, adds, tmp_path):
    a, b = np.arange(24, dtype=np.float32).reshape(4, 2, 3), np.ones((4, 2, 3), np.float32)
    np.savez(tmp_path / "all.npz", a=a, b=b)
    (tmp_path / "each").mkdir()
    for i in range(4):
        np.savez(tmp_path / "each" / f"{i}.npz", a=a[i], b=b[i])
    for path, names in [(tmp_path / "all.npz", [f"{i}-all" for i in range(4)]), (tmp_path / "each", [f"{i}-{i}" for i in range(4)])]:
        out = tmp_path / f"out_{path.stem}"
        anybit("run", adds, "--input", path, "-o", out)
        np.testing.assert_array_equal([np.load(out / "y" / f"{name}.npy") for name in names], a + b)


def test_samples_are_split_by_a_fixed_batch_size_and_not_by_a_symbolic_one(anybit, adds, tmp_path):
    fixed = save_sum(tmp_path / "fixed.onnx", [1, 3])
    np.savez(tmp_path / "x.npz", a=np.ones((5, 3), np.float32), b=np.ones((5, 3), np.float32))
    assert len(json.loads(anybit("run", fixed, "--input", tmp_path / "x.npz", "--json").stdout)["samples"]) == 5
    told = json.loads(anybit("run", adds, "--input", tmp_path / "x.npz", "--json").stdout)
    assert told["outputs"]["y"]["type"] == "float32[5, 3]" and "samples" not in told
    (tmp_path / "a.bin").write_bytes(np.ones((5, 3), np.float32).tobytes())
    call = ["--input", f"a={tmp_path / 'a.bin'}", "--json"]
    assert len(json.loads(anybit("run", fixed, *call).stdout)["samples"]) == 5
    assert json.loads(anybit("run", adds, *call).stdout)["outputs"]["y"]["type"] == "float32[5, 3]"


def test_shapes_may_vary_and_random_inputs_follow_them(anybit, adds, tmp_path):
    a = folder(tmp_path / "a", {"1": np.ones((1, 3)), "2": np.ones((2, 3))})
    said = anybit("run", adds, "--input", f"a={a}").stdout
    assert "float32[1, 3]  (of the first sample; others differ)" in said and "random: no file was given" in said
    told = json.loads(anybit("run", adds, "--input", f"a={a}", "--json").stdout)["samples"]
    assert [one["inputs"]["b"] for one in told] == [{"type": f"float32[{n}, 3]", "random": True} for n in (1, 2)]


def test_images_are_normalized_alone_and_in_folders(anybit, tmp_path):
    images = np.load(DIGITS / "test_images.npy").reshape(-1, 28, 28)[:20].astype(np.uint8)
    (tmp_path / "images").mkdir()
    for i, image in enumerate(images):
        save_gray(tmp_path / "images" / f"{i:02}.png", image)
    np.save(tmp_path / "labels.npy", np.load(DIGITS / "test_labels.npy")[:20])
    as_trained = ["--mean", "0.1307", "--std", "0.3081"]
    call = ["run", MODEL, "--input", tmp_path / "images", *as_trained, "--json"]
    assert json.loads(anybit(*call, "--labels", tmp_path / "labels.npy").stdout)["labels"]["top1"] >= 0.95
    assert len(json.loads(anybit(*call, "--samples", 3, "--labels", tmp_path / "labels.npy").stdout)["samples"]) == 3
    anybit("run", MODEL, "--input", tmp_path / "images" / "00.png", *as_trained, "-o", tmp_path / "out")
    np.save(tmp_path / "x.npy", ((images[:1, None] / 255 - 0.1307) / 0.3081).astype(np.float32))
    anybit("run", MODEL, "--input", tmp_path / "x.npy", "-o", tmp_path / "same")
    np.testing.assert_allclose(np.load(tmp_path / "out" / "logits.npy"), np.load(tmp_path / "same" / "logits.npy"), atol=1e-3)


def test_errors_name_the_file(anybit, adds, tmp_path):
    a = folder(tmp_path / "a", {"1": np.ones((1, 3)), "2": np.ones((1, 4))})
    said = anybit("run", adds, "--input", f"a={a}", code=2).stderr
    assert said.startswith(f"anybit: sample 1 ({a / '2.npy'}): input 'a'") and "[1, 4]" in said
    (a / "2.npy").write_bytes(b"no array")
    assert "2.npy" in anybit("run", adds, "--input", f"a={a}", code=1).stderr
    (a / "2.npy").rename(a / "2.txt")
    assert "skipped, not samples" in anybit("run", adds, "--input", f"a={a}").stderr
    assert "2.txt: the file type is not supported for samples" in anybit("run", adds, "--input", f"a={a / '2.txt'}", code=2).stderr
    (tmp_path / "empty").mkdir()
    assert "empty' is empty" in anybit("run", adds, "--input", f"a={tmp_path / 'empty'}", code=2).stderr


@pytest.mark.parametrize("count,message", [(3, "sample 3 ("), (12, "12 labels for 10 rows of scores")])
def test_labels_match_the_rows_of_all_samples(anybit, tmp_path, count, message):
    np.save(tmp_path / "labels.npy", np.arange(count) % 10)
    assert message in anybit("run", MODEL, "--input", SAMPLES, "--labels", tmp_path / "labels.npy", code=2).stderr


def test_profile_counts_the_runs_of_all_samples(anybit, tmp_path):
    trace = tmp_path / "trace.json"
    told = json.loads(anybit("run", MODEL, "--input", SAMPLES, "--profile", "--trace", trace, "--json").stdout)
    assert told["nodes"] and told["written"] == [str(trace)] and json.loads(trace.read_text())["traceEvents"]


def test_strings_come_from_tensors(anybit, tmp_path):
    port, out = (helper.make_tensor_value_info(name, TensorProto.STRING, ["n"]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [port], [out])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    (tmp_path / "x.pb").write_bytes(numpy_helper.from_array(np.array(["one", "two"], object)).SerializeToString())
    anybit("run", tmp_path / "m.onnx", "--input", tmp_path / "x.pb", "-o", tmp_path / "out")
    assert (tmp_path / "out" / "y.txt").read_text() == "one\ntwo\n"


def test_bench_measures_one_sample(anybit):
    assert "hint: --samples 1" in anybit("bench", MODEL, "--input", SAMPLES, code=2).stderr
    anybit("bench", MODEL, "--input", SAMPLES, "--samples", 1, "--seconds", "0.01")
