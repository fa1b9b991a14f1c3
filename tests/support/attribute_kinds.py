"""Writes src/ops/attribute_kinds.inc: the kinds of the attributes of ONNX's operators, from the onnx package.

    python tests/support/attribute_kinds.py --write
"""
import pathlib
import sys

import onnx
from onnx import defs

FILE = pathlib.Path(__file__).resolve().parents[2] / "src" / "ops" / "attribute_kinds.inc"
OLDEST = 7  # the first opset whose operators run
DOMAINS = ("", "ai.onnx.ml")
HEAD = """// The kinds of the attributes of ONNX's operators since opset 7; ! marks a required attribute. Generated from the onnx
// package by tests/support/attribute_kinds.py --write; a test compares both.
"""


def active(schemas):
    """The schemas that are valid in some opset from OLDEST on."""
    schemas = sorted(schemas, key=lambda one: one.since_version)
    if schemas[0].domain:
        return schemas
    return [one for i, one in enumerate(schemas) if i + 1 == len(schemas) or schemas[i + 1].since_version > OLDEST]


def rows():
    by_name = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in DOMAINS:
            by_name.setdefault((schema.domain, schema.name), []).append(schema)
    for (domain, name), schemas in sorted(by_name.items()):
        kinds, required = {}, {}
        for schema in active(schemas):
            for attribute in schema.attributes.values():
                kind = attribute.type.name.lower()
                assert kinds.setdefault(attribute.name, kind) == kind, f"{name}: {attribute.name} has changed its kind"
        for attribute in kinds:
            required[attribute] = all(attribute in schema.attributes and schema.attributes[attribute].required for schema in active(schemas))
        if kinds:
            words = " ".join(f"{attribute}:{kinds[attribute]}{'!' if required[attribute] else ''}" for attribute in sorted(kinds))
            yield f'{{"{domain}", "{name}", " {words} "}},\n'


def text():
    return HEAD + "".join(rows())


if __name__ == "__main__":
    if "--write" in sys.argv:
        FILE.write_text(text())
    print(onnx.__version__, FILE.read_text() == text())
