"""Seeds for fuzz_execute: random bytes, each a model. Run: execute_seeds.py FOLDER."""

import random
import sys
from pathlib import Path

target = Path(sys.argv[1])
for seed in range(64):
    (target / f"seed{seed}").write_bytes(random.Random(seed).randbytes(40 + 2 * seed))
