"""Small pieces of HTML for notebooks. Styles are inline: a page's own must not leak in or out."""

from __future__ import annotations

import html
from typing import Any, Iterable, Sequence

from ._files import write_whole

_CELL = "padding:2px 10px;text-align:"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The first column to the left, the others to the right."""
    def line(cells: Sequence[Any], tag: str) -> str:
        return "<tr>" + "".join(f'<{tag} style="{_CELL}{"left" if i == 0 else "right"}">{html.escape(str(cell))}</{tag}>'
                                for i, cell in enumerate(cells)) + "</tr>"
    return f'<table><thead>{line(head, "th")}</thead><tbody>{"".join(line(row, "td") for row in rows)}</tbody></table>'


def page(title: str, about: str, *parts: str) -> str:
    return f'<div class="anybit"><b>{html.escape(title)}</b> &middot; {html.escape(about)}{"".join(parts)}</div>'


class Page:
    """The report as one HTML file (docs/report.md): a notebook shows it in a frame, ``save`` writes it."""

    def __init__(self, html: str):
        self.html = html

    def save(self, path: Any) -> None:
        """To a file that needs nothing else, which appears whole or not at all."""
        write_whole(path, self.html)

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:720px;border:0" '
                'title="anybit report"></iframe>')

    def __repr__(self) -> str:
        return f"<anybit report, {len(self.html)} bytes of HTML>"


class Picture:
    """An SVG that a notebook shows, and that ``save`` writes to a file."""

    def __init__(self, svg: str):
        self.svg = svg

    def save(self, path: Any) -> None:
        """To a file, which appears whole or not at all."""
        write_whole(path, self.svg)

    def _repr_html_(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<anybit picture, {len(self.svg)} bytes of SVG>"
