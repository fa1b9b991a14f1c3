"""Invalid calls: an error with message, place and hint, and no partial output."""
import subprocess

import numpy as np
import onnx
import pytest
from support.quantizing import net, report_of, run_tool, samples


@pytest.fixture
def folder(tmp_path):
    onnx.save(net(), tmp_path / "net.onnx")
    samples(tmp_path / "calib")
    return tmp_path


def quantize(tool, folder, *arguments, output="net.q.onnx", code="error"):
    done = run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / output, *arguments, code=code)
    assert output == "net.onnx" or not (folder / output).exists()
    return done.stderr


def test_missing_samples_are_an_error(tool, folder):
    text = quantize(tool, folder)
    assert "needs calibration data" in text and "--calib" in text


def test_an_empty_folder_of_samples(tool, folder):
    (folder / "none").mkdir()
    assert "none" in quantize(tool, folder, "--calib", folder / "none")


def test_samples_of_a_wrong_shape(tool, folder):
    samples(folder / "wrong", shape=(1, 4, 16, 16))
    text = quantize(tool, folder, "--calib", folder / "wrong")
    assert "'x'" in text


def test_samples_under_a_wrong_name(tool, folder):
    assert "'z'" in quantize(tool, folder, "--calib", f"z={folder / 'calib'}")


@pytest.mark.parametrize("recipe, said", [
    ("global: int9", "int8"),
    ("globl: int8", "global"),
    ("global: int8\ntype: {Convv: float}", "Conv"),
    ("global: int8\nname: {no/such: float}", "no/such"),
    ("global: int8\nregex: {'([': float}", "(["),
    ("global: {weights: int8 sym chanel}", "channel"),
    ("global: {weight: int8, activation: int8}", "activations"),
    ("global: {weights: {format: int8, symetric: true}}", "symmetric"),
    ("global: {weights: [1, 2", "line"),
    ("", "global: int8"),
    ("global: {activations: int8 percentile 20}", "percentile"),
    ("global: {activations: int8 percentile 0}", "above 50"),
    ("global: {weights: {format: int8, symmetric: yess}}", "true or false"),
    ("global: {weights: {format: int8, narrow: perhaps}}", "true or false"),
    ("global: {activations: {format: int8, dynamic: 2}}", "true or false"),
    ("global: {weights: int8 sym asym}", "contradict"),
    ("global: {weights: int8 tensor channel}", "contradict"),
    ("global: {weights: {format: int8 sym, symmetric: false}}", "contradict"),
    ("global: {activations: int8 mse entropy}", "contradict"),
    ("global: {weights: int8 sym, weights: int4 sym}", "twice"),
    ("global: {weights: int4 sym channel mse}", "observer of activations"),
    ("global: {weights: {format: int4, percentile: 60}}", "observer of activations"),
    ("global: {weights: int8 sym channel dynamic}", "cannot be dynamic"),
    ("global: {weights: int8 sym channel, activations: int8 channel}", "one scale per tensor"),
    ("global: {weights: int8, data_in: int8 asym block 32}", "one scale per tensor"),
    ("global: int8\ntype: {Conv: {bias: int16}}", "int32"),
    ("global: {weights: int8 sym, activations: int16 sym dynamic}", "8 bits"),
    ("global: {weights: int8 sym, activations: uint8 dynamic mse}", "which dynamic quantization does not use"),
    ("global: int8\nio: {weights: int4}", "line 2: io: inputs and outputs have no 'weights'"),
    ("global: int8\nio: {activations: int8, bias: float}", "inputs and outputs have no 'bias'"),
    ("global: int8\ntype: {MaxPool: {weights: int4}}", "MaxPool has no weights"),
    ("global: int8\ntype: {relu: w8}", "relu has no weights"),
    ("global: int8\ntype: {Softmax: {weights: mxfp4_e2m1}}", "Softmax has no weights"),
    ("global: int8\ntype: {layer_norm: {weights: int8 sym}}", "layer_norm has no weights"),
])
def test_a_recipe_with_a_mistake(tool, folder, recipe, said):
    (folder / "recipe.yaml").write_text(recipe)
    assert said in quantize(tool, folder, "--calib", folder / "calib", "--recipe", folder / "recipe.yaml")


@pytest.mark.parametrize("recipe", [
    "global: {weights: {format: int8, symmetric: True, narrow: no}, activations: {format: int8, symmetric: 'false'}}",
    "global: {weights: int8 sym channel minmax, activations: int8 tensor percentile}",
    "global: {weights: int8 sym, activations: {format: int8, observer: percentile, percentile: 99.9}, bias: int32}",
    "global: {weights: int8 sym, activations: int8, bias: float}",
])
def test_valid_words_are_accepted(tool, folder, recipe):
    (folder / "recipe.yaml").write_text(recipe)
    run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "out.onnx", "--calib", folder / "calib", "--recipe",
             folder / "recipe.yaml")
    biases = {one.data_type for one in onnx.load(folder / "out.onnx").graph.initializer if one.name.startswith("b1")
              and not one.name.endswith(("scale", "point"))}
    assert biases == {1 if "bias: float" in recipe else 6}


@pytest.mark.parametrize("arguments, said", [
    (["--recipe", "w4", "--dynamic"], "--recipe"),
    (["--weight-only", "--dynamic"], "--weight-only"),
    (["--dynamic=symActivation,asymActivation"], "symActivation and asymActivation contradict"),
    (["--dynamic=symWeight,asymActivation,asymWeight"], "symWeight and asymWeight contradict"),
    (["--recipe", "recipe.yaml", "--op-types", "Conv"], "type: {Conv: int8}"),
    (["--recipe", "recipe.yaml", "--weight-only"], "activations: float"),
    (["--recipe", "recipe.yaml", "-maccel=NPU"], "-maccel=NNPA"),
    (["--recipe", "w8", "--samples", "3"], "--samples requires --calib"),
    (["--ranges", "ranges.json", "--mean", "0.5"], "--mean requires --calib"),
    (["--recipe", "mxint8", "--refine", "sums, weights: float"], "none, bias-correction (means), equalize (cle), gptq (hessian), range-search (mse)"),
])
def test_contradicting_options_are_an_error(tool, folder, monkeypatch, arguments, said):
    (folder / "recipe.yaml").write_text("global: w8")
    monkeypatch.chdir(folder)
    assert said in quantize(tool, folder, *arguments)


def test_samples_that_a_recipe_does_not_need_are_remarked_on(tool, folder):
    done = run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "q.onnx", "--recipe", "w8", "--calib", folder / "calib")
    assert "recipe 'w8' needs no samples" in done.stdout


def test_an_operator_that_cannot_be_quantized(tool, folder):
    assert "Shape cannot be quantized" in quantize(tool, folder, "--dynamic", "--op-types", "MatMul,Shape", code=2)


def test_an_operator_that_the_target_does_not_run(tool, folder):
    assert "nnpa does not run Conv" in quantize(tool, folder, "--dynamic", "--target", "nnpa", "--op-types", "Conv",
                                                  "--strict", code=2)
    assert "ethos-u55-128" in quantize(tool, folder, "--recipe", "int8x4", "--target", "ethos-u55-128", "--calib",
                                       folder / "calib")


@pytest.mark.parametrize("target, recipe, said", [
    ("ethos-u55-128", "w8", "node 'stem/conv' (Conv): target ethos-u55-128 does not support float as activations beside weights"),
    ("ethos-u55-128", "w4", "recipe 'w4': target ethos-u55-128 does not support int4 sym block 32 as weights"),
    ("ethos-u85-256", "{global: int8, name: {stem.conv: {activations: float}}}", "stem/conv"),
    ("ethos-u65-256", "{global: {weights: int8 sym, activations: int8 dynamic}}", ", static"),
    ("ethos-u65-256", "global: int8\ntype:\n  Conv: {weights: int4 sym}", "recipe.yaml: line 3: target ethos-u65-256 does not"),
    ("nnpa", "{global: {weights: int8 sym, activations: uint8 dynamic}}", "recipe.yaml: target nnpa does not support uint8"),
    ("nnpa", "{global: {weights: int8 sym, activations: float}}", "float as activations"),
    ("nnpa", "int8", ", per tensor")])
def test_formats_that_the_target_does_not_support(tool, folder, target, recipe, said):
    if ":" in recipe:
        (folder / "recipe.yaml").write_text(recipe)
        recipe = folder / "recipe.yaml"
    assert said in quantize(tool, folder, "--recipe", recipe, "--target", target, "--calib", folder / "calib", code=2)


@pytest.mark.parametrize("options, said", [
    (["--dynamic"], ": --dynamic: target ethos-u55-128 does not support uint8 asym dynamic as activations"),
    (["--recipe", "int8x4", "--op-types", "Conv"], ": type 'Conv': target ethos-u55-128 does not support int4 sym channel as")])
def test_a_flag_that_the_target_does_not_support_is_named(tool, folder, options, said):
    assert said in quantize(tool, folder, *options, "--target", "ethos-u55-128", "--calib", folder / "calib", code=2)


def test_an_unknown_preset_suggests_the_nearest(tool, folder):
    assert "int8" in quantize(tool, folder, "--recipe", "int-8", "--calib", folder / "calib")


def test_output_that_is_the_model_itself(tool, folder):
    before = (folder / "net.onnx").read_bytes()
    assert "--in-place" in quantize(tool, folder, "--calib", folder / "calib", output="net.onnx")
    assert (folder / "net.onnx").read_bytes() == before


@pytest.mark.parametrize("command", [["quantize", "--recipe", "w8"], ["prepare"], ["convert-opset"]])
def test_no_command_writes_over_the_model_or_its_weights(tool, tmp_path, command):
    weight = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                                   [onnx.helper.make_tensor_value_info("x", 1, [1, 64])],
                                   [onnx.helper.make_tensor_value_info("y", 1, [1, 64])], [weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    before = {name: (tmp_path / name).read_bytes() for name in ("m.onnx", "weights")}
    for output, said in (("m.onnx", "--in-place"), ("link.onnx", "--in-place"), ("weights", "it holds weights of the model")):
        done = subprocess.run([tool("anybit"), *command, tmp_path / "m.onnx", "-o", tmp_path / output], capture_output=True,
                              text=True)
        assert done.returncode == 2 and said in done.stderr
        assert {name: (tmp_path / name).read_bytes() for name in before} == before
    subprocess.run([tool("anybit"), *command, tmp_path / "m.onnx", "-o", tmp_path / "m.onnx", "--in-place"], check=True,
                   capture_output=True)
    onnx.load(tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() != before["m.onnx"]


def test_output_that_cannot_be_written(tool, folder):
    quantize(tool, folder, "--calib", folder / "calib", output="no/such/folder.onnx")


def test_a_model_with_nothing_to_quantize(tool, tmp_path):
    helper = onnx.helper
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, [2])],
                              [helper.make_tensor_value_info("y", 1, [2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    samples(tmp_path / "calib", shape=(2,))
    assert "nothing to quantize" in quantize(tool, tmp_path, "--calib", tmp_path / "calib")


def test_nothing_to_quantize_says_why(tool, folder):
    said = quantize(tool, folder, "--calib", folder / "calib", "--exclude", "*")
    assert "nothing to quantize" in said and "(Conv): the recipe leaves it in float" in said


def test_weights_that_are_not_numbers_are_named(tool, folder):
    model = net()
    bad = onnx.numpy_helper.to_array(model.graph.initializer[0]).copy()
    bad[0, 0, 0, 0] = np.nan
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(bad, "w1"))
    onnx.save(model, folder / "net.onnx")
    assert "'w1'" in quantize(tool, folder, "--recipe", "w8")


def test_a_quantized_model_is_unchanged(tool, folder):
    done = run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "once.onnx", "--calib", folder / "calib")
    assert done.stdout
    done = run_tool(tool, "quantize", folder / "once.onnx", "-o", folder / "twice.onnx", "--calib", folder / "calib")
    assert "quantized already" in done.stdout
    assert onnx.load(folder / "twice.onnx") == onnx.load(folder / "once.onnx")


EMPTY = {
    "MatMul": (["x", "w"], {"w": (16, 0)}, (2, 16), {}),
    "MatMul of no sums": (["x", "w"], {"w": (0, 8)}, (2, 0), {}),
    "Gemm": (["x", "w", "b"], {"w": (0, 16), "b": (0,)}, (2, 16), {"transB": 1}),
    "Conv": (["x", "w"], {"w": (0, 3, 3, 3)}, (1, 3, 8, 8), {}),
    "Gather": (["w", "i"], {"w": (0, 16)}, (2, 16), {}),
}


@pytest.mark.parametrize("recipe", ["int8", "uint8", "int16", "int8x4", "w8", "w4", "dynamic-int8", "nnpa"])
@pytest.mark.parametrize("case", EMPTY)
def test_a_weight_without_elements_stays_in_float_and_the_report_says_so(tool, tmp_path, case, recipe):
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    inputs, shapes, shape, attributes = EMPTY[case]
    constants = [numpy_helper.from_array(np.zeros(dims, np.float32), name) for name, dims in shapes.items()]
    constants += [numpy_helper.from_array(np.zeros(0, np.int64), "i"),
                  numpy_helper.from_array(np.ones((16, 4), np.float32), "other")]
    graph = helper.make_graph([helper.make_node(case.split()[0], inputs, ["y"], name="empty", **attributes),
                               helper.make_node("MatMul", ["z", "other"], ["v"], name="full")], "g",
                              [helper.make_tensor_value_info("x", 1, shape), helper.make_tensor_value_info("z", 1, (2, 16))],
                              [helper.make_tensor_value_info("y", 1, None), helper.make_tensor_value_info("v", 1, (2, 4))],
                              constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), tmp_path / "net.onnx")
    np.savez(tmp_path / "s.npz", x=np.ones(shape, np.float32), z=np.ones((2, 16), np.float32))
    report = report_of(run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--recipe", recipe,
                                "--calib", tmp_path / "s.npz", "--json"))
    rows = {one["name"]: one for one in report["nodes"]}
    assert rows["empty"]["outcome"] == "float" and "has no elements" in rows["empty"]["reason"]
    assert rows["full"]["outcome"] != "float"
