"""Unusual uses: models from memory, names beyond the BMP, samples of text, deleted data."""

import json
import re

import anybit
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.packaged import model_of


def page_data(page):
    text = str(page) if isinstance(page, str) else page.html
    return json.loads(re.search(r'type="application/json">(.*?)</script>', text, re.S)[1].replace("\\u003c", "<"))


def test_pages_show_the_size_of_models_in_memory(digits, images):
    model = anybit.quantize(digits, "int8", calibration=images[:10])
    assert model.path is None and model.inspect().path == "" and model.inspect().file_bytes == len(model.to_bytes())
    report = page_data(model.report.page())
    assert report["after"]["bytes"] == len(model.to_bytes()) < report["before"]["bytes"]
    compared = page_data(anybit.compare(digits, model, images[:5]).page())
    assert compared["after"]["bytes"] == len(model.to_bytes()) and compared["samples"] == 5
    assert not compared["after"]["file"].endswith(".onnx")


@pytest.mark.parametrize("name", ["block\U0001F600", "block\udcff", "x" * 900])
def test_rules_for_any_name(name):
    weight = ("w", np.eye(64, dtype=np.float32))
    plain = name.replace("\udcff", "Z")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name=plain), helper.make_node("MatMul", ["h", "w"], ["y"], name="other")]
    model = model_of(nodes, [("x", [1, 64])], [("y", [1, 64])], [weight]).SerializeToString()
    model = model.replace(plain.encode(), name.encode("utf-8", "surrogateescape"))  # invalid UTF-8 is preserved
    made = anybit.Quantizer().set_global("w8").set_module_name(name, None).quantize(model)
    assert {node.name: node.outcome for node in made.report.nodes} == {name: "float", "other": "weights only"}


def test_samples_of_text():
    table = helper.make_node("StringConcat", ["s", "s"], ["t"])
    length = helper.make_node("Shape", ["t"], ["n"])
    real = helper.make_node("Cast", ["n"], ["f"], to=TensorProto.FLOAT)
    matmul = helper.make_node("MatMul", ["f", "w"], ["y"])
    model = model_of([table, length, real, matmul], [("s", ["n", 3], TensorProto.STRING)], [("y", [4])],
                     [("w", np.ones((2, 4), np.float32))], opset=20)
    texts = np.array([["a", "b", "c"], ["d", "e", "f"]])
    for given in (texts, {"s": texts}, [texts[:1], texts[1:]]):
        assert anybit.calibrate(model, given).samples == 2
    with pytest.raises(anybit.InvalidArgument, match="expected an array, not a path"):
        anybit.calibrate(model, {"s": "texts.npy"})


def test_quantizing_deleted_weights_is_an_error(tmp_path):
    weight = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32)
    made = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", [1, 512])], [("y", [1, 512])], [("w", weight)])
    onnx.save(made, tmp_path / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0)
    model = anybit.load(tmp_path / "net.onnx")
    (tmp_path / "net.data").write_bytes(b"")
    with pytest.raises(anybit.DataLost):
        anybit.quantize(model, "w8")


def test_arms_keywords(digits, images):
    config = anybit.get_symmetric_quantization_config()
    quantizer = anybit.Quantizer().set_global(quantization_config=config).set_io(quantization_config=config)
    quantizer.set_module_name(module_name="stem/conv", quantization_config=None)
    quantizer.set_module_type(module_type="Gemm", quantization_config="w8")
    outcomes = {node.name: node.outcome for node in quantizer.quantize(digits, images[:10]).report.nodes}
    assert outcomes["stem/conv"] == "float"
    with pytest.raises(anybit.InvalidArgument, match="has its target already"):
        quantizer.quantize(digits, images[:10], target="nnpa")


def test_inputs_may_have_names_of_parameters():
    model = model_of([helper.make_node("Add", ["inputs", "mask"], ["y"])], [("inputs", [2]), ("mask", [2])], [("y", [2])])
    session = anybit.Session(model)
    one = np.ones(2, np.float32)
    assert session.run(inputs=one, mask=one)["y"].tolist() == [2, 2]


def test_values_that_are_not_models_are_rejected(digits):
    with pytest.raises(anybit.InvalidArgument, match="is a class"):
        anybit.load(onnx.ModelProto)
    with open(digits, "rb") as file:
        data = np.repeat(np.frombuffer(file.read(), np.uint8), 2)
    assert anybit.load(memoryview(data)[::2]).opset == anybit.load(digits).opset


def test_the_cosine_of_a_lost_output_is_nan():
    model, other = (model_of([helper.make_node(op, ["x", "x"], ["y"])], [("x", [1, 4])], [("y", [1, 4])]) for op in ("Mul", "Add"))
    compared = anybit.compare(model, other, np.full((1, 4), np.inf, np.float32) * np.array([1, -1, 1, -1], np.float32))
    assert np.isnan(compared.outputs[0].cosine) and compared.outputs[0].sqnr == -np.inf
