"""Seeds for fuzz_tflite: the files of one operator that the tests build. Run: tflite_seeds.py FOLDER, with tests/ on the path."""

import sys
from pathlib import Path

from support.tflite_cases import CASES

LARGEST = 4096  # libFuzzer finds more with small inputs

target = Path(sys.argv[1])
for name, make in CASES.items():
    content = make()[0]
    if len(content) <= LARGEST:
        (target / f"{name.replace(' ', '_')}.tflite").write_bytes(content)
