"""Nodes with too few, too many or missing inputs or outputs: an error or a result, but no crash."""
import itertools

import numpy as np
import pytest
from onnx import TensorProto, defs, helper
from support.executing import Executor, ExecutorError

X = np.ones((2, 2), np.float32)
GRAPHS = ("If", "Loop", "Scan", "SequenceMap")  # need attributes
MICROSOFT = ("Attention", "BiasGelu", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "EmbedLayerNormalization", "FastGelu",
             "FusedConv", "FusedMatMul", "Gelu", "MatMulIntegerToFloat", "MatMulNBits", "QAttention", "QGemm", "QLinearAdd",
             "QLinearAveragePool", "QLinearConcat", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearMul",
             "QLinearReduceMean", "QLinearSigmoid", "QLinearSoftmax", "SkipLayerNormalization")
SCHEMAS = [one for one in defs.get_all_schemas() if not one.deprecated and one.name not in GRAPHS]
OPERATORS = [(one.domain, one.name, one.min_input, min(one.max_input, 8), min(one.max_output, 4)) for one in SCHEMAS
             if one.domain in ("", "ai.onnx.ml")] + [("com.microsoft", name, 2, 8, 2) for name in MICROSOFT]


def model_of(domain, name, inputs, outputs):
    values = [helper.make_tensor_value_info(one, TensorProto.FLOAT, None) for one in outputs if one]
    graph = helper.make_graph([helper.make_node(name, inputs, outputs, domain=domain)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])], values)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


@pytest.mark.parametrize("part", range(4))
def test_no_number_of_inputs_and_outputs_crashes(part):
    for domain, name, least, most, made in OPERATORS[part::4]:
        inputs = [[one] * count for count in {0, 1, max(0, least - 1), least, most, most + 1} for one in ("x", "")]
        outputs = [["y"], [], ["", "y"], ["y", "", *(f"z{i}" for i in range(made))]]
        for ins, outs in itertools.product(inputs, outputs):
            try:
                Executor(model_of(domain, name, ins, outs)).run({"x": X})
            except ExecutorError:
                pass


@pytest.mark.parametrize("name, inputs, part", [
    ("MatMul", ["x"], "node 0 (MatMul): input 1 is missing"), ("Conv", ["x", ""], "input 1 is missing"),
    ("Relu", [], "input 0 is missing"), ("Add", ["", "x"], "input 0 is missing")])
def test_an_input_that_is_missing_is_named_before_the_model_runs(name, inputs, part):
    with pytest.raises(ExecutorError, match="missing") as error:
        Executor(model_of("", name, inputs, ["y"]))
    assert part in str(error.value)
