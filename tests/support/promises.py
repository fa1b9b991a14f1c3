"""The promises of the systems that came before anybit, each a numbered test in tests/reference, and their table.

    python tests/support/promises.py --write      runs the tests and writes docs/promises.md

A promise that no test can hold yet is a line of tests/reference/not_yet.txt: SYSTEM NUMBER: the promise | the reason.
"""
import ast
import pathlib
import re
import sys
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "reference"
DOCUMENT = ROOT / "docs" / "promises.md"

SYSTEMS = {
    "nnpa": "onnx-mlir, quantization for NNPA",
    "mase": "MASE, quantization",
    "quark": "AMD Quark, microscaling",
    "arm": "Arm, quantizer for Ethos-U",
    "onert": "ONERT, on-device compilation",
}


class Promise(NamedTuple):
    system: str
    number: int
    sentence: str
    reason: str = ""  # why no test holds it yet


def promise(system, number, sentence):
    """Marks the test that holds promise `number` of a system. Several tests may hold one promise."""
    assert system in SYSTEMS and sentence.endswith(".")
    return pytest.mark.promise(system, number, sentence)


def in_tests():
    """The promises that stand above tests, read from their source."""
    for path in sorted(TESTS.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for call in getattr(node, "decorator_list", []):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "promise":
                    yield Promise(*(ast.literal_eval(argument) for argument in call.args))


def not_yet():
    for line in (TESTS / "not_yet.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            system, number, sentence, reason = re.fullmatch(r"(\w+) (\d+): (.*) \| (.*)", line).groups()
            yield Promise(system, int(number), sentence, reason)


def promises():
    """All of them, by system and number."""
    order = list(SYSTEMS)
    return sorted({*in_tests(), *not_yet()}, key=lambda one: (order.index(one.system), one.number, one.sentence))


def document(outcome):
    """docs/promises.md; outcome(promise) is what its line says."""
    lines = ["# Promises of other systems", "",
             "What the documentation of five systems promises their users, in our words, and whether anybit keeps it. Each line is a",
             "test in `tests/reference`, which `make test` runs. `make docs` writes this page.", ""]
    for system, title in SYSTEMS.items():
        rows = [one for one in promises() if one.system == system]
        if rows:
            lines += [f"## {title}", "", "| | promise | anybit |", "|--:|---|---|"]
            lines += [f"| {one.number} | {one.sentence} | {outcome(one)} |" for one in rows] + [""]
    return "\n".join(lines).rstrip() + "\n"


class Outcomes:
    """A pytest plugin: which promises have a test that failed, and which one that passed."""

    def __init__(self):
        self.failed, self.passed = set(), set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        for mark in item.iter_markers("promise"):
            if report.failed:
                self.failed.add(mark.args[:2])
            elif report.when == "call" and report.passed:
                self.passed.add(mark.args[:2])

    def outcome(self, one):
        if one.reason:
            return f"not yet: {one.reason}"
        key = (one.system, one.number)
        return "kept" if key in self.passed and key not in self.failed else "**broken**"


def main():
    outcomes = Outcomes()
    pytest.main(["-q", str(TESTS)], plugins=[outcomes])
    text = document(outcomes.outcome)
    if sys.argv[1:] == ["--write"]:
        DOCUMENT.write_text(text)
    else:
        print(text)
    return 1 if "**broken**" in text else 0


if __name__ == "__main__":
    sys.exit(main())
