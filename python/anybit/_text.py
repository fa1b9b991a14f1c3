"""Formatting of names and numbers."""

from __future__ import annotations

import os
from typing import Any


def names(given: Any) -> list[str]:
    """A list of names or paths; a single text is one name, not a list of characters."""
    return [os.fspath(one) for one in ([given] if isinstance(given, (str, os.PathLike)) else given)]


def shown(text: str) -> str:
    """Printable text: bytes that are not UTF-8 are escaped."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def size(count: int) -> str:
    """Bytes: 1536 is 1.5 KiB."""
    for unit in ("KiB", "MiB", "GiB"):
        count_in_unit = count / 1024 ** (("KiB", "MiB", "GiB").index(unit) + 1)
        if count_in_unit < 1024 or unit == "GiB":
            return f"{count} bytes" if count < 1024 else f"{count_in_unit:.1f} {unit}"
    raise AssertionError


def amount(count: int) -> str:
    """A count in four characters or so: 39082 is 39.1 k."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if count >= scale:
            return f"{count / (1e3 if unit == 'k' else scale):.1f} {unit}"
    return str(count)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"


def decibels(value: float) -> str:
    return "same" if value >= 200 else f"{value:.1f}"


def columns(rows: list[tuple]) -> str:
    """A text table: the first two columns left-aligned, the others right-aligned."""
    texts = [[shown(str(cell)) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(texts[0]))]
    return "\n".join("  " + "  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in texts)
