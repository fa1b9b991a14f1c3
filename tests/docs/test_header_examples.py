"""Every example in a public header compiles. An example is a block @code{.cpp} or @code{.c} … @endcode in a comment.

A file with `main` or with static definitions is compiled as it is. Anything else is a fragment: its #include lines stay
in front, its statements become the body of a function.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include").glob("*/*.h*"))
COMMANDS = {
    "cpp": ["g++", "-x", "c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable",
            "-Wno-unused-but-set-variable", "-Iinclude", "-"],
    "c": ["gcc", "-x", "c", "-std=c99", "-pedantic", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
          "-Iinclude", "-"],
}
BEGIN = re.compile(r"^ *///? ?@code(?:\{\.(\w+)\})?\s*$")
END = re.compile(r"^ *///? ?@endcode\s*$")
COMMENT = re.compile(r"^ *///? ?")
PROGRAM = re.compile(r"^(static \w|int main\()", re.M)


def examples_of(text):
    """(line, language, code) for each example."""
    found, language, code, start = [], None, [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if begin := BEGIN.match(line):
            assert language is None, f"line {number}: @code within @code"
            assert begin[1] in COMMANDS, f"line {number}: @code{{.cpp}} or @code{{.c}}"
            language, code, start = begin[1], [], number + 1
        elif END.match(line):
            assert language, f"line {number}: @endcode without @code"
            found.append((start, language, "\n".join(code) + "\n"))
            language = None
        elif language:
            assert COMMENT.match(line), f"line {number}: the example has no @endcode"
            code.append(COMMENT.sub("", line, count=1))
    assert language is None, f"line {start}: the example has no @endcode"
    return found


def complete(header, code):
    """The example as a file that can be compiled."""
    include = f'#include "{header.relative_to(ROOT / "include")}"\n'
    if PROGRAM.search(code):
        return include + code
    lines = code.splitlines(keepends=True)
    includes = [line for line in lines if line.startswith("#include")]
    body = [line for line in lines if not line.startswith("#include")]
    return include + "".join(includes) + "void example();\nvoid example() {\n" + "".join(body) + "}\n"


def complaint(header, language, code):
    done = subprocess.run(COMMANDS[language], input=complete(header, code), capture_output=True, text=True, cwd=ROOT)
    return "" if done.returncode == 0 else done.stderr


EXAMPLES = [(header, *example) for header in HEADERS for example in examples_of(header.read_text())]


@pytest.mark.parametrize("header, line, language, code", EXAMPLES, ids=[f"{one[0].name}:{one[1]}" for one in EXAMPLES])
def test_an_example_compiles(header, line, language, code):
    assert complaint(header, language, code) == ""


def test_headers_with_functions_have_an_example():
    without = {"version.hpp", "write_file.hpp"}  # a single obvious call
    declares = {header.name for header in HEADERS if re.search(r"^ANYBIT_API .*\(", header.read_text(), re.M)}
    assert declares - {header.name for header, *_ in EXAMPLES} - without == set()


def test_all_code_in_comments_is_marked_as_an_example():
    """Indented code in a comment would not be compiled."""
    indented = re.compile(r"^ *///? {3,}.*[;{]\s*$")
    for header in HEADERS:
        text = header.read_text()
        marked = {number for line, _, code in examples_of(text) for number in range(line, line + code.count("\n"))}
        assert [f"{header.name}:{number}: {line}" for number, line in enumerate(text.splitlines(), 1)
                if indented.match(line) and number not in marked] == []


@pytest.mark.parametrize("language, code", [
    ("cpp", "auto model = anybit::Model::load(\"model.onnx\", 1, 2);\n"),
    ("cpp", "anybit::Model::load(\"model.onnx\");\n"),  # the result is discarded
    ("c", "int main(void) { return anybit_runs(0); }\n"),
])
def test_a_wrong_example_is_found(language, code):
    header = ROOT / "include" / "anybit" / ("model.hpp" if language == "cpp" else "anybit.h")
    assert "error" in complaint(header, language, code)


@pytest.mark.parametrize("text, message", [
    ("/// @code\n/// f();\n/// @endcode\n", "line 1: @code"),
    ("/// @code{.cpp}\n/// f();\n", "no @endcode"),
    ("/// @code{.cpp}\n/// f();\nint f();\n", "no @endcode"),
    ("/// @endcode\n", "without @code"),
])
def test_a_badly_marked_example_is_found(text, message):
    with pytest.raises(AssertionError, match=message):
        examples_of(text)


def test_an_example_keeps_its_line_and_its_text():
    text = "/// Text.\n/// @code{.cpp}\n/// f();\n///\n///   g();\n/// @endcode\nint f();\n"
    assert examples_of(text) == [(3, "cpp", "f();\n\n  g();\n")]
