"""Exceptions: one for each code of the library."""

import pickle

import numpy as np
import pytest

import anybit
from anybit import _anybit, errors


def test_every_code_of_the_library_has_a_class_and_no_class_is_left_over():
    assert {one.number: code for code, one in errors.CLASSES.items()} == _anybit.code_names()


@pytest.mark.parametrize("name", errors.CLASSES)
def test_every_class_is_public_and_can_be_caught_as_an_error(name):
    one = errors.CLASSES[name]
    assert getattr(anybit, one.__name__) is one and issubclass(one, anybit.Error)


def test_an_error_has_message_place_and_hint(digits):
    with pytest.raises(anybit.NotFound) as raised:
        anybit.Session(digits).run({"imgae": np.zeros((1, 1, 28, 28), np.float32)})
    assert raised.value.message == "the model has no input 'imgae'"
    assert raised.value.hint == "did you mean 'image'?"
    assert raised.value.code == "not_found" and raised.value.number == 2


def test_an_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(errors.make(6, "invalid_model", "broken", "node 'a'", "mend it")))
    assert isinstance(error, anybit.InvalidModel) and str(error) == "node 'a': broken\n  hint: mend it"
