"""Which folder may include which. The lines anybit_folder(… DEPENDS …) of CMakeLists.txt are the only source of the rules; every
#include and the list in ARCHITECTURE.md are checked against them."""

import functools
import re

import pytest
from support.tree import ROOT, text_of, tracked

PUBLIC = {path.name for path in (ROOT / "include").iterdir()}
CONSUMERS = ("cli", "nnfw", "python", "plugins")
# Two consumers in one program: the folders whose files it may include besides its own.
SHARED = {"cli/onert_run/": ("cli", "nnfw")}
QUOTED_LIBRARIES = {"hwy"}  # Highway is included with quotes by its own rules
SOURCES = (".cpp", ".hpp", ".h", ".c")


KEYWORDS = {"DEPENDS", "LINKS", "NAMESPACE"}  # of anybit_folder, cmake/folders.cmake


@functools.cache
def declared():
    """The folders of src/, each with those that it depends on directly."""
    folders = {}
    for arguments in re.findall(r"^\s*anybit_folder\(([^)]*)\)", text_of("CMakeLists.txt"), re.M):
        name, *words = arguments.split()
        keyword, folders[name] = None, []
        for word in words:
            if word in KEYWORDS:
                keyword = word
            elif keyword == "DEPENDS":
                folders[name].append(word)
    return folders


def listed(document, heading):
    """The list below a heading of a document: lines `    folder: folder folder`."""
    section = text_of(document).split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return {name: depends.split() for name, depends in re.findall(r"^ {4}(\w+):([\w ]*)$", section, re.M)}


def closure(edges, start):
    """Everything reachable from `start`; a cycle is an error."""
    found = set()

    def visit(name, path):
        assert name not in path, f"folders depend on each other in a cycle: {' -> '.join([*path, name])}"
        for other in edges[name]:
            found.add(other)
            visit(other, [*path, name])

    visit(start, [])
    return found


def includes(path):
    """(line number, spelling, included path) of every #include."""
    for number, line in enumerate(text_of(path).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match[1], match[2]


def is_for_c(path):
    """Whether a header is for C, with additions for C++."""
    return "#ifdef __cplusplus" in text_of(path)


def sources_below(*folders):
    return [path for path in tracked(*SOURCES) if path.startswith(tuple(f"{folder}/" for folder in folders))]


def test_layers_do_not_depend_on_higher_layers():
    """closure() also fails if folders depend on each other in a cycle."""
    below = {name: closure(declared(), name) for name in declared()}
    assert "graph" not in below["kernels"], "kernels work on plain views"
    assert "runtime" not in below["passes"], "passes are below the runtime"


def test_every_folder_of_src_is_declared():
    there = {path.split("/")[1] for path in sources_below("src")}
    assert there == set(declared()), f"anybit_folder lines and folders differ: {sorted(there ^ set(declared()))}"


def test_the_architecture_lists_the_rules_of_the_build():
    assert listed("ARCHITECTURE.md", "Who may include whom") == declared(), "copy the anybit_folder lines of CMakeLists.txt"


def test_the_architecture_describes_every_folder():
    rows = re.findall(r"^\| `src/(\w+)/` \|", text_of("ARCHITECTURE.md"), re.M)
    assert sorted(rows) == sorted(declared())


@pytest.mark.parametrize("path", sources_below("src"))
def test_a_source_includes_only_folders_it_may(path):
    folder = path.split("/")[1]
    allowed = {folder} | PUBLIC | QUOTED_LIBRARIES | closure(declared(), folder)
    wrong = []
    for number, kind, target in includes(path):
        first = target.split("/")[0] if "/" in target else ""
        if (kind == '"' or first in declared()) and first not in allowed:
            wrong.append(f"{path}:{number}: {target}")
    assert not wrong, f"src/{folder} may include {sorted(allowed)} only, by the path from src/:\n" + "\n".join(wrong)


@pytest.mark.parametrize("path", sources_below(*CONSUMERS))
def test_a_consumer_includes_only_the_public_headers(path):
    wrong = []
    for number, kind, target in includes(path):
        # A plugin may have subfolders; its files include each other by the path from the plugin's folder.
        own = [(ROOT / path).parent / target, ROOT.joinpath(*path.split("/")[:2]) / target]
        own += [ROOT / folder / target for start, folders in SHARED.items() if path.startswith(start) for folder in folders]
        internal = target.split("/")[0] in declared() and not any(one.is_file() for one in own)
        if internal or (kind == '"' and target.split("/")[0] not in PUBLIC and not any(one.is_file() for one in own)):
            wrong.append(f"{path}:{number}: {target}")
    assert not wrong, "only public headers and the consumer's own files may be included:\n" + "\n".join(wrong)


@pytest.mark.parametrize("path", sources_below("include"))
def test_a_public_header_needs_only_the_standard_library(path):
    # onert's users name the folder of nnfw.h, and its headers find each other beside them.
    beside = {one.name for one in (ROOT / "include" / "nnfw").glob("*.h")} if path.startswith("include/nnfw/") else set()
    wrong = [f"{path}:{number}: {target}" for number, kind, target in includes(path)
             if (kind == '"' and not target.startswith("anybit/") and target not in beside) or (kind == "<" and "/" in target)
             or (kind == "<" and target.endswith(".h") and path.endswith(".hpp") and not is_for_c(path))]
    assert not wrong, "a public header includes anybit/… and standard headers only:\n" + "\n".join(wrong)
