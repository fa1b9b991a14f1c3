"""MASE's guide to quantization: its promises, on ONNX models. tests/python/test_mase_torch.py does the same on modules of torch."""
import copy
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support import reference_mase as rules
from support.promises import promise
from support.tree import ROOT

import anybit
from anybit.compat.mase import (MaseGraph, add_common_metadata_analysis_pass, deepcopy_mase_graph, init_metadata_analysis_pass,
                                quantize_transform_pass, report_graph_analysis_pass, summarize_quantization_analysis_pass,
                                verify_common_metadata_analysis_pass)

NOTHING = {"config": {"name": None}}
INTEGER = {"name": "integer", "data_in_width": 8, "data_in_frac_width": 4, "weight_width": 8, "weight_frac_width": 6,
           "bias_width": 8, "bias_frac_width": 5}
ROWS, COLUMNS = 12, 32
EXAMPLE = ROOT / "examples" / "from-mase" / "quantize_by_type.py"


def run(model, **inputs):
    """In stock ONNX Runtime."""
    session = onnxruntime.InferenceSession(model.to_bytes(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def model_of(nodes, inputs, constants, opset=18):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def linear(weight, bias=None):
    """y = x · weightᵀ, as torch's Linear is exported."""
    held = {"layer.weight": weight} | ({} if bias is None else {"layer.bias": bias})
    return model_of([helper.make_node("Gemm", ["x", *held], ["y"], name="layer", transB=1)], {"x": ["n", weight.shape[1]]}, held)


def two_layers():
    weights = {f"{name}.weight": np.float32(np.random.default_rng(1).standard_normal((COLUMNS, COLUMNS))) for name in ("first", "second")}
    return model_of([helper.make_node("MatMul", ["x", "first.weight"], ["h"], name="first"), helper.make_node("Relu", ["h"], ["r"], name="relu"),
                     helper.make_node("MatMul", ["r", "second.weight"], ["y"], name="second")], {"x": ["n", COLUMNS]}, weights)


def values(rng, *shape):
    return np.float32(rng.standard_normal(shape) * np.exp2(rng.integers(-6, 3, shape)))


def passed(model, **args):
    """The graph after MASE's passes."""
    mg = MaseGraph(model=model)
    mg, _ = init_metadata_analysis_pass(mg, {})
    mg, _ = add_common_metadata_analysis_pass(mg, {"dummy_in": {"x": None}, "add_value": False})
    mg, _ = quantize_transform_pass(mg, args)
    return mg


def for_linear(**config):
    return {"by": "type", "default": NOTHING, "linear": {"config": config}}


def weight_in_file(config, weight):
    """The weight that a model quantized by this config multiplies with, in ONNX Runtime."""
    model = passed(linear(weight), **for_linear(**config)).model
    return run(model, x=np.eye(weight.shape[1], dtype=np.float32)).T


def data_in_file(config, x):
    """What becomes of the input of a layer."""
    model = passed(linear(np.eye(x.shape[1], dtype=np.float32)), **for_linear(**config)).model
    return run(model, x=x)


def check_scheme(rng, name, keys, rule, parts=("weight", "data_in"), **extra):
    """Weights and data of a layer in a scheme are those of MASE's rule, with `profile: mase`."""
    x = values(rng, ROWS, COLUMNS)
    for part, made in (("weight", weight_in_file), ("data_in", data_in_file)):
        if part in parts:
            config = {"name": name, "profile": "mase"} | {f"{part}_{key}": value for key, value in (keys | extra).items()}
            np.testing.assert_array_equal(made(config, x), rule(x, **keys), err_msg=f"{part} of {config}")


@pytest.fixture
def rng():
    seed = int(np.random.SeedSequence().entropy % 2**32)
    print(f"seed {seed}")
    return np.random.default_rng(seed)


@promise("mase", 1, "The example of the guide runs when its imports come from anybit.compat.mase.")
def test_the_example_runs_with_other_imports():
    package = {"PYTHONPATH": str(pathlib.Path(anybit.__file__).parents[1])}
    done = subprocess.run([sys.executable, EXAMPLE, ROOT / "examples/digits/digits.onnx"], env=os.environ | package, capture_output=True,
                          text=True, check=True)
    assert "Gemm               1      1        0" in done.stdout and done.stdout.endswith("ndarray (1, 10)\n")


@promise("mase", 2, "MaseGraph takes a model, and every pass returns the graph and a dict.")
def test_a_pass_returns_the_graph_and_a_dict(tmp_path, capsys):
    mg = MaseGraph(model=two_layers())
    for one, args in ((init_metadata_analysis_pass, {}), (add_common_metadata_analysis_pass, {"dummy_in": {"x": None}, "add_value": False}),
                      (verify_common_metadata_analysis_pass, {}), (report_graph_analysis_pass, {"file_name": None}),
                      (quantize_transform_pass, for_linear(**INTEGER)),
                      (summarize_quantization_analysis_pass, {"save_dir": str(tmp_path / "summary"), "original_graph": None})):
        made, facts = one(mg, args)
        assert made is mg and facts == {}
    assert "MatMul" in capsys.readouterr().out
    assert (tmp_path / "summary" / "quantize_histogram.csv").read_text().startswith("operator,total,changed,unchanged\nMatMul,2,2,0\n")


@promise("mase", 2, "MaseGraph takes a model, and every pass returns the graph and a dict.")
def test_the_arguments_and_a_copy_of_the_graph_do_not_change():
    mg = MaseGraph(model=two_layers())
    original, args = deepcopy_mase_graph(mg), for_linear(**INTEGER)
    before = copy.deepcopy(args)
    quantize_transform_pass(mg, args)
    assert args == before and original.model is not mg.model and isinstance(mg.model, anybit.Model)


@promise("mase", 3, "The quantized graph's model can be called.")
def test_the_result_is_called_with_arrays(rng):
    x = values(rng, 5, COLUMNS)
    mg = passed(two_layers(), **for_linear(**INTEGER))
    result = mg.model(x)
    assert isinstance(result, np.ndarray)
    np.testing.assert_allclose(result, run(mg.model, x=x), rtol=1e-5, atol=1e-5)


def outcomes(mg):
    return {node.name: node.outcome for node in mg.model.report.nodes}


@promise("mase", 4, "`by: type` quantizes layers by the type of their operator.")
def test_by_type():
    assert outcomes(passed(two_layers(), **for_linear(**INTEGER))) == {"first": "quantized", "relu": "float", "second": "quantized"}


@promise("mase", 5, "`by: name` quantizes layers by their name.")
def test_by_name():
    mg = passed(two_layers(), by="name", default=NOTHING, second={"config": INTEGER})
    assert outcomes(mg) == {"first": "float", "relu": "float", "second": "quantized"}


@promise("mase", 6, "`default` is the config of the layers that no key names.")
def test_the_default_is_for_the_rest():
    mg = passed(two_layers(), by="name", default={"config": INTEGER}, second=NOTHING)
    assert outcomes(mg) == {"first": "quantized", "relu": "quantized", "second": "float"}


@promise("mase", 7, "A config whose name is None leaves its layers in float.")
def test_none_leaves_a_layer_in_float(rng):
    model, x = two_layers(), values(rng, 3, COLUMNS)
    np.testing.assert_array_equal(run(passed(model, by="type", default=NOTHING).model, x=x), run(anybit.load(model), x=x))
    mg = passed(model, by="type", default={"config": INTEGER}, matmul=NOTHING)
    assert outcomes(mg) == {"first": "quantized", "relu": "quantized", "second": "quantized"}  # MatMul with constant weights is linear
    assert outcomes(passed(model, by="type", default={"config": INTEGER}, linear=NOTHING)) == {
        "first": "float", "relu": "quantized", "second": "float"}


@promise("mase", 8, "Width and fraction width of the data, the weights and the bias are set one by one.")
@pytest.mark.parametrize("part", ["data_in", "weight", "bias"])
def test_each_part_has_its_widths(rng, part):
    x, weight, bias = values(rng, 5, COLUMNS), np.eye(COLUMNS, dtype=np.float32), values(rng, COLUMNS)
    given = {"data_in": x, "weight": weight, "bias": bias}
    for width, frac in [(8, 4), (4, 1), (12, 9), (16, 8), (24, 12), (32, 16)]:
        config = {"name": "integer", f"{part}_width": width, f"{part}_frac_width": frac}
        held = given | {part: rules.integer(given[part], width, frac)}
        made = run(passed(linear(weight, bias), **for_linear(**config)).model, x=x)
        np.testing.assert_allclose(made, held["data_in"] @ held["weight"].T + held["bias"], rtol=1e-6, atol=1e-6, err_msg=str(config))


ONES = np.ones(4, np.float32)
IMAGE, SIGNAL, MATRIX = (2, 4, 6, 6), (2, 4, 6), (5, 4)
# MASE's type, operator of ONNX, inputs, constants after them, attributes.
OPERATORS = {
    "add": ("Add", [MATRIX, MATRIX], [], {}), "sub": ("Sub", [MATRIX, MATRIX], [], {}), "mul": ("Mul", [MATRIX, MATRIX], [], {}),
    "bmm": ("MatMul", [(2, 3, 4), (2, 4, 5)], [], {}), "matmul": ("MatMul", [(3, 4), (4, 5)], [], {}),
    "linear": ("Gemm", [MATRIX], [np.ones((3, 4), np.float32)], {"transB": 1}),
    "conv1d": ("Conv", [SIGNAL], [np.ones((3, 4, 3), np.float32)], {}), "conv2d": ("Conv", [IMAGE], [np.ones((3, 4, 3, 3), np.float32)], {}),
    "relu": ("Relu", [MATRIX], [], {}), "selu": ("Selu", [MATRIX], [], {}), "tanh": ("Tanh", [MATRIX], [], {}), "gelu": ("Gelu", [MATRIX], [], {}),
    "softsign": ("Softsign", [MATRIX], [], {}), "softplus": ("Softplus", [MATRIX], [], {}),
    "batch_norm2d": ("BatchNormalization", [IMAGE], [ONES, ONES, ONES, ONES], {}), "layer_norm": ("LayerNormalization", [MATRIX], [ONES, ONES], {}),
    "group_norm": ("GroupNormalization", [IMAGE], [ONES, ONES], {"num_groups": 2}),
    "instance_norm2d": ("InstanceNormalization", [IMAGE], [ONES, ONES], {}), "rms_norm": ("RMSNormalization", [MATRIX], [ONES], {}),
}


@promise("mase", 9, "Each of the guide's operators can be quantized by its type: add, bmm, conv1d … softplus.")
@pytest.mark.parametrize("kind", list(OPERATORS))
def test_each_operator_is_quantized_by_type(rng, kind):
    op, inputs, constants, attributes = OPERATORS[kind]
    shapes = {f"x{i}": shape for i, shape in enumerate(inputs)}
    held = {f"c{i}": value for i, value in enumerate(constants)}
    model = model_of([helper.make_node(op, [*shapes, *held], ["y"], name="it", **attributes)], shapes, held, opset=23)
    config = {"name": "integer", "data_in_width": 4, "data_in_frac_width": 2}
    mg = passed(model, by="type", default=NOTHING, **{kind: {"config": config}})
    assert outcomes(mg) == {"it": "quantized"}
    made = [node.op for node in mg.model.nodes]
    assert made.count("QuantizeDequantize") == len(inputs) and op in made
    x = {name: values(rng, *shape) for name, shape in shapes.items()}
    nearest = {name: rules.integer(one, 4, 2) for name, one in x.items()}
    wanted = anybit.Session(model).run(nearest)["y"]
    np.testing.assert_allclose(anybit.Session(mg.model).run(x)["y"], wanted, rtol=1e-5, atol=1e-5)


@promise("mase", 10, "The scheme integer is fixed point of any width and fraction width.")
def test_integer(rng):
    for width, frac in [(8, 4), (8, 6), (3, 0), (16, 10), (32, 20)]:
        check_scheme(rng, "integer", {"width": width, "frac_width": frac}, rules.integer)


@promise("mase", 11, "The scheme fixed is the same as integer.")
def test_fixed(rng):
    check_scheme(rng, "fixed", {"width": 8, "frac_width": 5}, rules.integer)


@promise("mase", 14, "The scheme binary stores one bit per value.")
def test_binary(rng):
    check_scheme(rng, "binary", {"bipolar": True}, rules.binary, stochastic=False)
    x = np.float32(rng.integers(-8, 9, (ROWS, COLUMNS)) / 4)  # sums are exact
    assert np.array_equal(weight_in_file({"name": "binary", "profile": "mase", "weight_bipolar": False}, x), rules.binary(x))
    model = passed(linear(x), **for_linear(name="binary", weight_width=1, weight_bipolar=True, bias_width=32, data_in_width=32)).model
    assert model.report.weights[0].bytes_after == x.size // 8


@promise("mase", 15, "The scheme binary_residual adds up levels of one bit.")
def test_binary_residual(rng):
    x = values(rng, ROWS, COLUMNS)
    errors = []
    for levels in (1, 2, 3):
        made = weight_in_file({"name": "binary_residual", "weight_levels": levels}, x)
        assert len(np.unique(made)) <= 2**levels
        errors.append(np.square(x - made).sum())
    assert errors == sorted(errors, reverse=True)


@promise("mase", 16, "The scheme ternary gives -1, 0 and 1, with or without a scaling factor.")
def test_ternary(rng):
    x = np.float32(rng.integers(-40, 41, (ROWS, COLUMNS)) / 16)
    for scaled in (False, True):
        config = {"name": "ternary", "profile": "mase", "weight_width": 2, "weight_scaling_factor": scaled, "weight_mean": None,
                  "weight_median": None, "weight_max": None, "data_in_width": 32}
        assert np.array_equal(weight_in_file(config, x), rules.ternary(x, scaled))
        of_data = {"name": "ternary", "profile": "mase", "data_in_scaling_factor": scaled}  # a row is a sample
        assert np.array_equal(data_in_file(of_data, x), rules.ternary(x, scaled))


@promise("mase", 17, "The scheme minifloat_ieee has an exponent width and an exponent bias of the user's choice.")
def test_minifloat_ieee(rng):
    for width, exponent, bias in [(8, 4, 7), (8, 3, None), (6, 2, 1), (12, 5, 9)]:
        check_scheme(rng, "minifloat_ieee", {"width": width, "exponent_width": exponent, "exponent_bias": bias}, rules.minifloat_ieee)


@promise("mase", 18, "The scheme minifloat_denorm has no implicit leading bit.")
def test_minifloat_denorm(rng):
    for width, exponent, bias in [(8, 4, 7), (8, 3, None), (6, 2, 1)]:
        check_scheme(rng, "minifloat_denorm", {"width": width, "exponent_width": exponent, "exponent_bias": bias}, rules.minifloat_denorm)


@promise("mase", 19, "The scheme log rounds to powers of two.")
def test_log(rng):
    for width, bias in [(8, None), (4, None), (5, 9)]:
        check_scheme(rng, "log", {"width": width, "exponent_bias": bias}, rules.log)


@promise("mase", 20, "The scheme block_fp shares an exponent in a block.")
def test_block_fp(rng):
    for width, block in [(8, [1, 16]), (5, [1, 8])]:
        check_scheme(rng, "block_fp", {"width": width, "exponent_width": 8, "exponent_bias": None, "block_size": block}, rules.block_fp,
                     skip_first_dim=True)


@promise("mase", 21, "The scheme block_minifloat shares an exponent bias in a block of minifloats.")
def test_block_minifloat(rng):
    for width, exponent, block in [(8, 4, [1, 16]), (6, 3, [1, 8])]:
        check_scheme(rng, "block_minifloat", {"width": width, "exponent_width": exponent, "exponent_bias_width": 8, "block_size": block},
                     rules.block_minifloat)


@promise("mase", 22, "The scheme block_log shares an exponent bias in a block of powers of two.")
def test_block_log(rng):
    for width, block in [(8, [1, 16]), (4, [1, 8])]:
        check_scheme(rng, "block_log", {"width": width, "exponent_bias_width": 8, "block_size": block}, rules.block_log)


@promise("mase", 23, "Blocks are one-dimensional runs along the values that a layer adds up, and a short last one is allowed.")
def test_blocks_follow_the_summed_axis(rng):
    x = values(rng, ROWS, 20)
    keys = {"width": 6, "exponent_width": 8, "exponent_bias": None, "block_size": [1, 8]}
    made = weight_in_file({"name": "block_fp", "profile": "mase"} | {f"weight_{key}": value for key, value in keys.items()}, x)
    padded = np.pad(x, ((0, 0), (0, 4)))
    np.testing.assert_array_equal(made, rules.block_fp(padded, **keys)[:, :20])


def test_a_block_of_one_number_is_a_run_of_one_row():
    """MASE takes 16 columns of all rows, so that 1.25 would make 0.25 of the 0.3: docs/from-mase.md."""
    x = np.zeros((2, 16), np.float32)
    x[:, 0] = 1.25, 0.3
    for profile in ({}, {"profile": "mase"}):
        for block in ([16], [1, 16], 16):
            config = {"name": "block_fp", "weight_width": 4, "weight_exponent_width": 8, "weight_exponent_bias": None, "weight_block_size": block}
            assert weight_in_file(config | profile, x)[:, 0].tolist() == [1.25, 0.3125]


def test_without_the_profile_the_formats_stay_as_they_are_defined(rng):
    x = np.float32([[1.95] * COLUMNS])
    keys = {"weight_width": 8, "weight_exponent_width": 4, "weight_exponent_bias": None}
    assert weight_in_file({"name": "minifloat_ieee", **keys}, x)[0, 0] == 2
    for where in ({"profile": "mase"}, {"linear": {"config": {"name": "minifloat_ieee", "profile": "mase", **keys}}}):
        args = for_linear(name="minifloat_ieee", **keys) | where
        made = run(passed(linear(x), **args).model, x=np.eye(COLUMNS, dtype=np.float32)).T
        assert made[0, 0] == 1.875


def test_a_scheme_that_does_not_exist_yet_is_said_so():
    for name, instead in (("lutnet", "binary_residual"), ("logicnets", "fixed"), ("flexround", "integer")):
        with pytest.raises(anybit.Unsupported, match=f"scheme '{name}' is not supported yet") as error:
            passed(two_layers(), **for_linear(name=name))
        assert instead in error.value.hint and "did you mean" not in error.value.hint


@pytest.mark.parametrize("config, spec", [
    ({"name": "mxint", "weight_width": 8, "weight_block_size": 16}, "mxint8 axis=0 block_size=16"),
    ({"name": "mxint", "weight_width": 4, "weight_block_size": [1, 16]}, "block_fp exponent_rule=clip width=4 axis=0 block_size=16"),
    ({"name": "mxfp", "weight_block_size": 32, "weight_exponent_width": 2, "weight_frac_width": 1}, "mxfp4_e2m1 axis=0 block_size=32"),
    ({"name": "mxfp", "weight_block_size": 32, "weight_exponent_width": 5, "weight_frac_width": 2}, "mxfp8_e5m2 axis=0 block_size=32"),
    ({"name": "scale_integer", "weight_width": 8}, "int8 sym channel"),
    ({"name": "scale_integer", "weight_width": 5}, "int5 sym channel"),
])
def test_newer_schemes_have_their_formats(config, spec):
    report = passed(two_layers(), **for_linear(**config)).model.report
    assert [one.spec.removesuffix(" rank=2") for one in report.weights] == [spec, spec]


@pytest.mark.parametrize("config, problem, hint", [
    ({"name": "mxfp", "weight_exponent_width": 1, "weight_frac_width": 2}, "mxfp with 1 exponent bits and 2 fraction bits", "4 and 3"),
    ({"name": "mxint", "weight_frac_width": 2}, "unknown key 'weight_frac_width' of mxint", "block_size"),
    ({"name": "integer", "profile": "chop"}, "profile is neither mase nor plain", "mase"),
    ({"name": "log", "profile": "mase", "weight_with_zero": True}, "profile mase has no zero", "with_zero false"),
    ({"name": "integer", "weights_width": 8}, "unknown key 'weights_width'", "weight_width"),
    ({"name": "integer", "weight_width": 33}, "33", "32"),
    ({"name": "integer", "weight_width": 20, "weight_frac_width": "auto"}, "above 16 bits", "fraction bits"),
])
def test_what_is_wrong_in_a_config_is_said(config, problem, hint):
    with pytest.raises(anybit.Error, match=problem) as error:
        passed(two_layers(), **for_linear(**config))
    assert hint in error.value.hint


def test_passes_say_what_they_need():
    class Module:
        def forward(self, x): return x
        def named_modules(self): return []
    with pytest.raises(anybit.InvalidArgument, match="not exported yet"):
        quantize_transform_pass(MaseGraph(model=Module()), for_linear(**INTEGER))
    with pytest.raises(anybit.InvalidArgument, match="is not a MaseGraph"):
        init_metadata_analysis_pass(two_layers())
    with pytest.raises(anybit.InvalidArgument, match="have no 'by'"):
        quantize_transform_pass(MaseGraph(model=two_layers()), {})
    with pytest.raises(anybit.InvalidArgument, match="not quantized"):
        summarize_quantization_analysis_pass(MaseGraph(model=two_layers()))
