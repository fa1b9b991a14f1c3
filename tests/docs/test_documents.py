"""Every example of README.md and docs/ runs and gives the output that it shows."""

import re

import pytest
from support.blocks import Bad, blocks_of, missing, steps_of
from support.running import ROOT, Runner, furnish

DOCUMENTS = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


@pytest.fixture
def runner(build, tmp_path):
    furnish(tmp_path, build)
    return Runner(build, tmp_path)


@pytest.fixture(scope="module")
def shared(build, tmp_path_factory):
    """One folder for the examples below, which belong to no document."""
    folder = tmp_path_factory.mktemp("shared")
    furnish(folder, build)
    return Runner(build, folder)


def examples(document):
    return [block for block in blocks_of((ROOT / document).read_text()) if not block.not_run and block.language != "text"]


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if examples(document)])
def test_the_examples_of_a_document_run(document, runner):
    runner.document((ROOT / document).read_text(), document)


def headings(document):
    """The anchors of the headings, by GitHub's rules."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.M | re.S)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.M)}


@pytest.mark.parametrize("document", sorted(str(path.relative_to(ROOT)) for pattern in ("*.md", "docs/*.md", "examples/*/*.md")
                                            for path in ROOT.glob(pattern)))
def test_links_resolve(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", (ROOT / document).read_text()):
        path, _, place = link.partition("#")
        if "://" in link:
            continue
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.exists(), link
        assert not place or place in headings(target), link


def test_contributing_has_every_folder_of_tests_and_every_target_of_make():
    text = (ROOT / "CONTRIBUTING.md").read_text() + (ROOT / "README.md").read_text()
    folders = {path.parent.relative_to(ROOT).parts[1] for path in (ROOT / "tests").glob("*/**/test_*.py")}
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M)
    assert folders and targets
    assert [one for one in sorted(folders) if f"`tests/{one}/" not in text] == []
    assert [one for one in targets if f"make {one}" not in text] == []


def test_every_preset_and_target_is_in_its_document():
    import anybit

    text = (ROOT / "docs" / "recipes.md").read_text()
    for preset in anybit.presets():
        assert f"`{preset.name.removesuffix('-weights')}`" in text, preset.name
    for target in anybit.targets():
        assert target.name.split("-")[0] in text and target.recipe in text, target.name


def test_examples_that_are_not_run_state_a_reason(capsys):
    kept = [f"{document}, line {block.line}: {block.not_run}" for document in DOCUMENTS
            for block in blocks_of((ROOT / document).read_text()) if block.not_run]
    with capsys.disabled():
        print("", "examples that are not run:", *kept, sep="\n  ")
    assert all(line.split(": ", 1)[1] for line in kept)


DOCUMENT = """
Text, and formulas that are no example:

    q = round(x / scale)

```sh
anybit version
```
<!-- not run: takes a day -->

```sh
false
```
<!-- numbers vary: times -->
```console
$ echo one 0.5 ms; echo two
one 0.7 ms
…
$ printf '%s\\n' \\
    a b
a
b
```
"""


def test_blocks_have_their_language_line_and_notes():
    first, second, third = blocks_of(DOCUMENT)
    assert (first.language, first.text, first.line, first.not_run) == ("sh", "anybit version\n", 7, None)
    assert (second.text, second.not_run, second.numbers_vary) == ("false\n", "takes a day", None)
    assert (third.language, third.not_run, third.numbers_vary) == ("console", None, "times")
    assert [(step.command, step.shown) for step in steps_of(third.text)] == [
        ("echo one 0.5 ms; echo two", ["one 0.7 ms", "…"]), ("printf '%s\\n' \\\n    a b", ["a", "b"])]


@pytest.mark.parametrize("text, complaint", [
    ("<!-- not run: -->\n```sh\nfalse\n```\n", "without a reason"),
    ("<!-- not run: because -->\n\nText.\n", "belongs to no example"),
    ("```\nanybit\n```\n", "language ''"),
    ("```sh\nanybit\n", "without an end"),
    ("```text\nanybit formats\n```\n", "as text"),
    ("    anybit formats\n", "indented command"),
    ("    $ ls\n", "indented command"),
])
def test_a_document_that_breaks_the_rules_is_rejected(text, complaint):
    with pytest.raises(Bad, match=complaint):
        blocks_of(text)


@pytest.mark.parametrize("text, complaint", [
    ("```sh\nfalse\necho later\n```", "exit code 1"),
    ("```sh\nfalse | cat\n```", "exit code 1"),
    ("```sh\nanybit inspect nothing.onnx\n```", "cannot open 'nothing.onnx'"),
    ("```console\n$ echo one\ntwo\n```", "shows 'two'"),
    ("```console\n$ echo one; echo two\none\n```", "shows 'nothing more, before 'two'"),
    ("```console\n$ echo one\none\ntwo\n```", "shows 'two'"),
    ("```console\n$ echo 1.00 s\n2.00 s\n```", "shows '2.00 s'"),
    ("```console\n$ exit 3\n```", "exit code 3"),
    ("```console\none\n```", "begins with a command"),
    ("```python\nassert 1 == 2\n```", "AssertionError"),
    ("```python\nprint('one')\n```\n```output\ntwo\n```", "shows 'two'"),
    ("```yaml\nglobal: in8\n```", "did you mean 'int8'"),
    ("```yaml\nname: {nowhere: float}\n```", "'nowhere'"),
    ("```yaml\ntarget: ethos-u55-129\n```", "'ethos-u55-129'"),
    ("```json\n{'a': 1}\n```", "JSONDecodeError"),
    ("```c\nanybit_run(sessions);\n```", "sessions. undeclared"),
    ("```c\nanybit_run(session, 1);\n```", "too many arguments"),
    ("```c\nint main(void) { return 1; }\n```", "exit code 1"),
    ("```sh\necho 'void net_run(float *out0);' > net.h\n```\n```c\nvoid net_run(const float *in0, float *out0);\n```",
     "conflicting types"),
])
def test_a_wrong_example_fails(text, complaint, shared):
    with pytest.raises(Bad, match=rf"(?s)^made up, line \d+: .*{complaint}"):
        shared.document(text, "made up")


def test_examples_of_every_language_pass_and_share_a_folder(shared):
    shared.document(DOCUMENT.replace("anybit version", "anybit --version > version.txt"), "made up")
    shared.document("\n".join([
        "```python\nfrom pathlib import Path\nfound = Path('version.txt').read_text()\n```",
        "```python\nprint(len(found.split()) > 0)\n```\n```output\nTrue\n```",
        "```yaml\nglobal: {weights: int4 sym block 32}\n```", "```json\n[1, 2]\n```",
        "```c\nfor (int i = 0; i < runs; ++i) anybit_run(session);\n```",
        "```c\n#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n```\n```output\nhello\n```"]), "made up")


@pytest.mark.parametrize("shown, vary, fits", [
    (["a 1.00", "b 5"], False, True),
    (["a   1.01", "b 5"], False, True),  # another CPU's rounding
    (["a 1.10", "b 5"], False, False),
    (["a 1.10", "b 5"], True, True),
    (["b 5"], True, False),
    (["…", "b 5"], False, True),
    (["a 1.00", "…"], False, True),
    (["…", "c 5"], False, False),
    (["b 5", "…"], False, False),
    (["a 1.00", "b"], True, False),
])
def test_shown_output_is_compared_line_by_line(shown, vary, fits):
    assert (missing(shown, ["a 1.00", "b 5"], vary) is None) == fits


@pytest.mark.parametrize("shown, fits", [("top-1 99.50 %", True), ("top-1 99.40 %", True), ("top-1 98.95 %", False),
                                         ("top-1 99.50", False)])
def test_percentages_are_compared_more_closely(shown, fits):
    assert (missing([shown], ["top-1 99.50 %"], numbers_vary=False) is None) == fits
