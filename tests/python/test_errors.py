"""Exceptions: one per error code of the library."""

import inspect
import pickle
from typing import Any, Optional, get_type_hints

import numpy as np
import pytest

import anybit
from anybit import _anybit, errors


def test_error_codes_and_exception_classes_match():
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


def test_an_argument_of_a_wrong_type_is_a_type_error_and_an_anybit_error():
    with pytest.raises(TypeError) as raised:
        anybit.Session("m.onnx", threads="two")
    assert isinstance(raised.value, anybit.InvalidArgument)
    assert str(raised.value) == "threads='two'\n  hint: an integer from 0 (one for each core) to 1024"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


class Odd:
    """A value that no function accepts."""


def public_calls():
    """Every public function and method, with each of its type-checked arguments."""
    for name in anybit.__all__:
        one = getattr(anybit, name)
        if inspect.isclass(one) and issubclass(one, (anybit.Error, anybit.QuantizationConfig)):
            continue  # they store their arguments unchecked
        calls = vars(one).items() if inspect.isclass(one) else [("", one)]
        for method, call in calls:
            call = getattr(call, "__func__", call)  # of a class method
            if not inspect.isfunction(call) or (method.startswith("_") and method != "__init__"):
                continue
            for argument, kind in get_type_hints(call, include_extras=True).items():
                if argument != "return" and kind not in (Any, Optional[Any]):
                    yield pytest.param(call, argument, id=f"{name}.{method}({argument})".replace(".(", "("))


@pytest.mark.parametrize("call, argument", list(public_calls()))
def test_every_public_function_names_a_mistyped_argument(call, argument):
    # Missing arguments are reported later.
    with pytest.raises(anybit.InvalidArgument, match=rf"^{argument}=<test_errors.Odd object") as raised:
        call(**{argument: Odd()})
    assert isinstance(raised.value, TypeError) and raised.value.hint


@pytest.mark.parametrize("options, said", [
    ({"seed": -1}, "seed=-1"), ({"block_size": 10**23}, "block_size=1000"), ({"block_size": True}, "block_size=True"),
    ({"axis": "a"}, "axis='a'"), ({"axis": 1.5}, "axis=1.5"), ({"threads": None}, "threads=None"), ({"block": 4}, "block=4"),
    ({"block": (2, "a")}, r"block\[1\]='a'"), ({"rounding": 5}, "rounding=5"), ({"symmetric": None}, "symmetric=None"),
    ({"shape": 5}, "no parameter 'shape'")])
def test_invalid_options_of_formats_are_named(options, said):
    with pytest.raises(anybit.InvalidArgument, match=said):
        anybit.formats["int8"].quantize(np.ones((4, 8)), **options)


def test_numpy_scalars_are_numbers():
    ones = np.ones((4, 8), np.float32)
    got = anybit.formats["fixed"].quantize(ones, width=np.int32(8), frac=np.uint8(2), threads=np.int64(1),
                                           allow_nonfinite=np.bool_(False))
    assert (got == 1).all()
    assert anybit.formats["int8"].quantize(ones, block=np.array([2, 8])).shape == (4, 8)


def test_names_that_are_not_text_are_rejected(digits):
    for name in (5, "\ud800"):
        with pytest.raises(anybit.InvalidArgument, match="the name of an input is"):
            anybit.Session(digits).run({name: np.zeros((1, 1, 28, 28), np.float32)})
        with pytest.raises(anybit.InvalidArgument):
            anybit.load(digits).inspect(dims={name: 1})


def test_formats_are_a_mapping():
    assert 5 not in anybit.formats and anybit.formats.get(5) is None and anybit.formats.get("int9", 3) == anybit.formats["int9"]
    assert dict(anybit.formats)["int8"] is anybit.formats["int8"] and list(anybit.formats) == list(anybit.formats.keys())
    for missing in (5, "no_such"):
        with pytest.raises(KeyError):
            anybit.formats[missing]
        with pytest.raises(anybit.NotFound, match=f"there is no format '{missing}'"):
            anybit.formats[missing]


def test_missing_ranges_are_a_key_error(digits, images):
    ranges = anybit.calibrate(digits, images[:2])
    with pytest.raises(KeyError, match="there are no ranges of 'nowhere'"):
        ranges["nowhere"]
    assert ranges.get("nowhere") is None and "nowhere" not in ranges
