"""c-gen: linear operators in float16 and bfloat16. Accumulators are float32, rounded once: exact sums give exact results."""
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.generating import compile_all, generate

ROOT = Path(__file__).resolve().parents[2]
from support.executing import Executor

SEED = 20261116
# Operator, shapes of the data, the weight and the bias, attributes.
CASES = {
    "matmul": ("MatMul", (5, 33), (33, 20), None, {}),
    "vector": ("MatMul", (33,), (33, 20), None, {}),
    "batched": ("MatMul", (2, 3, 7), (2, 7, 4), None, {}),
    "gemm": ("Gemm", (5, 18), (18, 9), (9,), {"alpha": 0.5, "beta": 2.0}),
    "turned": ("Gemm", (5, 18), (9, 18), (5, 1), {"transB": 1}),
    "both_turned": ("Gemm", (18, 5), (9, 18), (9,), {"transA": 1, "transB": 1}),
    "conv": ("Conv", (2, 4, 9, 8), (6, 4, 3, 3), (6,), {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
    "pointwise": ("Conv", (1, 5, 4, 4), (3, 5, 1, 1), None, {}),
    "depthwise": ("Conv", (1, 4, 12), (4, 1, 5), (4,), {"group": 4, "dilations": [2]}),
    "transposed": ("ConvTranspose", (1, 3, 5, 4), (3, 2, 3, 2), (2,), {"strides": [2, 1]}),
}


def model_of(case, kind, random, exact):
    """Inputs and outputs are float32; the weight and the bias are constants of the type."""
    op, data, weight, bias, attributes = CASES[case]

    def numbers(shape):
        return (random.integers(-4, 5, shape) / 4 if exact else random.normal(size=shape)).astype(np.float32)

    x = numbers(data)
    constants = [helper.make_tensor(name, kind, shape, numbers(shape).ravel())
                 for name, shape in (("w", weight), ("b", bias)) if shape is not None]
    nodes = [helper.make_node("Cast", ["x"], ["half"], to=kind),
             helper.make_node(op, ["half"] + [tensor.name for tensor in constants], ["made"], name=case, **attributes),
             helper.make_node("Relu", ["made"], ["cut"]),
             helper.make_node("Cast", ["cut"], ["y"], to=TensorProto.FLOAT)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, data)],
                              [onnx.ValueInfoProto(name="y")], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), x


@pytest.mark.parametrize("kind", ["FLOAT16", "BFLOAT16"])
def test_linear_operators_are_bit_identical_to_the_runtime_if_sums_are_exact(kind, tmp_path):
    random = np.random.default_rng(SEED)
    made = {}
    for case in CASES:
        for exact in (True, False):
            name = f"{case}_{'exact' if exact else 'rounded'}"
            made[name] = model_of(case, getattr(TensorProto, kind), random, exact)
            generate(made[name][0], tmp_path / f"{name}.c")
    programs = compile_all(list(made), tmp_path, "-pedantic")
    unit = {"FLOAT16": 2**-10, "BFLOAT16": 2**-7}[kind]
    for name, (model, x) in made.items():
        right = Executor(model, threads=1).run({"x": x})[0]
        found = programs[name].run([x], [right])[0]
        assert np.abs(right).max() > 0
        if name.endswith("exact"):
            np.testing.assert_array_equal(found, right, err_msg=name)
        else:
            assert np.abs(found - right).max() <= unit * np.abs(right).max(), name


@pytest.mark.parametrize("net", ["digits", "cifar"])
def test_nets_in_float16_are_close_and_their_weights_take_two_bytes(net, anybit, tmp_path):
    shape = {"digits": (1, 1, 28, 28), "cifar": (1, 3, 32, 32)}[net]
    real = onnx.load(ROOT / f"examples/{net}/{net}.onnx")
    for size, dim in zip(shape, real.graph.input[0].type.tensor_type.shape.dim):
        dim.dim_value = size
    onnx.save(real, tmp_path / "float.onnx")
    anybit("quantize", tmp_path / "float.onnx", "-o", tmp_path / "half.onnx", "--recipe", "float16")
    half = onnx.load(tmp_path / "half.onnx")
    generate(half, tmp_path / "net.c")
    x = np.random.default_rng(SEED).normal(size=shape).astype(np.float32)
    right = Executor(half, threads=1).run({"image": x})[0]
    found = compile_all(["net"], tmp_path, "-O1", "-pedantic")["net"].run([x], [right])[0]
    assert np.abs(found - right).max() <= 4e-3 * np.abs(right).max()
    weights = sum(numpy_helper.to_array(tensor).size for tensor in real.graph.initializer)
    constants = re.search(r"#define \w*_CONSTANT_BYTES (\d+)", (tmp_path / "net.h").read_text()).group(1)
    assert int(constants) < 2.1 * weights
