"""Quantization from Python: calibration data, rules of other tools, results compared with the command line."""

import json
import shutil
import subprocess
from xml.etree import ElementTree

import anybit
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader
from support.packaged import ROOT, matmul, model_of, two_inputs

CLASSIFIER = ROOT / "build" / "models" / "ch_ppocr_mobile_v2.0_cls_infer.onnx"


class Reader:
    """A typical calibration data reader of ONNX Runtime."""

    def __init__(self, images):
        self.items = iter(images)

    def get_next(self):
        image = next(self.items, None)
        return None if image is None else {"image": image[None]}


class DerivedReader(Reader, CalibrationDataReader):
    """The same, derived from ONNX Runtime's base class, whose __len__ raises."""


class Tensor:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Batches:
    """Like a data loader: a repeatable iterable with a length."""

    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images) // 5

    def __iter__(self):
        return (Tensor(self.images[i:i + 5]) for i in range(0, len(self.images), 5))


SOURCES = {
    "an array": lambda x: x,
    "a dict of arrays": lambda x: {"image": x},
    "arrays without a batch": lambda x: list(x),
    "arrays of float64": lambda x: [one[None].astype(np.float64) for one in x],
    "dicts": lambda x: [{"image": one[None]} for one in x],
    "tuples": lambda x: ((one[None],) for one in x),
    "batches through DLPack": Batches,
    "a reader with get_next": Reader,
    "a reader of ONNX Runtime's class": DerivedReader,
    "the same buffer over and over": lambda x: overwritten(x),
}


def overwritten(images):
    buffer = np.empty_like(images[:1])
    for image in images:
        buffer[0] = image
        yield buffer
    buffer[:] = np.nan


@pytest.fixture(scope="module")
def expected(digits, images):
    return anybit.calibrate(digits, images[:40])


def test_a_single_name_or_folder_may_stand_alone(digits, tmp_path):
    alone, listed = (anybit.quantize(digits, "w8", exclude=given) for given in ("Gemm", ["Gemm"]))
    assert alone.to_bytes() == listed.to_bytes() != anybit.quantize(digits, "w8").to_bytes()
    assert [one.name for one in anybit.generators(str(tmp_path))] == [one.name for one in anybit.generators([tmp_path])]
    anybit.codegen(digits, "c-gen", tmp_path / "net.c", shapes={"image": (1, 1, 28, 28)}, plugins=str(tmp_path))


def test_code_of_a_model_that_was_loaded_from_a_file_is_beside_it(digits, tmp_path):
    path = shutil.copy(digits, tmp_path / "net.onnx")
    model, shapes = anybit.load(path), {"image": (1, 1, 28, 28)}
    assert model.path == str(path) and anybit.codegen(model, "c-gen", shapes=shapes) == str(tmp_path / "net.c")
    for other in (model.prepare(), anybit.load(model.to_bytes())):
        with pytest.raises(anybit.InvalidArgument, match="not loaded from a file"):
            anybit.codegen(other, "c-gen", shapes=shapes)


def test_inputs_become_constants_of_the_code(tmp_path):
    model = two_inputs()
    path = anybit.codegen(model, "c-gen", tmp_path / "net.c", shapes={"x": (1, 3)}, constants={"y": [[1.5, 2, 3]]})
    assert "_run(const float *in0, float *out0)" in (tmp_path / "net.h").read_text() and path == str(tmp_path / "net.c")
    with pytest.raises(anybit.InvalidArgument, match="the model has no input 'w'"):
        anybit.codegen(model, "c-gen", tmp_path / "net.c", constants={"w": 1})


def test_the_repr_of_a_model_and_of_a_format(digits):
    facts, info = anybit.load(digits).inspect(), anybit.formats["mxfp4_e2m1"].info
    assert repr(facts).startswith("Inspection of ") and f"{facts.node_count} nodes" in repr(facts)
    assert repr(info).startswith("FormatInfo mxfp4_e2m1") and info.summary in repr(info)
    assert "\n" not in repr(facts) + repr(info)


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_of_samples_gives_the_same_ranges(source, digits, images, expected):
    found = anybit.calibrate(digits, SOURCES[source](images[:40]))
    assert {name: (one.min, one.max, one.count) for name, one in found.items()} == \
           {name: (one.min, one.max, one.count) for name, one in expected.items()}


def test_files_are_a_source_of_samples_as_on_the_command_line(digits, images, expected, tmp_path):
    np.save(tmp_path / "a.npy", images[:25])
    np.save(tmp_path / "b.npy", images[25:40])
    for source in (tmp_path, [tmp_path / "a.npy", str(tmp_path / "b.npy")], [f"image={tmp_path / 'a.npy'}", f"image={tmp_path}/b.npy"]):
        assert anybit.calibrate(digits, source)["logits"].max == expected["logits"].max


def test_the_number_of_samples_can_be_bounded(digits, images, tmp_path):
    np.save(tmp_path / "a.npy", images)
    for source in (images, list(images), tmp_path / "a.npy", Reader(images)):
        assert anybit.calibrate(digits, source, samples=7).samples == 7


def test_a_model_from_python_is_the_command_lines_bit_for_bit(digits, images, tool, tmp_path):
    np.save(tmp_path / "x.npy", images[:50])
    for recipe in ("int8", "w4", "mxfp6"):
        subprocess.run([tool("anybit"), "quantize", digits, "-o", tmp_path / "cli.onnx", "--recipe", recipe,
                        "--calib", tmp_path / "x.npy"], check=True, capture_output=True)
        anybit.quantize(digits, recipe, images[:50]).save(tmp_path / "python.onnx")
        assert (tmp_path / "python.onnx").read_bytes() == (tmp_path / "cli.onnx").read_bytes(), recipe


def test_a_real_classifier_is_quantized_and_runs_in_onnxruntime(tmp_path):
    samples = np.random.default_rng(5).standard_normal((4, 3, 48, 192)).astype(np.float32)
    model = anybit.quantize(CLASSIFIER, calibration=samples, target="ort")
    model.save(tmp_path / "cls.onnx")
    result = anybit.compare(CLASSIFIER, model, samples)
    theirs = onnxruntime.InferenceSession(tmp_path / "cls.onnx")
    (ours,) = anybit.Session(model).run(samples).values()
    np.testing.assert_allclose(theirs.run(None, {theirs.get_inputs()[0].name: samples})[0], ours, atol=0.05)
    assert result.outputs[0].cosine > 0.95
    assert model.report.weight_bytes_after < model.report.weight_bytes_before / 2.9


def test_saved_ranges_replace_samples(digits, images, tmp_path):
    model = anybit.load(digits).prepare()
    anybit.calibrate(model, images[:20]).save(tmp_path / "ranges.json")
    first = anybit.Ranges.load(tmp_path / "ranges.json")
    both = first.merged(anybit.calibrate(model, images[20:40]))
    assert both.samples == 40
    assert anybit.quantize(model, "int8", ranges=both, prepare=False).report.nodes
    with pytest.raises(anybit.Error):
        anybit.quantize(matmul(), "int8", ranges=both, prepare=False)


def test_a_quantizer_writes_the_recipe_of_its_rules():
    config = anybit.get_symmetric_quantization_config(is_per_channel=False)
    quantizer = anybit.Quantizer("ethos-u55-128").set_global(config).set_io(config)
    quantizer.set_module_name("blocks.sub", None).set_module_type("Conv", "int16x8").set_module_name("blocks", None)
    quantizer.set_module_name("blocks.sub", "int8")  # set again: it becomes the last rule
    data = "int8 asym"
    assert quantizer.recipe == {
        "global": {"weight": "int8 sym tensor", "data_in": data, "data_out": data}, "io": {"data_in": data, "data_out": data},
        "name": {"blocks": "float", "blocks.sub": "int8"}, "type": {"Conv": "int16x8"}}
    assert list(quantizer.recipe["name"]) == ["blocks", "blocks.sub"]


class Conv2d:
    pass


class BatchNorm2d:
    pass


@pytest.mark.parametrize("module, name", [(Conv2d, "conv2d"), (BatchNorm2d, "batch_norm2d"), ("Conv", "Conv"), ("linear", "linear")])
def test_operators_may_be_named_by_framework_classes(module, name):
    assert list(anybit.Quantizer().set_module_type(module, None).recipe["type"]) == [name]


@pytest.mark.parametrize("config, outcome", [("int8", {"Gemm": "quantized", "Conv": "float"}),
                                              (None, {"Gemm": "float", "Conv": "quantized"})])
def test_nodes_without_a_rule_stay_in_float_unless_all_rules_are_exceptions(digits, images, config, outcome):
    report = anybit.Quantizer().set_io("int8").set_module_type("Gemm", config).quantize(digits, images[:5]).report
    assert {node.op: node.outcome for node in report.nodes if node.op in outcome} == outcome


def test_a_rule_for_inputs_and_outputs_alone_does_not_quantize_the_rest(digits, images):
    config = anybit.get_symmetric_quantization_config()
    assert anybit.Quantizer().set_io(config).recipe["global"] == "float"
    report = anybit.Quantizer().set_io(config).quantize(digits, images[:5]).report
    assert "quantized" not in {node.outcome for node in report.nodes}
    assert [tensor.name for tensor in report.tensors] == ["image", "logits"] and report.weights == []
    floats_outside = anybit.Quantizer().set_io(None).quantize(digits, images[:5]).report  # an exception to the target's recipe
    assert "quantized" in {node.outcome for node in floats_outside.nodes}


def test_arms_flow_works_unchanged(digits, images):
    quantizer = anybit.Quantizer(target="ethos-u55-128")
    quantizer.set_global(anybit.get_symmetric_quantization_config())
    prepared = quantizer.transform_for_annotation(anybit.load(digits))
    model = quantizer.quantize_with_submodules(prepared, [(image[None],) for image in images[:20]])
    assert {node.outcome for node in model.report.nodes if node.op == "Conv"} == {"quantized"}
    wide = anybit.Quantizer(target="ethos-u55-128").set_global(anybit.get_symmetric_a16w8_quantization_config())
    report = wide.quantize(digits, images[:20]).report
    assert any(tensor.spec.startswith("int16") for tensor in report.tensors)


@pytest.mark.parametrize("call", [
    lambda digits, images: anybit.quantize(digits, "ternary-weights", images[:64], qat={"steps": 30, "batch": 16}),
    lambda digits, images: anybit.quantize(digits, {"global": "ternary-weights", "train": {"steps": 30, "batch": 16}}, images[:64]),
    lambda digits, images: anybit.Quantizer().set_global("ternary-weights").quantize(digits, images[:64], qat={"steps": 30, "batch": 16})])
def test_training_lowers_the_loss(call, digits, images):
    training = call(digits, images).report.training
    assert training["trained"] and training["steps"] == 30 and training["loss_after"] < training["loss_before"] / 2
    assert training["agreement_after"] > training["agreement_before"]


def test_arms_words_for_training_train(digits, images):
    quantizer = anybit.Quantizer().set_global(anybit.get_symmetric_quantization_config(is_qat=True))
    report = quantizer.quantize_with_submodules(digits, [(image[None],) for image in images[:4]], is_qat=True).report
    assert report.training["samples"] == 4


def test_a_function_sees_each_step_of_training_and_may_end_it(digits, images):
    seen = []
    anybit.quantize(digits, "ternary-weights", images[:16], qat={"steps": 5, "batch": 8}, on_step=seen.append)
    assert [one["step"] for one in seen] == [1, 2, 3, 4, 5] and all(one["loss"] > 0 for one in seen)
    with pytest.raises(anybit.Cancelled):
        anybit.quantize(digits, "ternary-weights", images[:16], qat={"steps": 500, "batch": 8}, on_step=lambda step: step["step"] < 3)


def test_an_exception_of_that_function_is_raised(digits, images):
    def fail(step):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        anybit.quantize(digits, "ternary-weights", images[:16], qat={"steps": 50, "batch": 8}, on_step=fail)


def test_an_iterator_is_trained_on_for_several_epochs(digits, images):
    report = anybit.quantize(digits, "ternary-weights", ({"image": image[None]} for image in images[:16]), qat={"steps": 12, "batch": 8}).report
    assert report.training["samples"] == 16 and report.training["steps"] == 12


@pytest.mark.parametrize("options, message", [
    ({"stepz": 3}, "steps"), ({"loss": "hinge"}, "kl"), ({"rate": -1}, "rate"), ({"steps": "many"}, "steps")])
def test_wrong_options_of_training_are_refused(options, message, digits, images):
    with pytest.raises(anybit.InvalidArgument, match=message):
        anybit.quantize(digits, "ternary-weights", images[:8], qat=options)


def test_training_without_data_is_refused(digits):
    with pytest.raises(anybit.InvalidArgument, match="training needs samples"):
        anybit.quantize(digits, "ternary-weights", qat=True)


def test_recipes_of_quark_are_read_as_dicts(digits):
    model = anybit.quantize(digits, {"element_dtype": "int8", "axis": 1, "block_size": 8, "rounding_mode": 2})
    assert any("mxint8" in node.what for node in model.report.nodes)


def test_branches_are_quantized_with_a_sample_for_each():
    weights = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32)

    def branch(name):
        nodes = [helper.make_node("MatMul", ["x", f"w_{name}"], [f"m_{name}"], name=f"{name}_first"),
                 helper.make_node("MatMul", [f"m_{name}", f"w_{name}"], [f"y_{name}"], name=f"{name}_second")]
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"y_{name}", 1, ["N", 4])],
                                 [helper.make_tensor(f"w_{name}", 1, (4, 4), weights.ravel())])
    node = helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branch("then"), else_branch=branch("else"))
    model = model_of([node], [("c", [], 9), ("x", ["N", 4])], [("y", ["N", 4])])
    x = np.float32([[1, -2, 3, 0.5]])
    both = anybit.Quantizer().quantize_with_submodules(model, [(np.array(True), x), (np.array(False), x)])
    one = anybit.Quantizer().quantize_with_submodules(model, [(np.array(True), x)])
    assert {node.outcome for node in both.report.nodes if node.op == "MatMul"} == {"quantized"}
    assert both.report.remarks == []
    assert ["no sample reached" in remark for remark in one.report.remarks] == [True]


def test_models_with_several_inputs_take_tuples_and_dicts():
    x, y = np.ones((1, 3), np.float32), np.full((1, 3), 5, np.float32)
    for samples in ([(x, y)], [[x, y]], [{"x": x, "y": y}], {"x": x, "y": y}):
        assert anybit.calibrate(two_inputs(), samples)["z"].max == 6


def test_progress_is_passed_to_a_function_and_silent_without_a_terminal(digits, images, capfd):
    seen = []
    anybit.calibrate(digits, list(images[:30]), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (30, 30) and [done for done, _ in seen] == sorted(done for done, _ in seen)
    for samples in (images[:30], {"image": images[:30]}):  # an array has a number of samples, too
        anybit.calibrate(digits, samples, progress=lambda done, total: seen.append((done, total)))
        assert seen[-1] == (30, 30)
    anybit.calibrate(digits, images[:30])
    anybit.calibrate(digits, images[:30], progress=False)
    assert capfd.readouterr() == ("", "")


def test_a_report_and_a_comparison_can_be_shown_in_a_notebook(digits, images, labels, tmp_path):
    model = anybit.quantize(digits, "int8", images[:20])
    assert "residual/first/conv" in model.report._repr_html_()
    result = anybit.compare(digits, model, images, labels=labels)
    page = result._repr_html_()
    assert "<svg" in page and "logits" in page and "top-1" in page
    result.plot().save(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text().count("<rect") == len(result.worst(40)) > 5


def test_names_that_xml_cannot_represent_do_not_break_an_image():
    name = "a\x00\x1b[31m\x7f<&>\ufffe\U0001f40e"
    model = model_of([helper.make_node("Relu", ["x"], [name]), helper.make_node("Neg", [name], ["y"])],
                     [("x", [1, 4])], [("y", [1, 4])])
    figure = ElementTree.fromstring(anybit.compare(model, model, np.ones((2, 4), np.float32)).plot().svg)
    assert any(part.text and part.text.endswith("<&>\ufffd\U0001f40e") for part in figure.iter())


def test_the_page_of_a_report_is_shown_in_a_frame_and_saved(digits, images, tmp_path):
    model = anybit.quantize(digits, "int8", images[:20])
    pages = [model.report.page(), model.report.page(anybit.compare(digits, model, images[:20])),
             anybit.compare(digits, model, images[:20]).page(), anybit.calibrate(digits, images[:20]).page(digits)]
    for page in pages:
        assert page._repr_html_().startswith("<iframe srcdoc=")
        assert page._repr_html_().count('"') == 6  # the page cannot break out of its frame
        page.save(tmp_path / "report.html")
        assert (tmp_path / "report.html").read_text() == page.html and "residual/first/conv" in page.html
    with pytest.raises(anybit.NotFound):
        pages[0].save(tmp_path / "no" / "such.html")
    with pytest.raises(anybit.Error):
        anybit.calibrate(digits, images[:5]).page(matmul())
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_comparing_gives_the_numbers_of_the_command_line(digits, images, labels, tool, tmp_path):
    model = anybit.quantize(digits, "int8", images[:50])
    model.save(tmp_path / "q.onnx")
    np.save(tmp_path / "x.npy", images)
    np.save(tmp_path / "labels.npy", labels)
    said = json.loads(subprocess.run([tool("anybit"), "compare", digits, tmp_path / "q.onnx", "--data", tmp_path / "x.npy",
                                      "--labels", tmp_path / "labels.npy", "--json"], check=True, capture_output=True).stdout)
    result = anybit.compare(digits, tmp_path / "q.onnx", images, labels=labels)
    assert [one.sqnr for one in result.outputs] == [one["sqnr_db"] for one in said["outputs"]]
    assert len(result.layers) == len(said["layers"])


def test_renamed_attributes_stay_as_aliases(digits, images):
    model = anybit.quantize(digits, "int8", images[:20])
    report = model.report
    assert report.means_kept == report.bias_corrected_layers == report.refinements["bias-correction"] > 0
    for one in report.weights:
        assert (one.signal_to_noise, one.moved, one.raised) == (one.sqnr, one.rounded_for_sums, one.scales_raised)
    assert sum(one.rounded_for_sums for one in report.weights) > 0
    compared = anybit.compare(digits, model, images[:20])
    assert all(one.signal_to_noise == one.sqnr for one in [*compared.outputs, *compared.layers])
    losses = anybit.formats["int8"].losses(images[0])
    assert losses["signal_to_noise"] == losses["sqnr"] > 20


def test_names_in_remarks_are_text_in_a_notebook():
    """A branch that no sample enters gives a remark with the name of its node."""
    def branch(op, *inputs):
        return helper.make_graph([helper.make_node(op, inputs, ["out"], name=op)], op, [],
                                 [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="matmul"),
             helper.make_node("If", ["c"], ["z"], name="<script>", then_branch=branch("Relu", "y"),
                              else_branch=branch("MatMul", "y", "v"))]
    model = model_of(nodes, [("x", ["N", 8]), ("c", [], TensorProto.BOOL)], [("z", ["N", 4])],
                     [("w", np.ones((8, 4), np.float32)), ("v", np.eye(4, dtype=np.float32))])
    report = anybit.quantize(model, "int8", [{"x": np.ones((1, 8), np.float32), "c": np.array(True)}]).report
    assert "<script>" in report.remarks[0]
    assert "<script>" not in report._repr_html_() and "&lt;script&gt;" in report._repr_html_()
