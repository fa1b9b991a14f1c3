"""Writes tables of measurements into documents, each between its own marks.

README.md shows a few of their figures; tests/docs/test_readme_figures.py finds figures that no longer agree.
"""


def put(document, mark, lines):
    """Replaces the text between <!-- mark: begin --> and <!-- mark: end --> by the lines."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    head, rest = document.read_text().split(begin)
    document.write_text("\n".join([head + begin, *lines, end]) + rest.split(end)[1])
