"""The views of real models: every operator is documented, every shape is known, weights stay packed."""

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
SHAPES = {"build/models/ch_PP-OCRv4_det_infer.onnx": ["x=1,3,320,320"],
          "build/models/ch_PP-OCRv4_rec_infer.onnx": ["x=1,3,48,320"],
          "build/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": ["x=1,3,48,192"],
          "build/models/silero_vad_legacy.onnx": ["input=1,512"],
          "examples/cifar/cifar.onnx": ["image=1,3,32,32"]}


def documented():
    """Operators of docs/codegen.md beyond ONNX."""
    table = (ROOT / "docs" / "codegen.md").read_text().split("## Operators of the fused view")[1]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def view_of(anybit, build, model, shapes, out, target="fused-gen"):
    words = [word for shape in shapes for word in ("--shape", shape)]
    anybit("codegen", model, "--target", target, "--plugins", build / "lib" / "test-generators", "-o", out, *words)
    return json.loads(out.read_text())


def graphs_in(graph):
    yield graph
    for node in graph["nodes"]:
        for value in node["attributes"].values():
            if isinstance(value, dict) and "nodes" in value:
                yield from graphs_in(value)


def check(graph):
    known = documented()
    names = [value["name"] for value in graph["values"]]
    assert len(set(names)) == len(names) and all(names)
    ready = {i for i, value in enumerate(graph["values"]) if "at" in value}
    ready |= set(graph["inputs"]) | {inner for _, inner in graph["captures"]}
    for node in graph["nodes"]:
        if node["domain"] == "":
            onnx.defs.get_schema(node["op"], node["version"])
        else:
            assert node["op"] in known, f"docs/codegen.md does not tell about {node['op']}"
        assert {i for i in node["inputs"] if i >= 0} <= ready, node
        made = {i for i in node["outputs"] if i >= 0}
        assert made and not made & ready, node
        ready |= made
    for value in graph["values"]:
        assert value["type"] and value["dims"] is not None and all(size >= 0 for size in value["dims"]), value
    assert set(graph["outputs"]) <= ready


@pytest.mark.parametrize("path", SHAPES)
def test_the_view_of_a_real_model_is_complete(anybit, build, tmp_path, path):
    seen = view_of(anybit, build, ROOT / path, SHAPES[path], tmp_path / "view.json")
    for graph in graphs_in(seen["graph"]):
        check(graph)
    model = onnx.load(ROOT / path, load_external_data=False)
    values = seen["graph"]["values"]
    held = {one.name for one in model.graph.initializer}
    assert [values[i]["name"] for i in seen["graph"]["inputs"]] == [one.name for one in model.graph.input if one.name not in held]
    assert [values[i]["name"] for i in seen["graph"]["outputs"]] == [one.name for one in model.graph.output]


def test_the_view_of_every_recipe_has_known_operators_and_packed_weights(anybit, build, tmp_path):
    recipes = [one["name"] for one in json.loads(anybit("recipes", "--json").stdout)]
    samples = tmp_path / "samples.npy"
    np.save(samples, np.random.default_rng(5).normal(size=(4, 1, 1, 28, 28)).astype(np.float32))
    for recipe in recipes:
        model = tmp_path / f"{recipe}.onnx"
        static = recipe.startswith(("int", "uint", "u8")) or recipe.endswith("static")
        anybit("quantize", DIGITS, "-o", model, "--recipe", recipe, *(["--calib", samples] if static else []))
        graph = view_of(anybit, build, model, ["image=1,1,28,28"], tmp_path / f"{recipe}.json")["graph"]
        check(graph)
        held = {value["at"]: value["bytes"] for value in graph["values"] if "at" in value}
        assert sum(held.values()) < 1.1 * model.stat().st_size, recipe


def test_the_view_as_written_is_the_file(anybit, build, tmp_path):
    model = onnx.load(DIGITS)
    seen = view_of(anybit, build, DIGITS, [], tmp_path / "view.json", "written-gen")["graph"]
    assert [node["op"] for node in seen["nodes"]] == [node.op_type for node in model.graph.node]
    assert seen["values"][seen["inputs"][0]]["dims"] == [-1, 1, 28, 28]
    for one, node in zip(seen["nodes"], model.graph.node):
        assert [seen["values"][i]["name"] if i >= 0 else "" for i in one["inputs"]] == list(node.input)
        assert sorted(one["attributes"]) == sorted(attribute.name for attribute in node.attribute)
