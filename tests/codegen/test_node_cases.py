"""How many of the onnx package's node cases c-gen turns into C that compiles without a warning and gives their outputs."""
import pytest
from support import node_cases

FLOOR = 1619  # may only rise


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return node_cases.run(node_cases.cases(), tmp_path_factory.mktemp("node_cases"))


def test_no_case_compiles_with_a_warning_or_gives_other_outputs(outcome):
    wrong = {name: reason for name, reason in outcome[0].items() if reason and ("compile" in reason or "differ" in reason)}
    assert wrong == {}


def test_at_least_as_many_pass_as_did(outcome):
    passed = sum(reason is None for reason in outcome[0].values())
    assert passed >= FLOOR and passed >= len(outcome[0]) / 2


def test_what_cannot_be_generated_is_refused_by_name(outcome):
    """The message tells the node or the value, so that a user can find it."""
    nameless = {name: reason for name, reason in outcome[0].items() if reason and "'" not in reason}
    assert nameless == {}


def test_the_document_is_up_to_date(outcome):
    assert node_cases.DOCUMENT.read_text() == node_cases.document(*outcome), "run `make docs`"
