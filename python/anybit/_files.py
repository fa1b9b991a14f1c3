"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from typing import Any


def write_whole(path: Any, text: str) -> None:
    """Writes beside the path, then takes its place."""
    path = os.fspath(path)
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".anybit-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
