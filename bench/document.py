"""Tables of measurements in documents, each between marks of its own."""


def put(document, mark, lines):
    """The lines in place of what stands between <!-- mark: begin --> and <!-- mark: end -->."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    head, rest = document.read_text().split(begin)
    document.write_text("\n".join([head + begin, *lines, end]) + rest.split(end)[1])
