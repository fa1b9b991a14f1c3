"""The tests that SECURITY.md names for its promises exist, and every fuzz target has a row in its table."""

import re

import pytest
from support.tree import ROOT, text_of, tracked

TEXT = (ROOT / "SECURITY.md").read_text()
TESTS = re.compile(r"Tests: (.+?)(?=\n- |\n\n|\Z)", re.DOTALL)


def named():
    """(file, test) for each test that is named; a test belongs to the file before it."""
    found = []
    for paragraph in TESTS.findall(TEXT):
        file = None
        for word in re.findall(r"`([^`]+)`", paragraph):
            if word.startswith("tests/"):
                file = word
            else:
                found.append((file, word))
    return found


def test_every_promise_names_its_tests():
    promised = TEXT.split("## What is promised")[1].split("## How it is tested")[0]
    promises = re.findall(r"^- \*\*.*?(?=^- |^### |\Z)", promised, re.DOTALL | re.MULTILINE)
    assert len(promises) >= 20
    assert [one for one in promises if not TESTS.search(one)] == []


@pytest.mark.parametrize("file, test", named())
def test_the_tests_of_a_promise_exist(file, test):
    text = text_of(file)
    if file.endswith(".py"):
        assert re.search(rf"^def {test}\(", text, re.MULTILINE)
    else:
        suite, name = test.split(".")
        assert re.search(rf"^TEST(_F|_P)?\({suite}, {name}\)", text, re.MULTILINE)


def test_every_fuzz_target_is_in_the_table():
    targets = {path for path in tracked(".cpp") if path.startswith("fuzz/")}
    assert targets == set(re.findall(r"^\| `(fuzz/[^`]+)`", TEXT, re.MULTILINE))
