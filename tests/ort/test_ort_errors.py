"""libanybit_ort.so: what is wrong with a node or its inputs becomes an error of ONNX Runtime with anybit's message."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.ort_library import ANYBIT, OLD_QUARK, QUARK, WithLibrary, as_operators, one_node
from support.portable_functions import decode_model

X = np.ones((2, 64), np.float32)


def error_of(model, **inputs):
    with pytest.raises(Exception) as caught:
        WithLibrary(model).run(**inputs)
    return str(caught.value)


@pytest.mark.parametrize("op, domain, attributes, message", [
    ("MXQuantizeDequantize", QUARK, dict(element_dtype="fp5"), "element_dtype is 'fp5'"),
    ("MXFixNeuron", OLD_QUARK, dict(rounding_mode=3), "rounding_mode is 3"),
    ("MXFixNeuron", OLD_QUARK, dict(axis="1"), "attribute 'axis' is a string"),
    ("MXFixNeuron", OLD_QUARK, dict(axis=1.0), "attribute 'axis' is a float"),
    ("MXFixNeuron", OLD_QUARK, dict(axis=[1]), "attribute 'axis' is a list of integers"),
    ("MXQuantizeDequantize", QUARK, dict(element_dtype=8), "attribute 'element_dtype' is an integer"),
    ("MXQuantizeDequantize", QUARK, dict(block_size=0), "block size 0"),
    ("MXQuantizeDequantize", QUARK, dict(block_size=-2**63), "block size -9223372036854775808"),
    ("BFPQuantizeDequantize", QUARK, dict(bfp_method="to_bfp_squared"), "bfp_method is 'to_bfp_squared'"),
    ("BFPQuantizeDequantize", QUARK, dict(bit_width=2**62), "bit_width is"),
    ("QuantizeDequantize", ANYBIT, {}, "format"),
    ("QuantizeDequantize", ANYBIT, dict(format="fp99"), "fp99"),
    ("QuantizeDequantize", ANYBIT, dict(format="mxfp4_e2m1 axis=x"), "axis"),
    ("QuantizeDequantize", ANYBIT, dict(format="mxfp4_e2m1 " + "a" * 100_000), "mxfp4_e2m1|unknown|no parameter|="),
])
def test_attributes_are_checked_when_the_session_is_made(op, domain, attributes, message):
    with pytest.raises(Exception, match=f"(?s)anybit: .*'it'.*({message})"):
        WithLibrary(one_node(op, domain, **attributes))


@pytest.mark.parametrize("attributes, x, message", [
    (dict(axis=7), X, "axis 7"),
    (dict(axis=-3), X, "axis -3"),
    (dict(axis=2**62), X, "axis"),
])
def test_shapes_are_checked_when_the_session_runs(attributes, x, message):
    said = error_of(one_node("MXQuantizeDequantize", QUARK, **attributes), x=x)
    assert "anybit: node 'it' (MXQuantizeDequantize)" in said and message in said


@pytest.mark.parametrize("kind, x", [(TensorProto.INT32, X.astype(np.int32)), (TensorProto.DOUBLE, X.astype(np.float64)),
                                     (TensorProto.BOOL, X.astype(bool)), (TensorProto.STRING, np.array(["a", "b"]))])
def test_types_that_cannot_be_rounded_are_rejected(kind, x):
    assert "anybit: " in error_of(one_node("MXQuantizeDequantize", QUARK, kind=kind), x=x)
    assert "invalid" in error_of(one_node("QuantizeDequantize", ANYBIT, kind=kind, format="mxint8"), x=x)  # says ONNX Runtime


def packed():
    return as_operators(decode_model("mxint8 axis=1", np.ones((4, 64), np.float32))[0])


def replaced(model, index, array):
    """With another array in place of an initializer."""
    tensor = model.graph.initializer[index]
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return model


def with_attribute(model, name, value):
    [node] = model.graph.node
    for one in list(node.attribute):
        if one.name == name:
            node.attribute.remove(one)
    if value is not None:
        node.attribute.append(helper.make_attribute(name, value))
    return model


@pytest.mark.parametrize("change, message", [
    (lambda model: replaced(model, 0, np.zeros((4, 63), np.uint8)), "bytes of packed data"),
    (lambda model: replaced(model, 1, np.zeros((4, 3), np.uint8)), "exponent|scale|field"),
    (lambda model: replaced(model, 1, np.zeros((4, 2), np.float32)), "float32|uint8"),
    (lambda model: with_attribute(model, "dims", [4, 65]), "number of values"),
    (lambda model: with_attribute(model, "dims", None), "dims is missing"),
    (lambda model: with_attribute(model, "dims", [-4, -64]), "addressable"),
    (lambda model: with_attribute(model, "dims", [2**40, 2**40]), "addressable|number of values"),
    (lambda model: with_attribute(model, "coded", [2**62, 4]), "addressable|number of values"),
    (lambda model: with_attribute(model, "format", "mxint8 axis=1 block_size=0"), "block size 0"),
])
def test_packed_data_that_does_not_fit_is_rejected(change, message):
    with pytest.raises(Exception, match=f"(?s)anybit: .*({message})"):
        WithLibrary(change(packed())).run()


def test_a_missing_field_is_named():
    model = packed()
    [node] = model.graph.node
    kept = list(node.input)[:1]
    del node.input[:]
    node.input.extend(kept)
    assert "input 1 is missing" in error_of(model)


def test_an_error_leaves_the_session_usable():
    session = WithLibrary(one_node("MXQuantizeDequantize", QUARK, axis=2))
    x = np.ones((2, 3, 64), np.float32)
    wanted = session.run(x=x)[0]
    with pytest.raises(Exception, match="axis 2"):
        session.run(x=X)
    np.testing.assert_array_equal(session.run(x=x)[0], wanted)
