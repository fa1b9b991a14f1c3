"""Tables of measurements in documents, each between marks of its own; and the rows of them that README.md shows."""
import pathlib

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"
# Columns that tell what was measured; the others tell what came out.
KEYS = {"", "data", "scheme", "measure", "type", "threads", "recipe", "model", "observer", "samples", "GEMM", "weight",
        "format"}


def put(document, mark, lines):
    """The lines in place of what stands between <!-- mark: begin --> and <!-- mark: end -->, and in README.md."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    head, rest = document.read_text().split(begin)
    document.write_text("\n".join([head + begin, *lines, end]) + rest.split(end)[1])
    README.write_text(with_rows_of("\n".join(lines), README.read_text()))


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows_of(text):
    """(line number, header, cells) of every row of the tables of a text."""
    header = None
    for number, line in enumerate(text.splitlines()):
        if not line.startswith("|"):
            header = None
        elif header is None:
            header = cells_of(line)
        elif not line.startswith("|--"):
            yield number, header, cells_of(line)


def key_of(header, cells):
    return tuple(cell for title, cell in zip(header, cells) if title in KEYS)


def with_rows_of(measured, text):
    """The text, its rows taken from the measured table of which they are the first columns."""
    lines = text.splitlines()
    for number, header, cells in rows_of(text):
        for _, full_header, full in rows_of(measured):
            if full_header[:len(header)] == header and key_of(header, cells) == key_of(header, full):
                lines[number] = "| " + " | ".join(full[:len(header)]) + " |"
    return "\n".join(lines) + "\n"
