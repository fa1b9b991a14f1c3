"""Invalid attributes: of the wrong type, missing, with unknown values. None is silently ignored."""
import numpy as np
import pytest
from support.executing import ExecutorError
from support.one_node import model_of, ours

X = np.arange(36, dtype=np.float32).reshape(1, 1, 6, 6)


@pytest.mark.parametrize("op,inputs,attributes,told", [
    ("Transpose", [X], {"perm": [0.0, 1.0, 2.0, 3.0]}, "attribute 'perm' is of kind floats"),
    ("Conv", [X, X[:, :, :3, :3]], {"strides": 2}, "attribute 'strides' is of kind int"),
    ("Conv", [X, X[:, :, :3, :3]], {"strides": [2.0, 2.0]}, "attribute 'strides' is of kind floats"),
    ("Softmax", [X], {"axis": "1"}, "attribute 'axis' is of kind string"),
    ("Gemm", [X[0, 0], X[0, 0]], {"transA": 1.0}, "attribute 'transA' is of kind float"),
    ("LeakyRelu", [X], {"alpha": 1}, "attribute 'alpha' is of kind int"),
    ("Cast", [X], {"to": 1.0}, "attribute 'to' is of kind float"),
    ("Concat", [X, X], {}, "attribute 'axis' is missing"),
    ("Clip", [X], {"min": 0.0, "max": 0.5}, "min is an attribute"),
    ("Conv", [X, X[:, :, :3, :3]], {"auto_pad": "same_upper"}, "auto_pad is 'same_upper'"),
    ("MaxPool", [X], {"kernel_shape": [2, 2], "auto_pad": "SAME"}, "auto_pad is 'SAME'"),
    ("ConvTranspose", [X, X[:, :, :3, :3]], {"auto_pad": "zzz"}, "auto_pad is 'zzz'"),
], ids=str)
def test_an_invalid_attribute_is_rejected_by_name(op, inputs, attributes, told):
    with pytest.raises(ExecutorError, match=told) as error:
        ours(model_of(op, inputs, opset=17, **attributes), inputs)
    assert f"({op})" in str(error.value)


def test_empty_lists_and_strings_are_accepted():
    assert ours(model_of("Conv", [X, X[:, :, :1, :1]], opset=17, auto_pad=""), [X, X[:, :, :1, :1]])[0].shape == X.shape
