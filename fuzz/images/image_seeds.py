"""Seeds for fuzz_image: small images of every format. Run: image_seeds.py FOLDER."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "images"))
import made_images

target = Path(sys.argv[1])
made_images.HEIGHT, made_images.WIDTH = 11, 13  # libFuzzer finds more with small inputs
for name, data in {**made_images.every_image(), "scans.jpg": made_images.scans_of_jpeg([1, 2, 3])}.items():
    (target / name).write_bytes(data)
