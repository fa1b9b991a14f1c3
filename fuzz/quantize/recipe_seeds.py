"""Seeds for fuzz_recipe: recipes of the documents, dictionaries of other tools, YAML with aliases. Run: recipe_seeds.py FOLDER."""

import re
import sys
from pathlib import Path

target = Path(sys.argv[1])
document = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text()
RECIPES = {f"document{i}": text for i, text in enumerate(re.findall(r"```yaml\n(.*?)```", document, re.S))}
RECIPES |= {
    "preset": "global: int8",
    "json": '{"global": {"weights": {"format": "int8", "symmetric": true, "granularity": "channel"}, "activations": "int8 asym"}}',
    "map": "global: {weights: {format: int4, granularity: block, block_size: 32, narrow: false}, data_in: {format: int8, observer: mse}}",
    "mase": '{"by": "type", "default": {"config": {"name": None}}, "linear": {"config": {"name": "integer", "data_in_width": 8,'
            ' "data_in_frac_width": 4, "weight_width": 8, "weight_frac_width": 4, "bias_width": 8, "bias_frac_width": 4}}}',
    "mase_regex": '{"by": "regex_name", "^fc": {"config": {"name": "fixed", "data_in_width": 8, "data_in_frac_width": 4}}}',
    "quark": "{'element_dtype': 'int8', 'axis': 1, 'block_size': 8, 'rounding_mode': 2}",
    "quark_bfp": "{'bfp_method': 'to_bfp', 'bit_width': 16, 'axis': 1, 'block_size': 8, 'rounding_mode': 2}",
    "alias": "global: &a {weights: int8 sym channel, activations: int8}\ntype: {Conv: *a, Gemm: *a}\n",
    "merge": "x: &a {weights: int8}\nglobal: {<<: *a}\n",
    "laughs": "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nglobal: *c\n",
    "circle": "global: &a {weights: *a}\n",
    "deep": "[" * 50 + "]" * 50,
    "documents": "global: int8\n---\nglobal: w4\n",
    "tags": "global: !!str int8\ntype: {Conv: !x float}\n",
    "text": 'global: |\n  int8\nname: {"a\\u0041": >-\n  float}\n',
}
for name, text in RECIPES.items():
    (target / name).write_text(text)
