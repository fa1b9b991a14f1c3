"""Models in Python: loading, inspection, saving."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import anybit
import numpy as np
import onnx
import pytest
from support.packaged import matmul


def test_copies_of_a_model_are_the_model_and_a_pickled_one_its_bytes(digits):
    model = anybit.quantize(digits, "w8")
    assert copy.copy(model) is copy.deepcopy(model) is model  # with the report
    assert copy.copy(anybit.load(digits)).path == digits
    assert copy.deepcopy({"report": model.report})["report"] is model.report
    again = pickle.loads(pickle.dumps(model))
    assert again.to_bytes() == model.to_bytes() and again.report is None


def test_ranges_and_formats_can_be_pickled(digits, images):
    ranges = anybit.calibrate(digits, images[:5])
    again = pickle.loads(pickle.dumps(ranges))
    assert copy.deepcopy(ranges) is ranges and again.samples == 5 and again.model_hash == ranges.model_hash
    assert again.merged(ranges).samples == 10 and again.range("logits", "mse") == ranges.range("logits", "mse")
    narrow = anybit.formats["block_fp"].with_parameters(width=5)
    assert pickle.loads(pickle.dumps(narrow)).info.bits == 5 and copy.deepcopy(narrow) is narrow
    assert pickle.loads(pickle.dumps(anybit.formats)) is copy.deepcopy(anybit.formats) is anybit.formats
    packed = narrow.pack(images[0])
    for back in (pickle.loads(pickle.dumps(packed)), copy.deepcopy(packed)):
        np.testing.assert_array_equal(back.decode(), packed.decode())


def test_a_format_with_parameters_works_with_them(images):
    given, kept = anybit.formats["fixed"], anybit.formats["fixed"].with_parameters(width=6, frac=3)
    np.testing.assert_array_equal(kept.quantize(images[0]), given.quantize(images[0], width=6, frac=3))
    np.testing.assert_array_equal(kept.quantize(images[0], frac=1), given.quantize(images[0], width=6, frac=1))
    assert kept.with_parameters(width=5).parameters == {"width": 5, "frac": 3}


def test_a_model_is_the_same_from_a_path_bytes_or_a_protobuf(digits):
    data = Path(digits).read_bytes()
    models = [anybit.load(one) for one in (digits, Path(digits), data, bytearray(data), memoryview(data), onnx.load(digits))]
    assert len({one.content_hash() for one in models}) == 1


def test_a_model_that_is_loaded_stays_as_it_is_when_the_protobuf_changes():
    proto = matmul()
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


def test_weights_can_be_stored_as_external_data(digits, tmp_path):
    anybit.load(digits).save(tmp_path / "small.onnx", external_data="always")
    assert (tmp_path / "small.onnx").stat().st_size < 40_000
    assert anybit.load(tmp_path / "small.onnx").content_hash() == anybit.load(digits).content_hash()


def test_names_that_are_not_utf_8_are_preserved(images, tmp_path, capsys):
    content = matmul().SerializeToString().replace(b"matmul", b"mat\xff\xfel").replace(b"\x01x", b"\x01\xff")
    content = content.replace(b"made", b"m\xffde")
    model, ones = anybit.load(content), np.ones((2, 8), np.float32)
    assert os.fsencode(model.nodes[0].name) == b"mat\xff\xfel" and model.inputs[0].name == "\udcff"
    session = anybit.Session(model)
    by_name = session.run({"\udcff": ones})["y"]
    np.testing.assert_array_equal(by_name, session.run(ones)["y"])
    quantized = anybit.quantize(model, "int8", [{"\udcff": ones}])
    assert anybit.calibrate(model, ones)["\udcff"].count == 16
    result = anybit.compare(model, quantized, ones)
    print(model, model.nodes, session, quantized.report, quantized.report.nodes, result, result.layers)
    assert "Model m\\xffde" in capsys.readouterr().out
    for shown in (model, quantized.report, result, result.plot()):
        shown._repr_html_().encode()
    quantized.report.page(result).save(tmp_path / "page.html")
    path = os.fsdecode(os.fsencode(tmp_path) + b"/m\xff.onnx")
    model.save(path)
    assert anybit.load(path).to_bytes() == anybit.load(Path(path)).to_bytes() == content


def test_a_model_has_nodes_inputs_and_outputs(digits):
    model = anybit.load(digits)
    assert [node.op for node in model.nodes[:3]] == [node.op_type for node in onnx.load(digits).graph.node[:3]]
    assert model.outputs[0].shape == ("batch", 10)
    assert "test_accuracy" in model.metadata
    assert "<table>" in model._repr_html_()
    facts = anybit.quantize(model, "w8").inspect()
    assert repr(facts.operators[0]).startswith("Conv: 6 nodes") and "int8: " in repr(facts.parameters)
    assert repr(facts.quantized[0]).startswith("weight int8 channel: 7 tensors")


@pytest.mark.parametrize("given", [None, 3, 2.5, ["a"], object()])
def test_values_that_are_not_models_are_rejected(given):
    with pytest.raises(anybit.InvalidArgument, match="an onnx.ModelProto"):
        anybit.load(given)


@pytest.mark.parametrize("content", [b"\x08\x09garbage" * 10, b"", None], ids=["garbage", "empty", "no file"])
def test_errors_match_the_command_line(content, tool, tmp_path):
    path = tmp_path / "broken.onnx"
    if content is not None:
        path.write_bytes(content)
    said = subprocess.run([tool("anybit"), "inspect", path], capture_output=True, text=True).stderr
    with pytest.raises(anybit.Error) as raised:
        anybit.load(path)
    assert said == f"anybit: {raised.value}\n"


class ModuleOfTorch:
    """Looks like a torch module where there is no torch."""

    def forward(self, x):
        raise AssertionError

    def named_modules(self):
        raise AssertionError


def test_a_module_without_torch_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for ask in (anybit.load, anybit.quantize):
        with pytest.raises(anybit.Unsupported, match="torch is needed to export a module") as told:
            ask(ModuleOfTorch(), example_inputs=np.zeros((1, 3), np.float32))
        assert told.value.hint == "pip install torch onnx onnxscript"
