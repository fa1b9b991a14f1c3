"""Seeds for fuzz_calls: the flow of docs/device.md on small models, complete and with calls left out. Run: calls_seeds.py FOLDER."""

import random
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

# The numbers of the calls in fuzz/api/calls.cpp.
CREATE, LOAD, SHARE, PREPARE, SHAPE, INPUT, OUTPUT, RUN = 0, 1, 3, 6, 11, 12, 14, 16
GATHER, RESET, TYPE, RECIPE, PATH, QUANTIZE, AUTO = 19, 20, 25, 26, 27, 28, 36
FLOAT = 4 * TensorProto.FLOAT


def model(nodes, weights, shape, outputs):
    random = np.random.default_rng(3)
    tensors = [numpy_helper.from_array(random.standard_normal(dims).astype(np.float32), name) for name, dims in weights.items()]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, outputs)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


MODELS = [
    model([helper.make_node("Gemm", ["x", "a", "b"], ["h"]), helper.make_node("Relu", ["h"], ["y"])], {"a": (4, 4), "b": (4,)}, [1, 4], [1, 4]),
    model([helper.make_node("MatMul", ["x", "a"], ["y"])], {"a": (4, 2)}, ["batch", 4], ["batch", 2]),
    model([helper.make_node("Conv", ["x", "k"], ["c"]), helper.make_node("Sigmoid", ["c"], ["y"])], {"k": (2, 1, 2, 2)}, [1, 1, 2, 4], [1, 2, 1, 3]),
]


def call(number, a=0, b=1, session=0):
    return bytes([3 * number + session, a, b])


BEGIN = [call(LOAD), call(PREPARE), call(INPUT, FLOAT, 1), call(OUTPUT, FLOAT, 2), call(RUN)]
FLOWS = [
    BEGIN,
    [*BEGIN, call(GATHER, 1), call(RUN), call(RUN), call(TYPE, 2), call(PATH, 2), call(QUANTIZE), call(RESET), call(RUN)],
    [*BEGIN, call(RECIPE, 3), call(PATH, 2), call(QUANTIZE), call(RUN), call(SHARE, 0, 0, 1), call(RUN, session=1)],
    [*BEGIN, call(SHAPE, 0, 3), call(RUN), call(TYPE, 2), call(PATH, 2), *[call(AUTO, 1)] * 3],
]
target = Path(sys.argv[1])
chance = random.Random(11)
for i, flow in enumerate(FLOWS):
    for k, one in enumerate(MODELS):
        some = [word for word in flow if chance.random() < 0.8]
        for name, calls in {"whole": flow, "part": some}.items():
            (target / f"{name}{i}{k}").write_bytes(bytes([len(calls)]) + b"".join(calls) + one)
