"""onert's C API: the table of states in nnfw.h, call by call, and what the library exports."""

import re
import shutil
import subprocess

import pytest
from support.devices import DIGITS, ROOT, run
from support.nnfw import LANGUAGES, compiled

HERE = ROOT / "tests" / "nnfw"
HEADERS = ROOT / "include" / "nnfw"


def rows():
    """The rows of the header's table."""
    found = (re.fullmatch(r"//   (\w+)((?: +(?:·|-|E|D|loaded|replaced|prepared|ran|running)){6})", line)
             for line in (HEADERS / "nnfw.h").read_text().splitlines())
    return {one[1]: one[2].replace("·", "allowed").split() for one in found if one}


def declared():
    text = "\n".join(re.sub("//.*", "", path.read_text()) for path in sorted(HEADERS.glob("*.h")))
    return set(re.findall(r"\bNNFW_STATUS nnfw_(\w+)\(", text))


def test_the_table_has_every_call_of_the_headers():
    assert set(rows()) == declared() - {"create_session"}


def test_the_library_exports_exactly_the_calls_of_the_headers(build):
    said = subprocess.run(["nm", "-D", "--defined-only", build / "lib" / "libnnfw-anybit.so"], capture_output=True, text=True, check=True)
    assert {line.split()[-1] for line in said.stdout.splitlines()} == {f"nnfw_{name}" for name in declared()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_call_in_every_state_returns_the_status_in_the_table(build, tmp_path, language):
    (tmp_path / "m").mkdir()
    model = shutil.copy(DIGITS / "digits.onnx", tmp_path / "m" / "digits.onnx")
    lines = "\n".join(f"{name} {' '.join(answers)}" for name, answers in rows().items())
    said = run(compiled(build, tmp_path, HERE / "states.c", language), model, stdin=lines,
               QUANTIZED=tmp_path / "q.onnx", GENERATED=tmp_path / "x.c")
    assert said == f"{len(rows())} calls\n"
    assert {file.name for file in (tmp_path / "m").iterdir()} == {"digits.onnx"}
