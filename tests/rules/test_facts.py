"""What is true of an operator or a format stands in its row: no list of their names lies anywhere else."""

import functools
import re

import pytest
from support.tree import text_of, tracked

# Folders that ask the rows. Patterns, formulas and rewritings (src/passes, src/portable, src/graph) are made of operators.
ASKING = ("src/quantize/", "src/lower/", "src/runtime/", "src/codegen/", "src/api/", "src/calibrate/", "cli/")
MOST = 2  # names in a statement

# Files with lists that are no facts about operators or formats, and what they are.
LISTS = {
    "src/quantize/annotate_graph.cpp": "what ONNX Runtime does behind some operators",
    "src/quantize/presets.cpp": "the rows of presets",
    "src/quantize/reduce_range.cpp": "the order in which ONNX Runtime's kernels go over weights",
    "src/quantize/target.cpp": "the rows of targets",
    "src/runtime/fuse_activation.cpp": "what a FusedConv calls its activations",
    "src/runtime/fuse_qdq.cpp": "the fusion's own functions, by operator",
}
# Files that ask for a format by its name, and why.
NAMED = {"src/quantize/recipe_foreign.cpp": "configurations of other tools that mean this one"}

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
    """Those that are not types of ONNX as well: types may be asked for by name."""
    return rows("src/formats/", FORMAT) - set(ELEMENT_TYPE.findall(text_of("src/graph/element_type.cpp")))


def statements(text):
    code = "\n".join(COMMENT.sub("", line) for line in text.splitlines() if not line.startswith("#include"))
    return code.split(";")


def listed(text, known):
    """Names that one statement has one after the other: {"Add", "Sub"}, op == "Add" || op == "Sub"."""
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


def test_what_is_true_of_operators_and_formats_is_in_their_rows():
    found = {path for path in asking() if listed(text_of(path), operators()) or listed(text_of(path), formats())}
    assert found == set(LISTS), "say it in the rows (src/ops/traits.hpp, src/formats/table.hpp), and ask them"


def test_formats_are_not_asked_for_their_names():
    found = {path for path in asking() for name in COMPARED.findall("".join(statements(text_of(path)))) if name in formats()}
    assert found == set(NAMED), "say in the row what is meant by it (src/formats/table.hpp)"
