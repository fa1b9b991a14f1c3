"""Seeds for fuzz_npy: arrays of every type. Run: npy_seeds.py FOLDER."""

import sys
from pathlib import Path

import numpy as np

target = Path(sys.argv[1])
for kind in ("?", "i1", "u1", "<i2", ">i4", "<i8", "<u8", "<f2", ">f4", "<f8", "<c8", "<U3"):
    for number, array in enumerate((np.zeros((), kind), np.ones((2, 3), kind), np.asfortranarray(np.ones((2, 3), kind)))):
        np.save(target / f"{kind.strip('<>?')}{'big' * (kind[0] == '>')}{number}.npy", array)
