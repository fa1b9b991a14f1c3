"""src/ops/attribute_kinds.inc agrees with the onnx package."""
from support import attribute_kinds


def test_the_table_is_up_to_date():
    assert attribute_kinds.FILE.read_text() == attribute_kinds.text(), "python tests/support/attribute_kinds.py --write"
