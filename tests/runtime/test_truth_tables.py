"""The pass truth_tables: linear layers of few inputs and few bits become LookUpNeurons, with the exact results of the layer."""
import subprocess
from fractions import Fraction

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor
from support.logic_nets import PROGRAM, simulate, write_verilog

SEED = 20261121


class Mlp:
    """Sparse linear layers between Q/DQ pairs: x [1, 2, 3] in few bits, Gemm or MatMul + Add, Relu, Clip."""

    def __init__(self, fixed, fan_in=4, stored=True, kind=np.int8):
        self.random, self.fixed, self.kind = np.random.default_rng(SEED), fixed, np.dtype(kind)
        self.nodes, self.constants, self.layers = [], {}, []
        zero = 0 if fixed or self.kind == np.int8 else 2
        self.grid = self.quantize("x", "x", zero, (0, 3))
        self.nodes.append(helper.make_node("Flatten", [self.last], ["flat"]))
        self.last = "flat"
        for i, (inputs, outputs) in enumerate([(6, 9), (9, 7), (7, 3)]):
            self.layer(i, inputs, outputs, fan_in, stored, end=i == 2)

    def constant(self, name, value):
        self.constants[name] = np.asarray(value)
        return name

    def scale(self, low, high):
        real = self.random.uniform(low, high)
        return np.float32(2.0 ** round(np.log2(real)) if self.fixed else real)

    def quantize(self, stem, value, zero, span):
        """Q and DQ behind a Clip to `span`, in integers."""
        scale = self.scale(0.2, 0.4)
        names = [self.constant(f"{stem}_scale", scale), self.constant(f"{stem}_zero", self.kind.type(zero))]
        ends = [self.constant(f"{stem}_{end}", np.float32(scale * (one - zero))) for end, one in zip(("low", "high"), span)]
        self.nodes += [helper.make_node("Clip", [value, *ends], [f"{stem}_clipped"]),
                       helper.make_node("QuantizeLinear", [f"{stem}_clipped", *names], [f"{stem}_q"]),
                       helper.make_node("DequantizeLinear", [f"{stem}_q", *names], [f"{stem}_dq"])]
        self.last = f"{stem}_dq"
        return scale, zero, span

    def layer(self, i, inputs, outputs, fan_in, stored, end):
        weights = np.zeros((outputs, inputs), np.int8)
        for row in weights:
            chosen = self.random.choice(inputs, fan_in - i % 2, replace=False)
            row[chosen] = self.random.choice([-1, 1], len(chosen)) * self.random.integers(5, 50, len(chosen))
        step = self.scale(0.01, 0.05)
        bias = np.asarray(self.random.integers(-50, 50, outputs) * (step * self.grid[0]), np.float32)
        reals = weights.astype(np.float32) * step
        use_gemm = i != 1
        if stored:
            self.constant(f"w{i}", weights if use_gemm else weights.T.copy())
            self.nodes.append(helper.make_node("DequantizeLinear", [f"w{i}", self.constant(f"ws{i}", step)], [f"wf{i}"]))
        else:
            self.constant(f"wf{i}", reals if use_gemm else reals.T.copy())
        self.constant(f"b{i}", bias)
        if use_gemm:
            self.nodes.append(helper.make_node("Gemm", [self.last, f"wf{i}", f"b{i}"], [f"s{i}"], name=f"layer{i}", transB=1))
        else:
            self.nodes += [helper.make_node("MatMul", [self.last, f"wf{i}"], [f"m{i}"], name=f"layer{i}"),
                           helper.make_node("Add", [f"b{i}", f"m{i}"], [f"s{i}"])]
        value = f"s{i}"
        if not end:
            self.nodes.append(helper.make_node("Relu", [value], [f"r{i}"]))
            value = f"r{i}"
        zero = 0 if self.kind == np.int8 else 100
        before = self.grid
        self.grid = self.quantize(f"h{i}", value, zero, (zero - 100, zero + 100) if end else (zero, zero + 7))
        self.layers.append((before, reals, bias, not end, self.grid))

    def model(self):
        self.nodes[-1].output[0] = "y"
        graph = helper.make_graph(self.nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2, 3])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
                                  [numpy_helper.from_array(value, name) for name, value in self.constants.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    def exact(self, x):
        """The integers of the output, in rational arithmetic."""
        scale, zero, (low, high) = self.layers[0][0]
        row = [min(max(round(Fraction(float(np.float32(one) / scale))) + zero, low), high) for one in x.flatten()]
        for (scale, zero, _), weights, bias, relu, (to, to_zero, (low, high)) in self.layers:
            result = []
            for w, b in zip(weights, bias):
                real = sum(Fraction(float(one)) * (q - zero) for one, q in zip(w, row)) * Fraction(float(scale)) + Fraction(float(b))
                real = max(real, 0) if relu else real
                result.append(min(max(round(real / Fraction(float(to))) + to_zero, low), high))
            row = result
        return np.array([(np.float32(q - to_zero) * to) for q in row], np.float32)


def prepared(model, tmp_path):
    """The model with truth tables, and what the program says."""
    onnx.save(model, tmp_path / "mlp.onnx")
    done = subprocess.run([PROGRAM, "prepare", tmp_path / "mlp.onnx", "--pass", "truth_tables", "-o", tmp_path / "logic.onnx"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return onnx.load(tmp_path / "logic.onnx"), done.stdout + done.stderr


def operators(model):
    return [node.op_type.split("_")[0] for node in model.graph.node]


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("fixed", [True, False])
def test_tables_have_the_exact_results(fixed, stored, kind, tmp_path):
    mlp = Mlp(fixed, stored=stored, kind=kind)
    logic, _ = prepared(mlp.model(), tmp_path)
    assert operators(logic).count("LookUpNeurons") == 3 and "Gemm" not in operators(logic) and "MatMul" not in operators(logic)
    x = np.random.default_rng(SEED).uniform(-1, 3, (200, 2, 3)).astype(np.float32)
    expected = np.stack([mlp.exact(one) for one in x])
    assert len(np.unique(expected)) > 5
    got, = Executor(logic.SerializeToString()).run({"x": x})
    np.testing.assert_array_equal(got, expected, err_msg=f"seed {SEED}")
    theirs, = onnxruntime.InferenceSession(logic.SerializeToString()).run(None, {"x": x})
    np.testing.assert_array_equal(theirs, expected)
    if fixed:  # then float32 sums are exact, too
        before, = Executor(mlp.model().SerializeToString()).run({"x": x})
        np.testing.assert_array_equal(got, before)


def test_it_simulates_as_verilog(tmp_path):
    prepared(Mlp(True).model(), tmp_path)
    model = onnx.load(tmp_path / "logic.onnx")
    clip = next(node for node in model.graph.node if node.op_type == "Clip")
    clip_user = next(node for node in model.graph.node if node.op_type == "QuantizeLinear")
    clip_user.input[0] = clip.input[0]  # the module's input is the quantized one
    model.graph.node.remove(clip)
    done = write_verilog(model, tmp_path, "x=1,2,3", vectors=100)
    assert done.returncode == 0, done.stderr
    assert simulate(tmp_path) == "PASS: 100 vectors\n"


def test_layers_with_too_many_inputs_stay_and_are_named(tmp_path):
    logic, said = prepared(Mlp(True, fan_in=6).model(), tmp_path)
    assert said.count("'layer2' (Gemm) does not become truth tables: an output has 6 inputs of") == 1
    assert "Gemm" in operators(logic) and operators(logic).count("LookUpNeurons") == 2


def test_it_runs_on_request_only(tmp_path):
    onnx.save(Mlp(True).model(), tmp_path / "mlp.onnx")
    subprocess.run([PROGRAM, "prepare", tmp_path / "mlp.onnx", "-o", tmp_path / "same.onnx"], check=True, capture_output=True)
    assert "LookUpNeurons" not in operators(onnx.load(tmp_path / "same.onnx"))
