"""`anybit recipes`: `quantize` accepts every listed recipe."""
import json

import pytest


def test_every_listed_recipe_can_be_shown_and_read_back(anybit, tmp_path):
    for one in json.loads(anybit("recipes", "--json").stdout):
        shown = anybit("recipes", one["name"]).stdout
        assert shown.splitlines()[0].startswith(f"# {one['name']}:")
        assert one["text"] in shown
        assert json.loads(anybit("recipes", one["name"], "--json").stdout) == one


@pytest.mark.parametrize("name", ["mxfp4", "ternary-weights", "int8"])
def test_a_recipe_shown_is_a_recipe_file(anybit, tmp_path, name):
    (tmp_path / "recipe.yaml").write_text(anybit("recipes", name).stdout)
    arguments = ["examples/digits/digits.onnx", "--emit", "packed", "--calib", "examples/digits/samples"]
    for recipe, out in ((name, "a.onnx"), (tmp_path / "recipe.yaml", "b.onnx")):
        anybit("quantize", *arguments, "-o", tmp_path / out, "--recipe", recipe)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_an_unknown_recipe_suggests_the_nearest(anybit):
    assert "mxfp4" in anybit("recipes", "mxfp", code=2).stderr
