"""The node cases of the onnx package as C: compiled without a warning, with the expected outputs."""
import pytest
from support import node_cases

FLOOR = 1619  # may only rise


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return node_cases.run(node_cases.cases(), tmp_path_factory.mktemp("node_cases"))


def test_no_case_compiles_with_a_warning_or_gives_other_outputs(outcome):
    wrong = {name: reason for name, reason in outcome[0].items() if reason and ("compile" in reason or "differ" in reason)}
    assert wrong == {}


def test_at_least_as_many_pass_as_before(outcome):
    passed = sum(reason is None for reason in outcome[0].values())
    assert passed >= FLOOR and passed >= len(outcome[0]) / 2


def test_an_unsupported_node_is_rejected_by_name(outcome):
    """The message names the node or the value."""
    nameless = {name: reason for name, reason in outcome[0].items() if reason and "'" not in reason}
    assert nameless == {}


def test_the_document_is_up_to_date(outcome):
    assert node_cases.DOCUMENT.read_text() == node_cases.document(*outcome), "run `make docs`"
