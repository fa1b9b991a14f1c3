"""HTML fragments for notebooks. Styles are inline, so that they neither affect the page nor depend on it."""

from __future__ import annotations

import html
import os
import re
from typing import Any, Iterable, Sequence

from ._checks import Path, checked
from ._files import write_integer
from ._text import shown

# The colours of errors: up to these dB, then the last. The report page has the same (web/src/style.css), and the terminal.
ERROR_SCALE = ((10, "#a61e4d"), (20, "#d9480f"), (30, "#b7791f"), (40, "#2b8a3e"), (float("inf"), "#1971a8"))
_CELL = "padding:2px 10px;text-align:"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def error_color(sqnr: float) -> str:
    """The colour of an SQNR in dB."""
    return next((color for below, color in ERROR_SCALE if sqnr < below), ERROR_SCALE[-1][1])


def xml_text(text: str) -> str:
    """Escapes text for SVG and replaces characters that XML cannot represent: names in models may hold them."""
    return html.escape(_NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", shown(text)))


class Colored(str):
    """The text of a cell, in a colour."""

    color: str

    def __new__(cls, text: str, color: str) -> Colored:
        made = super().__new__(cls, text)
        made.color = color
        return made


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table: the first column left-aligned, the others right-aligned."""
    def style(i: int, cell: Any) -> str:
        color = getattr(cell, "color", "")
        return _CELL + ("left" if i == 0 else "right") + (f";color:{color}" if color else "")

    def line(cells: Sequence[Any], tag: str) -> str:
        return "<tr>" + "".join(f'<{tag} style="{style(i, cell)}">{html.escape(shown(str(cell)))}</{tag}>'
                                for i, cell in enumerate(cells)) + "</tr>"
    return f'<table><thead>{line(head, "th")}</thead><tbody>{"".join(line(row, "td") for row in rows)}</tbody></table>'


def page(title: str, about: str, *parts: str) -> str:
    return f'<div class="anybit"><b>{html.escape(shown(title))}</b> &middot; {html.escape(about)}{"".join(parts)}</div>'


class Page:
    """The report as one HTML file (docs/report.md): a notebook shows it in a frame, ``save`` writes it."""

    def __init__(self, html: str):
        self.html = html

    @checked
    def save(self, path: Path) -> None:
        """Writes one self-contained file, atomically."""
        write_integer(os.fspath(path), self.html)

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:720px;border:0" '
                'title="anybit report"></iframe>')

    def __repr__(self) -> str:
        return f"<anybit report, {len(self.html)} bytes of HTML>"


class Figure:
    """An SVG that a notebook shows, and that ``save`` writes to a file."""

    def __init__(self, svg: str):
        self.svg = svg

    @checked
    def save(self, path: Path) -> None:
        """Writes a file atomically."""
        write_integer(os.fspath(path), self.svg)

    def _repr_html_(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<anybit figure, {len(self.svg)} bytes of SVG>"
