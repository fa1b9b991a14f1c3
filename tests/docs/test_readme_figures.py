"""Every figure in README.md is in a row of the document that it links to; README.md stays short.

A row of its table under "Measured" has five cells: text; the key of the document's row (the cells that name it, separated by
commas, and after a semicolon the key of the row that it is compared with); anybit's figures; the figures of the comparison; a link.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?")
LINK = re.compile(r"\]\((docs/[\w-]+\.md)(?:#([\w-]+))?\)")
LONGEST = 150
FEWEST_ROWS = 5


def measured_rows(readme):
    section = readme.split("\n## Measured\n")[1].split("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def section_of(document, name):
    """The lines from the heading that a link names to the next one of its level; without a name, all."""
    lines = document.splitlines()
    if name is None:
        return lines
    for first, line in enumerate(lines):
        heading = re.match(r"(#+) (.*)", line)
        if heading and re.sub(r"[^\w -]", "", heading[2].lower()).replace(" ", "-") == name:
            level = len(heading[1])
            rest = lines[first + 1:]
            end = next((i for i, other in enumerate(rest) if re.match(rf"#{{1,{level}}} ", other)), len(rest))
            return rest[:end]
    return []


def has_row(lines, key, numbers):
    """Whether one line has every part of the key, as whole words, and every number, as it is written."""
    names = [re.compile(rf"(?<![\w.-]){re.escape(part.strip())}(?![\w.-])") for part in key.split(",")]
    return any(all(name.search(line) for name in names) and set(numbers) <= set(NUMBER.findall(line)) for line in lines)


def wrong_rows(readme, read):
    """The rows whose figures are not in the document that they link to; `read` gives the text of a document."""
    wrong = []
    for _, keys, ours, theirs, link in measured_rows(readme):
        path, name = LINK.search(link).groups()
        lines = section_of(read(path), name)
        first, *others = keys.split(";")
        numbers = NUMBER.findall(ours)
        compared = others[0] if others else first
        if not numbers or not has_row(lines, first, numbers) or not has_row(lines, compared, NUMBER.findall(theirs)):
            wrong.append(f"{path}: no row '{keys}' with '{ours}' and '{theirs}'")
    return wrong


def read(path):
    return (ROOT / path).read_text()


def test_every_figure_of_the_readme_is_in_the_document_that_its_row_links_to():
    readme = read("README.md")
    assert len(measured_rows(readme)) >= FEWEST_ROWS
    assert wrong_rows(readme, read) == []


def test_every_measured_row_of_the_readme_names_its_make_target():
    targets = set(re.findall(r"^([a-z-]+):.*##", read("Makefile"), re.M))
    for *_, link in measured_rows(read("README.md")):
        made = re.search(r"`make ([a-z-]+)`", link)
        assert made and made[1] in targets, link


def test_the_readme_is_short():
    assert len(read("README.md").splitlines()) <= LONGEST


README = """
## Measured

| measured | row of the table | anybit | compared with | table |
|---|---|--:|--:|---|
| top-1 | digits, int8; float | 99.37 % | float32 99.38 % | [table](docs/accuracy.md#every-format) |

## Later
"""
DOCUMENT = """
## Before

| digits | int8 | 1.00 % |

## Every format

| float | | 99.38 % |
| digits | int8 | 99.37 % |

## After

| digits | int8 | 2.00 % |
"""


def test_rows_that_agree_with_their_document_pass():
    assert wrong_rows(README, lambda path: DOCUMENT) == []


@pytest.mark.parametrize("old, new", [
    ("99.37", "99.36"), ("99.37", "99.3"), ("99.38", "99.37"),  # another figure, fewer digits, that of another row
    ("99.37 %", "1.00 %"), ("99.37 %", "2.00 %"),  # figures of other sections
    ("digits,", "cifar,"), ("int8;", "int4;"), ("digits,", "digit,"), ("#every-format", "#another"), ("99.37 %", "many"),
])
def test_a_row_that_differs_from_its_document_is_found(old, new):
    assert len(wrong_rows(README.replace(old, new), lambda path: DOCUMENT)) == 1
