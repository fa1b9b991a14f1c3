"""Seeds for fuzz_zip: archives that numpy and Python write, stored and compressed. Run: zip_seeds.py FOLDER."""

import sys
import zipfile
from pathlib import Path

import numpy as np

target = Path(sys.argv[1])
arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros(200, np.uint8), "text": np.array("abc")}
np.savez(target / "stored.npz", **arrays)
np.savez_compressed(target / "deflated.npz", **arrays)
np.savez_compressed(target / "one.npz", np.ones(3))
with zipfile.ZipFile(target / "mixed.zip", "w") as archive:
    archive.comment = b"a comment"
    archive.writestr("empty", b"")
    archive.writestr("x", b"x" * 500, zipfile.ZIP_DEFLATED)
    with archive.open("wide", "w", force_zip64=True) as entry:
        entry.write(b"wide")
zipfile.ZipFile(target / "none.zip", "w").close()
