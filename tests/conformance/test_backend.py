"""Every backend case of the onnx package passes, except those in exceptions.txt, each with a reason.

An exception that passes is an error, too, so the count can only rise.
"""
import pytest
from support import backend

EXCEPTIONS = backend.exceptions()
# Quantization relies on these operators: they have no exceptions.
WHOLE = {"Cast", "CastLike", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
         "MatMulInteger", "ConvInteger"}
GOAL = 0.95


@pytest.mark.parametrize("name", sorted(backend.cases()))
def test_case_gives_the_expected_outputs(name):
    if name not in EXCEPTIONS:
        backend.run(backend.cases()[name])
        return
    with pytest.raises(Exception):
        backend.run(backend.cases()[name])


def test_exceptions_are_cases_with_a_reason():
    assert set(EXCEPTIONS) <= set(backend.cases())
    assert all(EXCEPTIONS.values())


def test_operators_that_quantization_relies_on_have_no_exceptions():
    excused = [name for name in EXCEPTIONS if backend.operator_of(backend.cases()[name]) in WHOLE]
    assert not excused


def test_the_goal_is_reached():
    count = len(backend.cases())
    assert (count - len(EXCEPTIONS)) / count >= GOAL


def test_the_document_is_up_to_date():
    assert backend.DOCUMENT.read_text() == backend.document(), "run `make docs`"
