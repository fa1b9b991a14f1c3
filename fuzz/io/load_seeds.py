"""Seeds for fuzz_load: the small models of the onnx package. Run: load_seeds.py FOLDER."""

import shutil
import sys
from pathlib import Path

import onnx

LARGEST = 2048  # libFuzzer finds more with small inputs

data = Path(onnx.__file__).parent / "backend/test/data"
target = Path(sys.argv[1])
for path in sorted(data.glob("*/*/model.onnx")):
    if path.stat().st_size <= LARGEST:
        shutil.copyfile(path, target / f"{path.parent.name}.onnx")
