"""The call path of `anybit quantize`, as ARCHITECTURE.md lists it: short, and true."""

import re

from support.tree import text_of, tracked

MOST = 25
TRACKED = set(tracked())


def listed():
    section = text_of("ARCHITECTURE.md").split("**The call path of `anybit quantize`**")[1].split("\n## ")[0]
    return [path for row in section.splitlines() if row.startswith("| ") for path in re.findall(r"`([^`]+\.cpp)`", row)]


def includes(path):
    """As the compiler finds them: from the folder of the file, from src, or from include."""
    folder = path.rsplit("/", 1)[0]
    found = []
    for name in re.findall(r'^#include "([^"]+)"', text_of(path), re.M):
        found += [place for place in (f"{folder}/{name}", f"src/{name}", f"include/{name}") if place in TRACKED][:1]  # none: made by the build
    return found


def reached(path):
    """What it includes, and what those headers do."""
    found, left = set(), includes(path)
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += includes(one)
    return found


def test_it_is_short():
    files = listed()
    assert 15 < len(files) <= MOST and len(files) == len(set(files)), len(files)


def test_every_file_is_called_by_one_before_it():
    """A file declares what it does in its own header, or in the table that it is a row of: the first that it includes."""
    files, known = listed(), reached("cli/main.cpp")
    assert files[0] == "cli/main.cpp"
    for path in files[1:]:
        own = "cli/command.hpp" if path.endswith("_command.cpp") else includes(path)[0]
        assert own in known, f"{path}: no file before it includes {own}"
        known |= reached(path)
