"""Exceptions: one subclass of ``anybit.Error`` per error code of the library.

>>> import anybit
>>> try:
...     anybit.load("no-such-file.onnx")
... except anybit.NotFound as error:
...     print(error.code, error.number)
not_found 2
"""

from __future__ import annotations

import re


class Error(Exception):
    """An error with message, place and hint. ``str(error)`` is the text that the command line prints."""

    code = "error"
    number = 0

    def __init__(self, message: str, place: str = "", hint: str = ""):
        self.message, self.place, self.hint = message, place, hint
        super().__init__(message, place, hint)

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")


class InvalidArgument(Error, ValueError):
    """A wrong argument: an unknown option, an impossible parameter, an array of the wrong shape."""


class InvalidType(InvalidArgument, TypeError):
    """An argument of a type that the function does not take."""


class NotFound(Error):
    """No such file, format, name."""


class NoSuchKey(NotFound, KeyError):
    """A name that ``anybit.formats`` or ranges do not have."""


class Io(Error):
    """An error of the operating system: permission, disk full, read error."""


class OutOfMemory(Error, MemoryError):
    """Out of memory, or more than ``max_memory`` allows."""


class Malformed(Error):
    """A damaged file: truncated, or not a protobuf."""


class InvalidModel(Error):
    """A readable model that violates the ONNX specification."""


class Unsupported(Error):
    """Valid, but not supported by this version."""


class LimitExceeded(Error):
    """Beyond the limits that protect against hostile files."""


class UnsafePath(Error):
    """External data outside of the model's folder, or behind a link."""


class DataLost(Error):
    """A mapped file shrank or failed while it was in use."""


class InvalidState(Error):
    """A call in the wrong state: a closed session, or an exhausted source of samples."""


class Cancelled(Error):
    """Stopped by the caller."""


class InvalidData(Error):
    """Invalid values, such as NaN or infinity in weights."""


# By the library's names of error codes: "invalid_model" is InvalidModel.
CLASSES = {re.sub(r"(?<!^)(?=[A-Z])", "_", one.__name__).lower(): one for one in Error.__subclasses__()}
for _number, (_code, _class) in enumerate(CLASSES.items(), 1):
    _class.code, _class.number = _code, _number


def make(number: int, code: str, message: str, place: str, hint: str) -> Error:
    """The exception for an error of the library; an unknown code becomes a plain ``Error``."""
    error = CLASSES.get(code, Error)(message, place, hint)
    error.code, error.number = code, number
    return error
