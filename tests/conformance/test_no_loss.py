"""Load and save loses nothing: what the onnx package reads from our file equals what it reads from the original.

The files: all of the onnx package's backend test data, real models, and models that use every feature of ONNX.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper
from onnx.external_data_helper import convert_model_to_external_data
from support.made_models import MADE, model, raw_tensor

ROOT = Path(__file__).resolve().parents[2]
BACKEND = sorted((Path(onnx.__file__).parent / "backend/test/data").rglob("*.onnx"))
REAL = sorted((ROOT / "build/models").glob("*.onnx"))


@pytest.fixture
def roundtrip(tool):
    """roundtrip(pairs, options…): loads and saves each (from, to); all must succeed."""
    def run(pairs, *options):
        lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
        done = subprocess.run([tool("roundtrip"), *options], input=lines, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return run


def canonical(message):
    """Equal for equal messages, unknown fields included."""
    return message.SerializeToString(deterministic=True)


@pytest.fixture
def folder(tmp_path):
    """A folder in memory if the system has one: flushing thousands of files to a disk is slow."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
    else:
        with tempfile.TemporaryDirectory(dir=memory) as name:
            yield Path(name)


def numbered(files, folder):
    return [(source, folder / f"{i}.onnx") for i, source in enumerate(files)]


def differing(pairs, view=canonical):
    return [str(source) for source, target in pairs if view(onnx.load(source)) != view(onnx.load(target))]


def tensors_of(graph):
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for inner in [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]:
                yield from tensors_of(inner)


def canonical_data(message):
    """As canonical(), but ignores whether a tensor's data is raw, typed or external."""
    for tensor in tensors_of(message.graph):
        if tensor.data_type != onnx.TensorProto.STRING:
            as_raw = numpy_helper.from_array(numpy_helper.to_array(tensor))
            for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "data_location"):
                tensor.ClearField(field)
            tensor.raw_data = as_raw.raw_data
    return canonical(message)


def test_the_files_exist():
    assert len(BACKEND) > 1800
    assert len(REAL) >= 4


def test_every_model_of_the_onnx_package_survives(roundtrip, folder):
    pairs = numbered(BACKEND, folder)
    roundtrip(pairs)
    assert differing(pairs) == []


def test_real_models_survive(roundtrip, tmp_path):
    pairs = numbered(REAL, tmp_path)
    roundtrip(pairs)
    assert differing(pairs) == []


@pytest.mark.parametrize("name", MADE)
def test_every_feature_of_onnx_survives(roundtrip, tmp_path, name):
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(MADE[name]().SerializeToString())
    roundtrip([(source, target)])
    assert canonical(onnx.load(target)) == canonical(onnx.load(source))
    again = tmp_path / "again.onnx"
    roundtrip([(target, again)])
    assert again.read_bytes() == target.read_bytes(), "the same model must give the same bytes"


def test_data_moved_to_an_external_file_is_unchanged(roundtrip, folder):
    pairs = numbered(BACKEND + REAL, folder)
    roundtrip(pairs, "--external=always", "--threshold=1")
    assert any(folder.glob("*.data"))
    assert differing(pairs, canonical_data) == []


def test_data_moved_back_into_the_model_is_unchanged(roundtrip, tmp_path):
    outside = [(source, tmp_path / f"{source.stem}.out.onnx") for source in REAL]
    roundtrip(outside, "--external=always")
    inside = [(middle, tmp_path / f"{middle.stem}.in.onnx") for _, middle in outside]
    roundtrip(inside, "--external=never")
    compared = [(source, final) for (source, _), (_, final) in zip(outside, inside)]
    assert differing(compared, canonical_data) == []


@pytest.mark.parametrize("one_file", [True, False])
def test_external_data_that_the_onnx_package_wrote_survives(roundtrip, tmp_path, one_file):
    made = model(initializer=[raw_tensor(f"w{i}", onnx.TensorProto.FLOAT, 3000 + i, i) for i in range(5)])
    expected = canonical(made)
    convert_model_to_external_data(made, all_tensors_to_one_file=one_file, location="weights" if one_file else None)
    source, target = tmp_path / "in.onnx", tmp_path / "out" / "out.onnx"
    target.parent.mkdir()
    onnx.save(made, source)
    roundtrip([(source, target)])
    assert sorted(path.name for path in target.parent.iterdir()) == ["out.onnx", "out.onnx.data"]
    read = onnx.load(target)
    for tensor in read.graph.initializer:
        tensor.ClearField("data_location")
    assert canonical(read) == expected


def test_a_model_saved_over_itself_is_unchanged(roundtrip, tmp_path):
    source = REAL[0]
    target = tmp_path / "m.onnx"
    roundtrip([(source, target), (target, target)], "--external=always")
    roundtrip([(target, target), (target, target)])
    assert differing([(source, target)], canonical_data) == []
    assert len(list(tmp_path.iterdir())) == 2
