"""Paths and small models for the tests of the Python package."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[2]


def model_of(nodes, inputs, outputs, constants=(), opset=17):
    """A model from nodes; inputs and outputs are (name, shape) or (name, shape, type)."""
    def info(name, shape, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph(list(nodes), "made", [info(*one) for one in inputs], [info(*one) for one in outputs],
                              [onnx.numpy_helper.from_array(value, name) for name, value in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def matmul(rows="N", seed=0):
    """One MatMul of [rows, 8] with constant weights."""
    weights = np.random.default_rng(seed).standard_normal((8, 4)).astype(np.float32)
    return model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="matmul")], [("x", [rows, 8])],
                    [("y", [rows, 4])], [("w", weights)])


def two_inputs():
    """x + y."""
    return model_of([helper.make_node("Add", ["x", "y"], ["z"], name="sum")], [("x", ["N", 3]), ("y", ["N", 3])],
                    [("z", ["N", 3])])
