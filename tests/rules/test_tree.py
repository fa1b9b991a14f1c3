"""Rules for every file of the repository."""

import re
import subprocess

import pytest
from support.tree import ROOT, text_of, tracked

# Files over 500 lines, each with its reason.
LONG_FILES = {"web/package-lock.json": "written by npm"}
LONGEST = 500

# Spelled in parts, so that this file does not break its own rule.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"]) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}/])/(home/\w|root/|Users/\w|work/\w|mnt/\w|opt/\w|var/tmp/\w)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def lines_matching(pattern):
    return [f"{path}:{number}: {line.strip()}" for path in tracked() if text_of(path) is not None
            for number, line in enumerate(text_of(path).splitlines(), 1) if pattern.search(line)]


def make_targets():
    return re.findall(r"^([a-z-]+):.*##", text_of("Makefile"), re.M)


def test_no_unfinished_marks():
    assert lines_matching(UNFINISHED) == []


def test_no_path_of_one_machine():
    assert lines_matching(MACHINE_PATH) == []


def test_no_two_test_files_have_the_same_name():
    # pytest imports them by name.
    names = [path.rsplit("/", 1)[-1] for path in tracked() if re.search(r"/test_\w+\.py$", path)]
    assert sorted(names) == sorted(set(names))


def test_tests_share_a_package_and_no_paths():
    """tests/support is imported as a package; only the built Python package needs a path."""
    found = [path for path in tracked(".py") if path.startswith(("tests/", "bench/", "scripts/")) and "sys.path" in text_of(path)]
    assert sorted(set(found) - {"tests/rules/test_tree.py"}) == ["bench/bench_nnpa.py", "bench/bench_python.py", "bench/bench_sensitivity.py",
                                                               "bench/bench_verdict.py", "tests/conftest.py"]


def test_a_test_file_is_named_after_its_subject():
    assert [path for path in tracked() if re.search(r"(^|[/_])(odd|misc|other|more)(_|\.)", path.removeprefix("tests/support/"))
            and path.startswith("tests/")] == []


def test_long_files_have_a_reason():
    long = {path for path in tracked() if text_of(path) and text_of(path).count("\n") > LONGEST}
    assert long <= set(LONG_FILES), f"over {LONGEST} lines; split them or give a reason: {sorted(long - set(LONG_FILES))}"


def test_reasons_for_long_files_are_still_needed():
    gone = [path for path in LONG_FILES if not (ROOT / path).is_file()]
    assert gone == []


def test_every_make_target_has_a_help_text():
    assert re.findall(r"^([a-z-]+):", text_of("Makefile"), re.M) == make_targets()


@pytest.mark.parametrize("target", make_targets())
def test_the_documents_mention_every_make_target(target):
    documents = "".join(text_of(path) for path in tracked(".md"))
    assert re.search(rf"\bmake {target}\b(?!-)", documents), f"`make {target}` is in no document"


@pytest.mark.parametrize("path", tracked(".md"))
def test_relative_links_resolve(path):
    broken = [link for link in LINK.findall(text_of(path))
              if not re.match(r"[a-z]+:|#", link) and not ((ROOT / path).parent / link.split("#")[0]).exists()]
    assert broken == []


@pytest.mark.parametrize("path", [path for path in tracked() if (ROOT / path).read_bytes()[:2] == b"#!"])
def test_scripts_with_an_interpreter_line_are_executable(path):
    assert (ROOT / path).stat().st_mode & 0o111, f"chmod +x {path}"


def slugs(document):
    """GitHub's anchors for the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", text_of(document), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_named_sections_exist():
    named = {(path, document, section) for path in tracked() if text_of(path) is not None
             for document, section in re.findall(r"\b(docs/[\w-]+\.md)#([\w-]+)", text_of(path))}
    named |= {(path, path, section) for path in tracked() if path.endswith(".md")
              for section in re.findall(r"\]\(#([\w-]+)\)", text_of(path))}
    assert [one for one in sorted(named) if one[2] not in slugs(one[1])] == []


def test_no_symbolic_link_is_tracked():
    """A symbolic link to a path on one machine would replace folders in other clones."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-s"], check=True, capture_output=True, text=True).stdout
    assert [line for line in listed.splitlines() if line.startswith("120000")] == []
