"""Atomic writes."""

from __future__ import annotations

import contextlib
import os

from .errors import InvalidArgument, Io, NotFound


def write_integer(path: str, text: str) -> None:
    """Writes a temporary file in the same folder, then renames it."""
    folder, name = os.path.split(path)
    if not name:
        raise InvalidArgument(f"cannot write '{path}': it is not a file name")
    beside = os.path.join(folder, f".anybit-{os.urandom(8).hex()}")
    try:
        with open(beside, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        if not isinstance(error, OSError):
            raise
        kind = NotFound if isinstance(error, FileNotFoundError) else Io
        raise kind(f"cannot write '{path}': {error.strerror}") from None
