"""Every backend case of the onnx package passes, but for the exceptions that exceptions.txt gives a reason for.

An exception that passes is an error, too: so the count can only rise.
"""
import pytest
from support import backend

EXCEPTIONS = backend.exceptions()
# Quantization stands on these: nothing is excused.
WHOLE = {"Cast", "CastLike", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
         "MatMulInteger", "ConvInteger"}
GOAL = 0.95


@pytest.mark.parametrize("name", sorted(backend.cases()))
def test_case_gives_the_outputs_that_onnx_says(name):
    if name not in EXCEPTIONS:
        backend.run(backend.cases()[name])
        return
    with pytest.raises(Exception):
        backend.run(backend.cases()[name])


def test_exceptions_are_cases_with_a_reason():
    assert set(EXCEPTIONS) <= set(backend.cases())
    assert all(EXCEPTIONS.values())


def test_nothing_is_excused_of_the_operators_that_quantization_stands_on():
    excused = [name for name in EXCEPTIONS if backend.operator_of(backend.cases()[name]) in WHOLE]
    assert not excused


def test_the_goal_is_reached():
    count = len(backend.cases())
    assert (count - len(EXCEPTIONS)) / count >= GOAL


def test_the_document_is_up_to_date():
    assert backend.DOCUMENT.read_text() == backend.document(), "run `make docs`"
