"""The table of attributes' kinds is that of the onnx package."""
from support import attribute_kinds


def test_the_table_is_up_to_date():
    assert attribute_kinds.FILE.read_text() == attribute_kinds.text(), "python tests/conformance/attribute_kinds.py --write"
