"""Exceptions: one class for each code of the library, all of them ``anybit.Error``.

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
    """What was wrong, where, and what would be right. ``str(error)`` is what the command line prints."""

    code = "error"
    number = 0

    def __init__(self, message: str, place: str = "", hint: str = ""):
        self.message, self.place, self.hint = message, place, hint
        super().__init__(message, place, hint)

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")


class InvalidArgument(Error, ValueError):
    """The call was wrong: a bad option, an impossible parameter, an array that does not fit."""


class InvalidType(InvalidArgument, TypeError):
    """An argument of a type that the function does not take."""


class NotFound(Error):
    """No such file, format, name."""


class NoSuchKey(NotFound, KeyError):
    """What ``anybit.formats`` or ranges do not hold."""


class Io(Error):
    """The operating system refused: permission, disk full, read error."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory, or not as much as ``max_memory`` allows."""


class Malformed(Error):
    """The bytes are not what they claim to be: truncated, not a protobuf."""


class InvalidModel(Error):
    """Well-formed, but it breaks ONNX's rules."""


class Unsupported(Error):
    """Valid, but beyond what this version does."""


class LimitExceeded(Error):
    """Larger than the limits that protect from hostile files."""


class UnsafePath(Error):
    """External data outside the model's folder, or reached through a link."""


class DataLost(Error):
    """A mapped file shrank or failed while it was in use."""


class InvalidState(Error):
    """A call out of order: a session that is closed, samples that were used up."""


class Cancelled(Error):
    """Stopped by the caller."""


class InvalidData(Error):
    """Values that cannot be meant: NaN or infinity in weights."""


# By the names that the library gives its codes: "invalid_model" is InvalidModel.
CLASSES = {re.sub(r"(?<!^)(?=[A-Z])", "_", one.__name__).lower(): one for one in Error.__subclasses__()}
for _number, (_code, _class) in enumerate(CLASSES.items(), 1):
    _class.code, _class.number = _code, _number


def make(number: int, code: str, message: str, place: str, hint: str) -> Error:
    """The exception for an error of the library; a code that this package does not know is a plain Error."""
    error = CLASSES.get(code, Error)(message, place, hint)
    error.code, error.number = code, number
    return error
