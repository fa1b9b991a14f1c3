"""docs/promises.md has every promise of tests/reference, with its number and its sentence."""
from support.promises import DOCUMENT, SYSTEMS, document, promises


def test_every_number_is_one_promise_and_none_is_left_out():
    for system in SYSTEMS:
        numbers = [one.number for one in promises() if one.system == system]
        assert numbers == list(range(1, len(numbers) + 1)), system


def test_the_document_has_every_promise():
    assert DOCUMENT.read_text() == document(lambda one: f"not yet: {one.reason}" if one.reason else "kept"), "run `make docs`"
