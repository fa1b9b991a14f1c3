"""Recognition of subgraphs of primitive operators that quantization treats as one, in the variants of exporters."""
import numpy as np
import onnx
import pytest
from support.executing import prepare, recognise
from test_prepare import parsed
from test_raise_opset import MODELS

CONSTANTS = dict(half=0.5, one=1.0, two=2.0, root=2 ** 0.5, inverse_root=0.5 ** 0.5, three=3.0, six=6.0, zero=0.0, sixth=1 / 6,
                 cubic=0.044715, factor=0.7978845608, quick=1.702, eps=1e-5, minus_half=-0.5, fifth=0.2)
NUMBERS = {name: np.float32(value) for name, value in CONSTANTS.items()}


def found_in(body, **weights):
    model = parsed('<ir_version: 8, opset_import: ["" : 17]> main (float[n, 8, 16] x, float[n, 8, 16] other) => (float[n, 8, 16] y) {'
                   + body + "}", **NUMBERS, **weights)
    onnx.checker.check_model(model)
    return recognise(model), len(model.graph.node)


ELEMENTS = {
    "gelu": ["a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)",
             "h = Mul(x, half) a = Mul(x, inverse_root) b = Erf(a) c = Add(one, b) y = Mul(c, h)",
             "p = Pow(x, three) q = Mul(p, cubic) r = Add(x, q) s = Mul(r, factor) t = Tanh(s) u = Add(t, one) v = Mul(x, half) y = Mul(v, u)",
             "a = Mul(x, x) b = Mul(a, x) q = Mul(cubic, b) r = Add(x, q) s = Mul(factor, r) t = Tanh(s) u = Add(one, t) v = Mul(half, u) y = Mul(x, v)",
             "a = Mul(x, quick) b = Sigmoid(a) y = Mul(x, b)"],
    "silu": ["a = Sigmoid(x) y = Mul(x, a)", "a = Neg(x) b = Exp(a) c = Add(b, one) y = Div(x, c)"],
    "mish": ["a = Softplus(x) b = Tanh(a) y = Mul(x, b)", "e = Exp(x) f = Add(e, one) g = Log(f) b = Tanh(g) y = Mul(b, x)"],
    "hard_swish": ["a = Add(x, three) b = Clip(a, zero, six) c = Mul(x, b) y = Div(c, six)",
                   "a = Add(x, three) b = Clip(a, zero, six) c = Div(b, six) y = Mul(x, c)",
                   "a = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(a, x)"],
    "hard_sigmoid": ["a = Add(x, three) b = Clip(a, zero, six) y = Div(b, six)", "a = Mul(x, fifth) b = Add(half, a) y = Clip(b, zero, one)"],
}


@pytest.mark.parametrize("kind, body", [(kind, body) for kind, bodies in ELEMENTS.items() for body in bodies])
def test_activations_are_recognized_in_any_variant(kind, body):
    groups, count = found_in(body)
    assert [group[0] for group in groups] == [kind]
    assert len(groups[0][1]) == count and groups[0][2:] == (["x"], "y")


NORMS = {
    "layer_norm": [
        "m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) p = Pow(d, two) v = ReduceMean<axes = [-1]>(p) e = Add(v, eps) s = Sqrt(e) q = Div(d, s) g = Mul(q, gamma) y = Add(g, beta)",
        "m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) d2 = Sub(x, m) p = Mul(d, d) v = ReduceMean<axes = [-1]>(p) e = Add(eps, v) s = Sqrt(e) q = Div(d2, s) g = Mul(gamma, q) y = Add(g, beta)",
        "m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) p = Mul(d, d) v = ReduceMean<axes = [-1]>(p) e = Add(v, eps) s = Sqrt(e) r = Reciprocal(s) y = Mul(d, r)"],
    "rms_norm": [
        "p = Pow(x, two) v = ReduceMean<axes = [-1]>(p) e = Add(v, eps) s = Sqrt(e) q = Div(x, s) y = Mul(q, gamma)",
        "p = Mul(x, x) v = ReduceMean<axes = [-1]>(p) e = Add(v, eps) s = Sqrt(e) r = Div(one, s) q = Mul(r, x) y = Mul(gamma, q)",
        "p = Pow(x, two) v = ReduceMean<axes = [-1]>(p) e = Add(v, eps) r = Pow(e, minus_half) y = Mul(x, r)"],
}


@pytest.mark.parametrize("kind, body", [(kind, body) for kind, bodies in NORMS.items() for body in bodies])
def test_norms_are_recognized(kind, body):
    groups, count = found_in(body, gamma=np.ones(16, np.float32), beta=np.ones(16, np.float32))
    assert [group[0] for group in groups] == [kind]
    assert len(groups[0][1]) == count and groups[0][2:] == (["x"], "y")


ATTENTION = ["t = Transpose<perm = [0, 2, 1]>(x) a = MatMul(x, t) s = Div(a, two) k = Softmax<axis = -1>(s) y = MatMul(k, x)",
             "t = Transpose<perm = [0, 2, 1]>(x) a = MatMul(x, t) s = Mul(a, half) m = Add(s, mask) k = Softmax<axis = -1>(m) i = Identity(k) y = MatMul(i, other)"]


@pytest.mark.parametrize("body", ATTENTION)
def test_attention_is_recognized_from_matmul_to_matmul(body):
    groups, count = found_in(body, mask=np.zeros((8, 8), np.float32))
    assert [group[0] for group in groups] == ["attention"]
    assert len(groups[0][1]) == count - 1 and groups[0][3] == "y" and set(groups[0][2]) <= {"x", "t", "other"}


def test_a_decomposed_softmax_is_recognized():
    groups, _ = found_in("m = ReduceMax<axes = [-1]>(x) d = Sub(x, m) e = Exp(d) a = Constant<value_ints = [-1]>() s = ReduceSum(e, a) y = Div(e, s)")
    assert [group[0] for group in groups] == ["softmax"] and len(groups[0][1]) == 5


@pytest.mark.parametrize("body", [
    "a = Div(x, two) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)",  # another function
    "a = Sigmoid(other) y = Mul(x, a)",  # of another value
    "a = Sigmoid(x) b = Mul(x, a) y = Add(a, b)",  # an inner value is used
    "p = Pow(x, two) v = ReduceMean<axes = [-1]>(p) e = Add(v, eps) s = Sqrt(e) y = Div(other, s)",
    "a = MatMul(x, w) k = Softmax<axis = -1>(a) y = MatMul(w, k)",
])
def test_similar_subgraphs_are_not_recognized(body):
    weights = dict(w=np.ones((8, 8), np.float32)) if "w)" in body else {}
    groups, _ = found_in(body.replace("MatMul(x, w)", "Identity(x)"), **weights)
    assert groups == []


def test_groups_of_real_models_are_recognized_and_do_not_overlap():
    kinds = {}
    for path in sorted(MODELS.glob("*.onnx")):
        model = prepare(onnx.load(path))[0]
        for kind, operators, inputs, output in recognise(model):
            kinds.setdefault(kind, []).append(path.stem)
            assert len(operators) > 1 and inputs and output
    assert {"hard_swish", "layer_norm", "attention", "silu"} <= set(kinds), kinds
