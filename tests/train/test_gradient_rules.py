"""Every gradient rule against central differences in float64: on ONNX's own node cases and on random shapes."""
import fnmatch
import pathlib
import zlib

import numpy as np
import onnx
import pytest
from onnx import helper
from support import backend
from support.differences import FLOATS, check_model
from support.gradient_cases import FLAT, RANDOM, STRAIGHT_THROUGH, random_models
from support.executing import Executor, operators_with_gradient, with_gradients
from support.one_node import NEWEST_IR

ROUNDING = {"Cast", "CastLike"}  # differences see the steps
IN_UNIT_INTERVAL = {"Acos", "Asin", "Atanh"}
# Statistics are further outputs: there is no gradient through them.
FIRST_ONLY = {"BatchNormalization", "LayerNormalization"}
# Inputs after the first are settings: weights of classes, a region.
SETTINGS = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "Resize"}
# Cases that are no functions of their float inputs alone, or not smooth at their inputs.
LEFT_OUT = {
    "test_training_dropout*": "random",
    "test_dropout*": "random",
    "*_expanded*": "other operators",
    "*_empty_set*": "no elements",
    "test_scatter*_m[aiu]*": "maxima, minima and products: refused",
}


def rng_of(text):
    """A generator whose seed follows from the name of the case."""
    seed = zlib.crc32(text.encode())
    print(f"seed {seed} ({text})")
    return np.random.default_rng(seed)


def is_float(port):
    return port.type.tensor_type.elem_type in FLOATS


def node_case_names():
    ruled = {name.removeprefix(":") for name in set(operators_with_gradient()) - STRAIGHT_THROUGH} - FLAT - ROUNDING
    found = []
    for name, case in sorted(backend.cases().items()):
        if any(fnmatch.fnmatch(name, pattern) for pattern in LEFT_OUT):
            continue
        graph = onnx.load(pathlib.Path(case.model_dir) / "model.onnx").graph
        if len(graph.node) != 1 or graph.node[0].op_type not in ruled or graph.node[0].domain:
            continue
        if any(map(is_float, graph.input)) and is_float(graph.output[0]):
            found.append(name)
    return found


def case_of(name):
    case = backend.cases()[name]
    model = onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
    inputs, _ = next(backend.data_sets(case, model))
    return model, {port.name: np.asarray(x) for port, x in zip(model.graph.input, inputs)}


@pytest.mark.parametrize("name", node_case_names())
def test_rules_match_central_differences_on_the_node_cases_of_onnx(name):
    model, feeds = case_of(name)
    rng = rng_of(name)
    operator = model.graph.node[0].op_type
    # Away from kinks and ties, which many cases have on purpose.
    for key, x in feeds.items():
        if x.dtype.kind == "f" and key not in ("scales", "roi"):
            step = rng.uniform(0.003, 0.03, x.shape)
            feeds[key] = x * (0.99 - step) if operator in IN_UNIT_INTERVAL else x.astype(np.float64) + step
    wanted = [model.graph.input[0].name] if operator in SETTINGS else None
    if operator == "MaxPool":  # a step along all of many elements crosses ties
        feeds = {key: x[tuple(slice(0, 12) for _ in x.shape)] for key, x in feeds.items()}
        model.graph.input[0].type.tensor_type.ClearField("shape")
        for port in model.graph.output:
            port.type.tensor_type.ClearField("shape")
    check_model(model, feeds, rng, wanted, through=1 if operator in FIRST_ONLY else None, about=name)


# Operators of ONNX as functions of others, as their node cases spell them out.
FUNCTIONS = ["test_attention_3d_*expanded", "test_attention_4d_softcap_expanded", "test_center_crop_pad_*_expanded", "test_elu_*expanded*",
             "test_gelu_*expanded", "test_group_normalization_*expanded", "test_layer_normalization_2d_*expanded_ver18",
             "test_logsoftmax_*expanded_ver18", "test_mish_expanded", "test_mvn_expanded_ver18", "test_reduce_l2_*random_expanded",
             "test_rms_normalization_3d_*expanded", "test_selu_*expanded_ver18", "test_softplus_*expanded_ver18"]


def function_case_names():
    return [name for name in sorted(backend.cases()) if any(fnmatch.fnmatch(name, pattern) for pattern in FUNCTIONS)
            and "causal" not in name]  # it masks with the smallest float32


@pytest.mark.parametrize("name", function_case_names())
def test_gradients_through_functions_of_onnx_match_central_differences(name):
    model, feeds = case_of(name)
    rng = rng_of(name)
    feeds = {key: x + rng.uniform(0.003, 0.03, x.shape) if x.dtype.kind == "f" else x for key, x in feeds.items()}
    check_model(model, feeds, rng, about=name)


@pytest.mark.parametrize("symbolic", [False, True], ids=["known", "symbolic"])
@pytest.mark.parametrize("operator", sorted(RANDOM))
def test_rules_match_central_differences_on_random_shapes(operator, symbolic):
    rng = rng_of(f"{operator} {symbolic}")
    for about, model, feeds in random_models(operator, rng, symbolic):
        check_model(model, feeds, rng, through=1 if operator.split(":")[1] in FIRST_ONLY else None, about=about)


def test_every_rule_has_random_cases():
    """A new rule needs cases in gradient_cases.py."""
    flat = {f":{name}" for name in FLAT}
    assert set(operators_with_gradient()) - flat - STRAIGHT_THROUGH == set(RANDOM)


@pytest.mark.parametrize("op_type", sorted(name for name in FLAT if name in ("Ceil", "Floor", "Round", "Sign")))
def test_steps_have_gradients_of_zero(op_type):
    x = np.random.default_rng(1).normal(size=(3, 4))
    nodes = [helper.make_node(op_type, ["x"], ["y"]), helper.make_node("ReduceSum", ["y"], ["loss"], keepdims=0)]
    ports = [helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, x.shape)]
    ends = [helper.make_tensor_value_info("loss", onnx.TensorProto.DOUBLE, [])]
    model = helper.make_model(helper.make_graph(nodes, "flat", ports, ends), opset_imports=[helper.make_opsetid("", 22)],
                              ir_version=NEWEST_IR)
    gradient = Executor(with_gradients(model, "loss", ["x"]).SerializeToString()).run({"x": x})[1]
    np.testing.assert_array_equal(gradient, np.zeros_like(x))
