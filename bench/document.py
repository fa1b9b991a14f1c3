"""Tables of measurements in documents, each between marks of its own.

README.md shows a few figures of them; tests/docs/test_readme_figures.py finds those that no longer agree.
"""


def put(document, mark, lines):
    """Replaces the text between <!-- mark: begin --> and <!-- mark: end --> by the lines."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    head, rest = document.read_text().split(begin)
    document.write_text("\n".join([head + begin, *lines, end]) + rest.split(end)[1])
