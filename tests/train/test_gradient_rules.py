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
from support.gradient_cases import FLAT, RANDOM, ROUNDS
from support.executing import NUMBERS, Executor, operators_with_gradient, with_gradients
from support.one_node import NEWEST_IR

ROUNDING = {"Cast", "CastLike", "QuantizeLinear", "DequantizeLinear"}  # differences see the steps
IN_UNIT_INTERVAL = {"Acos", "Asin", "Atanh"}
# Statistics are further outputs: there is no gradient through them.
FIRST_ONLY = {"BatchNormalization", "LayerNormalization"}
# The weights of classes are settings.
LOSSES = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}
# Cases that are no functions of their float inputs alone, or not smooth at their inputs.
LEFT_OUT = {
    "test_training_dropout*": "random",
    "test_dropout*": "random",
    "*_expanded*": "other operators",
    "*_empty_set*": "no elements",
}


def rng_of(text):
    """A generator whose seed follows from the name of the case."""
    seed = zlib.crc32(text.encode())
    print(f"seed {seed} ({text})")
    return np.random.default_rng(seed)


def is_float(port):
    return port.type.tensor_type.elem_type in FLOATS


def node_case_names():
    ruled = {name.removeprefix(":") for name in operators_with_gradient()} - FLAT - ROUNDING
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


@pytest.mark.parametrize("name", node_case_names())
def test_rules_match_central_differences_on_the_node_cases_of_onnx(name):
    case = backend.cases()[name]
    model = onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
    inputs, _ = next(backend.data_sets(case, model))
    rng = rng_of(name)
    feeds = {port.name: np.asarray(x) for port, x in zip(model.graph.input, inputs)}
    operator = model.graph.node[0].op_type
    # Away from kinks and ties, which many cases have on purpose.
    for key, x in feeds.items():
        if x.dtype.kind == "f" and key not in ("scales", "roi"):
            step = rng.uniform(0.003, 0.03, x.shape)
            feeds[key] = x * (0.99 - step) if operator in IN_UNIT_INTERVAL else x.astype(np.float64) + step
    wanted = [model.graph.input[0].name] if operator in LOSSES else None
    check_model(model, feeds, rng, wanted, through=1 if operator in FIRST_ONLY else None, about=name)


def model_of(operator, inputs, constants, attributes, outputs, symbolic):
    domain, op_type = operator.split(":")
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    node = helper.make_node(op_type, names, [f"y{i}" for i in range(outputs)], domain=domain, name="it", **attributes)
    ports, kept = [], []
    for i, (name, x) in enumerate(zip(names, inputs)):
        if not name:
            continue
        if i in constants:
            kept.append(onnx.numpy_helper.from_array(x, name))
            continue
        shape = [f"n{i}_{axis}" for axis in range(x.ndim)] if symbolic else x.shape
        ports.append(helper.make_tensor_value_info(name, NUMBERS[x.dtype], shape))
    results = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)]
    graph = helper.make_graph([node], "one", ports, results, kept)
    opsets = [helper.make_opsetid("", 24)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=NEWEST_IR)


@pytest.mark.parametrize("symbolic", [False, True], ids=["known", "symbolic"])
@pytest.mark.parametrize("operator", sorted(RANDOM))
def test_rules_match_central_differences_on_random_shapes(operator, symbolic):
    rng = rng_of(f"{operator} {symbolic}")
    for turn in range(ROUNDS):
        for number, make in enumerate(RANDOM[operator]):
            case = make(rng)
            inputs, attributes = case[0], dict(case[1]) if len(case) > 1 else {}
            constants, outputs = attributes.pop("constants", ()), attributes.pop("outputs", 1)
            inputs = [None if x is None else np.asarray(x) for x in inputs]
            model = model_of(operator, inputs, constants, attributes, outputs, symbolic)
            feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in constants}
            shapes = [None if x is None else x.shape for x in inputs]
            through = 1 if operator.split(":")[1] in FIRST_ONLY else None
            check_model(model, feeds, rng, through=through, about=f"{operator} case {number}, turn {turn}: {shapes} {attributes}")


def test_every_rule_has_random_cases():
    """A new rule needs cases in gradient_cases.py."""
    assert set(operators_with_gradient()) - FLAT_NAMES == set(RANDOM)


FLAT_NAMES = {f":{name}" for name in FLAT}


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
