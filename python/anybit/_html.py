"""Small pieces of HTML for notebooks. Styles are inline: a page's own must not leak in or out."""

from __future__ import annotations

import html
from typing import Any, Iterable, Sequence

_CELL = "padding:2px 10px;text-align:"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The first column to the left, the others to the right."""
    def line(cells: Sequence[Any], tag: str) -> str:
        return "<tr>" + "".join(f'<{tag} style="{_CELL}{"left" if i == 0 else "right"}">{html.escape(str(cell))}</{tag}>'
                                for i, cell in enumerate(cells)) + "</tr>"
    return f'<table><thead>{line(head, "th")}</thead><tbody>{"".join(line(row, "td") for row in rows)}</tbody></table>'


def page(title: str, about: str, *parts: str) -> str:
    return f'<div class="anybit"><b>{html.escape(title)}</b> &middot; {html.escape(about)}{"".join(parts)}</div>'


class Picture:
    """An SVG that a notebook shows, and that ``save`` writes to a file."""

    def __init__(self, svg: str):
        self.svg = svg

    def save(self, path: Any) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_html_(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<anybit picture, {len(self.svg)} bytes of SVG>"
