"""Facts about an operator or a format are in its row (descriptor): no other code has lists of their names."""

import functools
import re

import pytest
from support.tree import text_of, tracked

# Folders that must read the rows. Patterns, formulas and rewrites (src/passes, src/portable, src/graph) consist of operators.
ASKING = ("src/quantize/", "src/lower/", "src/runtime/", "src/codegen/", "src/api/", "src/calibrate/", "cli/")
MOST = 2  # names in one statement

# Files with lists that are not facts about operators or formats, and the content of the lists.
LISTS = {
    "src/quantize/annotate_graph.cpp": "operators after which ONNX Runtime inserts a Q/DQ pair",
    "src/quantize/presets.cpp": "the rows of presets",
    "src/quantize/reduce_range.cpp": "the order in which ONNX Runtime's kernels read weights",
    "src/quantize/target.cpp": "the rows of targets",
    "src/runtime/activations.cpp": "names of the activations of FusedConv",
    "src/runtime/fuse_qdq.cpp": "the fusion's own functions, by operator",
}
# Files that compare a format by its name, and why.
NAMED = {}

COMMENT = re.compile(r"//.*")
OPERATOR = re.compile(r'(?:\.name = |\()"([A-Z]\w*)"')
FORMAT = re.compile(r'(?:\.name = |\bnamed\(|\bfixed_point\()"([a-z]\w*)"')
ELEMENT_TYPE = re.compile(r'ElementType::\w+, "(\w+)"')
LISTED = re.compile(r'(?:[{,]|[!=]=)\s*"(\w+)"')
COMPARED = re.compile(r'[!=]=\s*"(\w+)"')


def rows(folder, pattern):
    texts = [text_of(path).split("_descriptors() {") for path in tracked(".cpp") if path.startswith(folder)]
    return {name for text in texts for part in text[1:] for name in pattern.findall(part)}


@functools.cache
def operators():
    return rows("src/ops/", OPERATOR)


@functools.cache
def formats():
    """Formats that are not also element types of ONNX: types may be compared by name."""
    return rows("src/formats/", FORMAT) - set(ELEMENT_TYPE.findall(text_of("src/graph/element_type.cpp")))


def statements(text):
    code = "\n".join(COMMENT.sub("", line) for line in text.splitlines() if not line.startswith("#include"))
    return code.split(";")


def listed(text, known):
    """Names that one statement lists: {"Add", "Sub"}, op == "Add" || op == "Sub"."""
    return [names for piece in statements(text) if len(names := set(LISTED.findall(piece)) & known) > MOST]


def asking():
    return [path for path in tracked(".cpp", ".hpp") if path.startswith(ASKING)]


def test_rows_are_found():
    assert {"Conv", "Relu", "ReduceMax", "Gelu"} <= operators() and len(operators()) > 200
    assert {"binary", "mxfp4_e2m1", "fp8_e4m3", "nvfp4"} <= formats() and "float16" not in formats()


@pytest.mark.parametrize("code, found", [
    ('constexpr std::string_view kMovers[] = {"Reshape", "Slice",\n "Squeeze"};', 1),
    ('return op == "Conv" || op == "Gemm" || op == "MatMul";', 1),
    ('constexpr Mover kMovers[] = {{"Concat", 4}, {"Pad", 11}, {"Tile", 6}};', 1),
    ('return is(step, "Conv") || is(step, "Gemm") || is(step, "MatMul");', 1),
    ('return op == "Conv" || op == "Gemm"; return op == "MatMul";', 0),
    ('apply("Div", {apply("Sub", {x}), apply("Max", {x})});', 0),
])
def test_lists_are_found(code, found):
    assert len(listed(code, operators())) == found


def test_facts_about_operators_and_formats_are_in_their_rows():
    found = {path for path in asking() if listed(text_of(path), operators()) or listed(text_of(path), formats())}
    assert found == set(LISTS), "put the fact into the rows (src/ops/traits.hpp, src/formats/table.hpp), and read it from there"


def test_formats_are_not_compared_by_name():
    found = {path for path in asking() for name in COMPARED.findall("".join(statements(text_of(path)))) if name in formats()}
    assert found == set(NAMED), "put the property that is needed into the row (src/formats/table.hpp)"
