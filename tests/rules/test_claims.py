"""Claims of the documents about the tree: paths, commands and make targets exist, and numbers agree with the code."""

import fnmatch
import functools
import re

import pytest

from support.tree import text_of, tracked

# CHANGELOG.md names files that may be gone.
DOCUMENTS = tuple(path for path in tracked(".md") if path != "CHANGELOG.md")
# Their code spans name files of this tree; other documents also name files of users.
ABOUT_THE_TREE = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
FOLDERS = {path.split("/")[0] for path in tracked() if "/" in path and not path.startswith(".")}
FILE = re.compile(r"[\w*<>-]+\.(?:cpp|hpp|cmake|inc|proto|py|ya?ml|txt|md|json)")
PLACEHOLDER = re.compile(r"<[^>]*>|…")


def spans(path):
    """The code spans of a document and the targets of its links, without fenced blocks."""
    text = re.sub(r"^```.*?^```", "", text_of(path), flags=re.M | re.S)
    return [*re.findall(r"`([^`\n]+)`", text), *re.findall(r"\]\(([^)\s#]+)", text)]


@functools.cache
def known():
    """Tracked files, and their folders with a slash at the end."""
    folders = {"/".join(path.split("/")[:depth]) + "/" for path in tracked() for depth in range(1, path.count("/") + 1)}
    return {*tracked(), *folders}


def expanded(pattern):
    """a.{b,c} is two patterns; <name> stands for any name."""
    if braces := re.search(r"\{([^}]*)\}", pattern):
        return [one for word in braces[1].split(",") for one in expanded(pattern.replace(braces[0], word, 1))]
    return [PLACEHOLDER.sub("*", pattern)]


def exists(pattern):
    return all(one in known() or f"{one}/" in known() or fnmatch.filter(known(), one) for one in expanded(pattern))


def paths_in(path):
    """Words of code spans that begin with a folder of the tree."""
    words = [word for span in spans(path) for word in span.split()]
    return {word.removesuffix(",") for word in words
            if word.split("/")[0] in FOLDERS and "/" in word and re.fullmatch(r"[\w./*<>{},…-]+", word)}


@pytest.mark.parametrize("path", DOCUMENTS)
def test_named_paths_exist(path):
    assert [one for one in sorted(paths_in(path)) if not exists(one)] == []


@pytest.mark.parametrize("path", ABOUT_THE_TREE)
def test_files_named_without_a_folder_exist(path):
    names = {name.rsplit("/", 1)[-1] for name in tracked()}
    named = {span for span in spans(path) if FILE.fullmatch(span)}
    assert [one for one in sorted(named) if not fnmatch.filter(names, PLACEHOLDER.sub("*", one))] == []


@pytest.mark.parametrize("path", DOCUMENTS)
def test_named_commands_exist(path):
    targets = set(re.findall(r"^([a-z-]+):.*##", text_of("Makefile"), re.M))
    commands = {name.split("/")[1].removesuffix("_command.cpp").replace("_", "-") for name in tracked("_command.cpp")}
    wrong = [span for span in spans(path) if (found := re.match(r"make ([a-z][a-z-]*)", span)) and found[1] not in targets]
    wrong += [span for span in spans(path) if (found := re.match(r"anybit ([a-z][a-z-]*)\b(?![./])", span))
              and found[1] not in commands | {"help"}]
    assert wrong == []


def test_only_the_pool_and_bias_correction_start_threads():
    starts = {path for path in tracked(".cpp", ".hpp") if path.startswith("src/")
              and re.search(r"std::(jthread|thread|async)\b|pthread_create\(", text_of(path))}
    assert starts == {"src/base/thread_pool.cpp", "src/refine/bias_correction.cpp"}


def test_no_multiplication_and_addition_are_contracted():
    assert "-ffp-contract=off" in text_of("cmake/settings.cmake")


def test_stated_limits_are_those_of_the_code():
    """The numbers that SECURITY.md states."""
    values = dict(re.findall(r"std::int64_t (\w+) = (.+);", text_of("include/anybit/limits.hpp")))
    assert values == {"rank": "32", "elements": "std::int64_t{1} << 40", "nodes": "1'000'000", "depth": "64",
                      "records": "4'000'000", "pixels": "std::int64_t{1} << 28", "work_bytes": "std::int64_t{256} << 20",
                      "work_elements": "std::int64_t{1} << 30", "work_nodes": "200'000"}
    text = text_of("SECURITY.md")
    for number in ("rank 32", "2⁴⁰ elements", "10⁶ nodes", "depth 64", "4·10⁶", "2²⁸ pixels", "256 MB", "2³⁰ elements", "200,000 nodes"):
        assert number in text.replace("\n  ", " "), number


def test_the_stated_number_of_formats_is_that_of_the_table():
    table = text_of("docs/formats.md").split("<!-- formats: begin -->")[1].split("<!-- formats: end -->")[0]
    count = len(re.findall(r"^\| `", table, re.M))
    assert f"{count} number formats" in text_of("README.md")


def test_the_stated_number_of_real_models_is_that_of_the_list():
    count = len([line for line in text_of("scripts/real_models.txt").splitlines() if line and not line.startswith("#")])
    assert [path for path in ("Makefile", "CONTRIBUTING.md") if f"{count} models" not in text_of(path)] == []


def test_ratios_in_the_text_of_the_readme_are_in_the_documents():
    """tests/docs checks those in its tables."""
    measured = text_of("README.md").split("\n## Measured\n")[1].split("\n## ")[0]
    prose = "\n".join(line for line in measured.splitlines() if not line.startswith("|"))
    known_ratios = set(re.findall(r"\d+\.\d+(?= ×)", text_of("docs/speed.md") + text_of("docs/accuracy.md")))
    assert [one for one in re.findall(r"\d+\.\d+(?= ×)", prose) if one not in known_ratios] == []
