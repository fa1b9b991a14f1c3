"""Seeds for fuzz_quantize: the small models of the onnx package, each after eight bytes that choose a recipe.
Run: quantize_seeds.py FOLDER."""

import sys
from pathlib import Path

import onnx

LARGEST = 1024  # libFuzzer finds more with small inputs

data = Path(onnx.__file__).parent / "backend/test/data"
target = Path(sys.argv[1])
for number, path in enumerate(sorted(data.glob("*/*/model.onnx"))):
    if path.stat().st_size <= LARGEST:
        (target / f"{path.parent.name}.bin").write_bytes(number.to_bytes(8, "little") + path.read_bytes())
