"""Sources that are compiled together (anybit_compile_together of cmake/folders.cmake) declare no name twice in unnamed namespaces,
whichever batch they are in: a new file must not break others."""
import collections
import re

import pytest
from support.tree import text_of, tracked

ROW = re.compile(r"^std::span<const .*_descriptors\(\) \{", re.M)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.M | re.S)
TYPE = re.compile(r"^(?:class|struct|enum(?: class)?) (\w+)(?= [:{]| final)", re.M)
CONSTANT = re.compile(r"^(?:inline )?constexpr [\w:<>, ]+?[ *](k\w+)(?:\[\w*\])? ?[={]", re.M)


def folders():
    return sorted({path.split("/")[1] for path in tracked(".cpp") if path.startswith("src/")} - {"kernels"}) + ["cli", "plugins/c-gen", "plugins/so-gen", "plugins/verilog-gen"]


@pytest.mark.parametrize("folder", folders())
def test_names_are_unique_among_sources_compiled_together(folder):
    apart = set(re.findall(r"src/\w+/\w+\.cpp", text_of("CMakeLists.txt")))
    places = collections.defaultdict(set)
    for path in tracked(".cpp"):
        if not path.startswith((f"src/{folder}/", f"{folder}/")) or path in apart or ROW.search(text_of(path)):
            continue
        for block in UNNAMED.findall(text_of(path)):
            for name in TYPE.findall(block) + CONSTANT.findall(block):
                places[name].add(path)
    assert {name: sorted(paths) for name, paths in places.items() if len(paths) > 1} == {}
