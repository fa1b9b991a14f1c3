"""x·Φ(x), spelled with Erf, runs as one operator; everything that differs from it does not."""
import math

import numpy as np
import onnx
import pytest
from support.executing import Executor

SPELLINGS = [
    "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)",
    "a = Div(x, root) b = Erf(a) c = Add(one, b) d = Mul(c, x) y = Mul(half, d)",
    "h = Mul(x, half) a = Mul(x, inverse_root) b = Erf(a) c = Add(one, b) y = Mul(c, h)",
    "a = Mul(inverse_root, x) b = Erf(a) c = Add(b, one) h = Mul(half, x) y = Mul(h, c)",
    "a = Mul(x, inverse_root) b = Erf(a) c = Add(b, one) d = Mul(c, half) y = Mul(d, x)",
]
OTHERS = [
    "a = Div(x, two) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)",
    "a = Div(root, x) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)",
    "a = Div(x, root) b = Erf(a) c = Add(b, two) d = Mul(x, c) y = Mul(d, half)",
    "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, two)",
    "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(z, c) y = Mul(d, half)",
    "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(c, half) y = Mul(d, z)",
    "h = Mul(z, half) a = Mul(x, inverse_root) b = Erf(a) c = Add(one, b) y = Mul(c, h)",
    "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) e = Mul(d, half) y = Add(e, c)",
]
X = np.concatenate([np.linspace(-9, 9, 4001), [0, -0.0, np.inf, np.nan, 1e-30, 3e38]]).astype(np.float32)
Z = np.linspace(1, 2, X.size, dtype=np.float32)


def model_of(text, shape="N"):
    return onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 17]>
        g (float[{shape}] x, float[{shape}] z) => (float[{shape}] y)
        <float root = {{1.4142135}}, float inverse_root = {{0.70710677}}, float one = {{1}}, float half = {{0.5}}, float two = {{2}}>
        {{ {text} }}""")


def kinds(executor):
    return [step.split(":")[1] for step in executor.steps()]


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_spelled_gelu_is_one_operator(text):
    executor = Executor(model_of(text))
    assert kinds(executor) == ["Gelu"]
    got = executor.run({"x": X, "z": Z})[0].astype(np.float64)
    wanted = np.array([x * math.erfc(-x / math.sqrt(2)) / 2 for x in X.astype(np.float64)])
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("text", OTHERS)
def test_another_function_stays_as_it_is(text):
    executor, plain = Executor(model_of(text)), Executor(model_of(text), fuse=False)
    assert "Gelu" not in kinds(executor)
    np.testing.assert_array_equal(executor.run({"x": X, "z": Z})[0], plain.run({"x": X, "z": Z})[0])
