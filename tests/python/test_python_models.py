"""Models from Python: where they may come from, what they tell, where they go."""

import pickle
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

import anybit
from packaged import product


def test_a_model_comes_from_a_path_bytes_or_a_protobuf_and_is_the_same(digits):
    data = Path(digits).read_bytes()
    models = [anybit.load(one) for one in (digits, Path(digits), data, bytearray(data), memoryview(data), onnx.load(digits))]
    assert len({one.content_hash() for one in models}) == 1


def test_a_model_that_is_loaded_stays_as_it_is_when_the_protobuf_changes():
    proto = product()
    model = anybit.load(proto)
    before = model.content_hash()
    proto.graph.node[0].op_type = "Nonsense"
    assert model.content_hash() == before
    assert anybit.Session(model).run(np.ones((1, 8), np.float32))["y"].shape == (1, 4)


def test_a_model_that_was_loaded_from_bytes_does_not_need_them_any_longer(digits):
    data = bytearray(Path(digits).read_bytes())
    model = anybit.load(data)
    before = model.content_hash()
    data[:] = bytes(len(data))
    assert model.content_hash() == before


def test_a_saved_model_is_loaded_again(digits, tmp_path):
    anybit.load(digits).save(tmp_path / "copy.onnx")
    assert anybit.load(tmp_path / "copy.onnx").content_hash() == anybit.load(digits).content_hash()
    onnx.checker.check_model(tmp_path / "copy.onnx")


def test_weights_can_be_moved_out_of_the_file(digits, tmp_path):
    anybit.load(digits).save(tmp_path / "small.onnx", external_data="always")
    assert (tmp_path / "small.onnx").stat().st_size < 40_000
    assert anybit.load(tmp_path / "small.onnx").content_hash() == anybit.load(digits).content_hash()


def test_a_model_can_be_pickled(digits):
    model = anybit.load(digits)
    assert pickle.loads(pickle.dumps(model)).content_hash() == model.content_hash()


def test_a_model_tells_its_nodes_and_its_interface(digits):
    model = anybit.load(digits)
    assert [node.op for node in model.nodes[:3]] == [node.op_type for node in onnx.load(digits).graph.node[:3]]
    assert model.outputs[0].shape == ("batch", 10)
    assert "test_accuracy" in model.metadata
    assert "<table>" in model._repr_html_()


@pytest.mark.parametrize("given", [None, 3, 2.5, ["a"], object()])
def test_what_is_no_model_is_refused(given):
    with pytest.raises(anybit.InvalidArgument, match="is no model"):
        anybit.load(given)


@pytest.mark.parametrize("content", [b"\x08\x09garbage" * 10, b"", None], ids=["garbage", "empty", "no file"])
def test_errors_say_what_the_command_line_says(content, tool, tmp_path):
    path = tmp_path / "broken.onnx"
    if content is not None:
        path.write_bytes(content)
    said = subprocess.run([tool("anybit"), "inspect", path], capture_output=True, text=True).stderr
    with pytest.raises(anybit.Error) as raised:
        anybit.load(path)
    assert said == f"anybit: {raised.value}\n"
