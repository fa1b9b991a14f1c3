"""Every format is compared with another implementation (a peer) or with an exact reference; coverage_*.py name the test."""

import importlib
from pathlib import Path

import pytest
from support.library_codecs import names

HERE = Path(__file__).parent
COVERED = {}
for part in sorted(HERE.glob("coverage_*.py")):
    COVERED |= importlib.import_module(part.stem).COVERED


@pytest.mark.parametrize("name", names())
def test_a_format_is_compared_with_a_peer_or_a_reference(name):
    assert name in COVERED, f"{name} is in no coverage_*.py: add cases for it"
    assert (HERE / COVERED[name]).is_file()


def test_coverage_lists_only_formats_that_exist():
    assert set(COVERED) <= set(names())
