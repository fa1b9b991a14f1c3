"""The promises of onert's guide to on-device compilation, on ONNX models."""

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from support.devices import DIGITS, ROOT
from support.nnfw import LANGUAGES, Session, compiled, installed
from support.promises import promise

EXAMPLES = ROOT / "examples" / "from-onert"
INTEGERS = {onnx.TensorProto.INT8, onnx.TensorProto.UINT8, onnx.TensorProto.INT16, onnx.TensorProto.UINT16}

# The statements of the guide's code, in its order.
WEIGHT_ONLY = """
nnfw_load_model_from_file(session, pkg_path);
nnfw_set_quantization_type(session, NNFW_QUANTIZE_TYPE_WO_I8_SYM);
nnfw_set_quantized_model_path(session, quantized_model_path);
nnfw_quantize(session);
nnfw_run(session);
"""
FULL = """
nnfw_load_model_from_file(session, pkg_path);
nnfw_prepare(session);
nnfw_set_input(session, input_index, input_type, input_buffer, input_element_size);
nnfw_set_output(session, output_index, output_type, output_buffer, output_element_size);
nnfw_set_execute_config(session, NNFW_RUN_CONFIG_DUMP_MINMAX, nullptr);
for (int i = 0; i < num_of_inference; ++i)
nnfw_run(session);
nnfw_set_quantization_type(session, NNFW_QUANTIZE_TYPE_U8_ASYM);
nnfw_set_quantized_model_path(session, quantized_model_path);
nnfw_quantize(session);
nnfw_reset_execute_config(session);
nnfw_run(session);
"""
CODEGEN = """
nnfw_load_model_from_file(session, pkg_path);
// nnfw_set_codegen_model_path(session, codegen_model_path);
nnfw_codegen(session, "abc-gen", NNFW_CODEGEN_PREF_DEFAULT);
nnfw_prepare(session);
nnfw_set_available_backend(session, "abc");
nnfw_set_input(session, input_index, input_type, input_buffer, input_element_size);
nnfw_set_output(session, output_index, output_type, output_buffer, output_element_size);
nnfw_run(session);
"""


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    """An installation with the plugin abc-gen, whose backend is abc."""
    return installed(build, tmp_path_factory.mktemp("prefix") / "usr")


@pytest.fixture(scope="module")
def back(build, tmp_path_factory):
    """An installation with the plugin abc-gen, whose backend is abc_back."""
    return installed(build, tmp_path_factory.mktemp("back") / "usr", 'ABC_BACKEND="abc_back"')


@pytest.fixture
def model(tmp_path):
    (tmp_path / "m").mkdir()
    return Path(shutil.copy(DIGITS / "digits.onnx", tmp_path / "m" / "test.onnx"))


@pytest.fixture
def example(build, prefix, tmp_path):
    """example(name, language, …): what the program of examples/from-onert prints, as numbers."""
    def run(name, language, *words):
        program = compiled(build, tmp_path, EXAMPLES / f"{name}.c", language, prefix / "lib")
        done = subprocess.run([str(word) for word in (program, *words)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return np.array(done.stdout.split(), np.float32)
    return run


def camera():
    """The input of the examples."""
    return (np.arange(784, dtype=np.float32) % 256 / 128 - 1).reshape(1, 1, 28, 28)


def by_onnx_runtime(path, x=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options).run(None, {"image": camera() if x is None else x})[0].reshape(-1)


def weight_types(path):
    return {one.data_type for one in onnx.load(path).graph.initializer if len(one.dims) > 1}


def quantizes_activations(path):
    return any(node.op_type == "QuantizeLinear" for node in onnx.load(path).graph.node)


def by_backend(scores):
    """Whether the test's backend computed them: each is the one before plus 1."""
    return np.allclose(np.diff(scores), 1, atol=1e-3)


def onert_run(prefix, *words, code=0, **environment):
    done = subprocess.run([str(word) for word in (prefix / "bin" / "onert_run", *words)], capture_output=True, text=True,
                          env=os.environ | environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("name, code", [("weight_only", WEIGHT_ONLY), ("full", FULL), ("codegen", CODEGEN)])
def test_the_examples_have_the_statements_of_the_guide_in_its_order(name, code):
    lines = [line.strip() for line in (EXAMPLES / f"{name}.c").read_text().splitlines()]
    for statement in code.strip().splitlines():
        assert statement in lines, statement
        lines = lines[lines.index(statement) + 1:]


@promise("onert", 1, "A float32 model is quantized on the device in two modes: weights only, or weights and activations.")
@pytest.mark.parametrize("name, words", [("weight_only", ()), ("full", (3,))])
def test_both_modes_quantize(example, model, tmp_path, name, words):
    example(name, "C99", model, tmp_path / "q.onnx", *words)
    assert weight_types(tmp_path / "q.onnx") & INTEGERS
    assert quantizes_activations(tmp_path / "q.onnx") == (name == "full")


@promise("onert", 2, "Weight-only quantization leaves activations in float32.")
@promise("onert", 3, "Weight-only quantization makes the model smaller.")
def test_weight_only_quantization_makes_weights_int8_and_the_file_smaller(example, model, tmp_path):
    example("weight_only", "C99", model, tmp_path / "q.onnx")
    assert not quantizes_activations(tmp_path / "q.onnx") and onnx.TensorProto.INT8 in weight_types(tmp_path / "q.onnx")
    assert (tmp_path / "q.onnx").stat().st_size < 0.4 * model.stat().st_size


@promise("onert", 4, "The code for weight-only quantization compiles as written: load, set type and path, quantize, run.")
@promise("onert", 5, "The quantized model is saved at the path that is set.")
@promise("onert", 6, "After quantization the quantized model is in use, without loading it.")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_code_for_weight_only_quantization_runs_the_saved_model(example, model, tmp_path, language):
    scores = example("weight_only", language, model, tmp_path / "q.onnx")
    np.testing.assert_allclose(scores, by_onnx_runtime(tmp_path / "q.onnx"), rtol=1e-4, atol=1e-4)
    assert np.abs(scores - by_onnx_runtime(model)).max() > 1e-4


@promise("onert", 7, "Full quantization quantizes weights and activations.")
@promise("onert", 8, "The ranges of activations are gathered while the model runs for inference.")
@promise("onert", 9, "The code for full quantization compiles as written, and its last run is that of the quantized model.")
@promise("onert", 10, "Resetting the execution configuration returns to normal execution.")
@promise("onert", 11, "Buffers that are set stay valid: values are cast between float32 and the quantized type.")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_code_for_full_quantization_runs_the_saved_model(example, model, tmp_path, language):
    scores = example("full", language, model, tmp_path / "q.onnx", 10)
    graph = onnx.load(tmp_path / "q.onnx").graph
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    last = next(node for node in graph.node if node.output[0] == graph.output[0].name)
    step = float(constants[last.input[1]])
    assert quantizes_activations(tmp_path / "q.onnx") and constants[last.input[2]].dtype == np.uint8
    assert np.abs(scores - by_onnx_runtime(tmp_path / "q.onnx")).max() <= 1.01 * step
    # The ten runs saw these outputs: the range fits them.
    expected = by_onnx_runtime(model)
    assert np.abs(scores - expected).max() < 8 * step and 255 * step < 1.2 * (max(0, expected.max()) - min(0, expected.min()))


@promise("onert", 12, "After full quantization, buffers of the quantized type can be set and are used without a cast.")
def test_buffers_of_the_quantized_type_give_the_integers_of_the_model(build, model, tmp_path):
    session, x, y = Session(ctypes.CDLL(str(build / "lib" / "libnnfw-anybit.so"))), camera(), np.zeros(10, np.float32)
    quantized_uint8 = 2  # NNFW_TYPE_TENSOR_QUANT8_ASYMM
    assert session.load_model_from_file(model) == session.prepare() == session.bind("input", x) == session.bind("output", y) == 0
    assert session.set_execute_config(0, None) == session.run() == session.reset_execute_config() == 0
    assert session.set_quantization_type(1) == session.set_quantized_model_path(tmp_path / "q.onnx") == session.quantize() == 0
    assert session.run() == 0
    graph = onnx.load(tmp_path / "q.onnx").graph
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}

    def grid(op, port):
        node = next(node for node in graph.node if node.op_type == op and port in [*node.input, *node.output])
        return constants[node.input[1]], constants[node.input[2]].astype(np.int32)
    (x_scale, x_zero), (y_scale, y_zero) = grid("QuantizeLinear", "image"), grid("DequantizeLinear", "logits")
    integers, scores = np.clip(np.rint(x / x_scale) + x_zero, 0, 255).astype(np.uint8), np.zeros(10, np.uint8)
    assert session.bind("input", integers, dtype=quantized_uint8) == session.bind("output", scores, dtype=quantized_uint8) == 0
    assert session.run() == session.close_session() == 0
    np.testing.assert_array_equal((scores - y_zero).astype(np.float32) * y_scale, y)


@promise("onert", 13, "Code generation writes code for a backend to a file, which a plugin makes.")
@promise("onert", 14, "The code for code generation compiles as written, and its run is that of the generated code.")
@promise("onert", 15, "Without a path, the code is in the folder of the model, with its name and the extension of the target.")
@promise("onert", 16, "A backend is chosen by its name, as nnfw_set_available_backend is written.")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_code_for_code_generation_runs_the_generated_code(example, model, language):
    scores = example("codegen", language, model)
    assert by_backend(scores) and abs(scores[0] - camera().sum()) < 1
    assert {file.name for file in model.parent.iterdir()} == {"test.onnx", "test.abc"}


@promise("onert", 17, "A plugin that fulfils the interface of ICodegen.h generates code.")
@promise("onert", 18, "Plugins are installed in {libdir}/nnfw/codegen as lib<filetype>-gen.so, and their files end in that type.")
def test_a_plugin_made_for_onert_is_found_where_it_is_installed(build, prefix, model, tmp_path):
    other = tmp_path / "usr"
    shutil.copytree(prefix, other)
    subprocess.run(["c++", "-std=c++17", "-shared", "-fPIC", f"-I{ROOT}/include/nnfw/odc", ROOT / "tests" / "codegen" / "onert_gen.cpp",
                    "-o", other / "lib" / "nnfw" / "codegen" / "libxyz-gen.so"], check=True)
    onert_run(other, "--codegen", "xyz-gen", model)
    assert model.with_suffix(".xyz").read_bytes() == f"{model}\n".encode() + model.read_bytes()


@promise("onert", 19, "The path of the code can be set.")
@promise("onert", 20, "Quantization and code generation work together: the code is that of the quantized model.")
def test_code_is_generated_for_the_quantized_model_at_a_path(prefix, model, tmp_path):
    onert_run(prefix, "--quantize", "uint8", "--qpath", tmp_path / "q.onnx", "--codegen", "so-gen", "--cpath", tmp_path / "c.so",
              "--dump:raw", tmp_path / "out", model, "--load:raw", raw(tmp_path), BACKENDS="so")
    scores = np.fromfile(tmp_path / "out.0", np.float32)
    assert (tmp_path / "c.so").exists()
    np.testing.assert_allclose(scores, by_onnx_runtime(tmp_path / "q.onnx"), atol=0.2)


def raw(folder):
    camera().tofile(folder / "in.0")
    return folder / "in"


@promise("onert", 21, "onert_run --quantize int8_wo --qpath: weight-only quantization.")
def test_onert_run_quantizes_weights(prefix, model, tmp_path):
    onert_run(prefix, "--quantize", "int8_wo", "--qpath", tmp_path / "test.q.onnx", "--load:raw", raw(tmp_path),
              "--dump:raw", tmp_path / "out", model)
    assert not quantizes_activations(tmp_path / "test.q.onnx")
    np.testing.assert_allclose(np.fromfile(tmp_path / "out.0", np.float32), by_onnx_runtime(tmp_path / "test.q.onnx"), rtol=1e-4, atol=1e-4)


@promise("onert", 22, "onert_run --quantize uint8 --minmax_run 10: full quantization after ten runs, also as the guide misspells it.")
@pytest.mark.parametrize("quantize", [("--", "quantize"), ("--quantize",), ("-q",)])
@pytest.mark.parametrize("runs", ["--minmax_run", "--minmax_runs"])
def test_onert_run_quantizes_fully(prefix, model, tmp_path, quantize, runs):
    said = onert_run(prefix, *quantize, "uint8", "--qpath", tmp_path / "test.q.onnx", runs, "10", model)
    assert re.search(r"Ranges +of 10 runs", said) and quantizes_activations(tmp_path / "test.q.onnx")


@promise("onert", 23, "BACKENDS=abc_back onert_run --codegen abc-gen --cpath: the backend's name is independent of the plugin's.")
def test_onert_run_generates_code_and_the_named_backend_runs_it(back, model, tmp_path):
    onert_run(back, "--codegen", "abc-gen", "--cpath", tmp_path / "test.abc", "--dump:raw", tmp_path / "out", model, BACKENDS="abc_back")
    assert (tmp_path / "test.abc").read_text().startswith("abc ")
    assert by_backend(np.fromfile(tmp_path / "out.0", np.float32))
    assert "there is no backend 'other'" in onert_run(back, "--codegen", "abc-gen", model, code=2, BACKENDS="other")


@promise("onert", 24, "onert_run with the options of both: quantization, then code for the quantized model.")
def test_onert_run_quantizes_and_generates_code(back, model, tmp_path):
    said = onert_run(back, "--quantize", "uint8", "--qpath", tmp_path / "test.q.onnx", "--minmax_run", "10", "--codegen", "abc-gen",
                     "--cpath", tmp_path / "test.abc", "--dump:raw", tmp_path / "out", model, BACKENDS="abc_back")
    assert "by the generator's backend" in said and by_backend(np.fromfile(tmp_path / "out.0", np.float32))
    assert quantizes_activations(tmp_path / "test.q.onnx") and (tmp_path / "test.abc").exists()
