"""The colours of formats by family: those of the report page (web/src/style.css, web/src/formats.ts), and of the terminal."""

from __future__ import annotations

import re

FORMAT_COLORS = {"int8": "#2f6fbf", "int4": "#b5541c", "int16": "#8a4fbf", "weights8": "#1d8a6a", "weights4": "#7a6a12",
                 "half": "#36798c", "float8": "#a8468a", "float4": "#a33b3b"}
_FLOAT = 32


def _width(format: str) -> tuple[int, bool]:
    """The bits, and whether it is a minifloat, a block format or a logarithm."""
    name = format.lower()
    if name in ("float", "float32", "double", "float64"):
        return _FLOAT, False
    if name in ("float16", "bfloat16"):
        return 16, True
    if name.startswith(("binary", "ternary")):
        return 2, False
    if integer := re.match(r"u?(?:int|fixed)(\d*)", name):
        return int(integer[1] or 8), False
    number = re.search(r"\d+", name)
    return int(number[0]) if number else 8, True


def _family(specs: str, weights_only: bool) -> str:
    widths = [_width((one.split() or [""])[0]) for one in specs.split(",")]
    least, most = min(bits for bits, _ in widths), max(bits for bits, _ in widths)
    if least >= _FLOAT:
        return ""
    if least == 16 and all(minifloat for _, minifloat in widths):
        return "half"
    if any(minifloat and bits < 16 for bits, minifloat in widths):
        return "float8" if least > 5 else "float4"
    if weights_only or most >= _FLOAT:
        return "weights8" if least > 7 else "weights4"
    if most >= 16:
        return "int16"
    return "int8" if least > 7 else "int4"


def format_color(specs: str, weights_only: bool = False) -> str:
    """The colour of specs of data and weights as a report has them; empty for float.

    >>> from anybit._format_colors import format_color
    >>> format_color("int8 asym, int8 sym channel"), format_color("float32")
    ('#2f6fbf', '')
    """
    return FORMAT_COLORS.get(_family(specs, weights_only), "") if specs else ""
