"""Seeds for fuzz_ranges: ranges files in the format of docs/calibration.md. Run: ranges_seeds.py FOLDER."""

import json
import sys
from pathlib import Path

target = Path(sys.argv[1])


def average(momentum, low, high, samples):
    return {"momentum": momentum, "samples": samples, "min": {"value": low, "first": low}, "max": {"value": high, "first": high}}


TENSORS = {
    "plain": {"samples": 2, "count": 10, "zeros": 3, "min": -1.5, "max": 2.0, "moving_average": average(0.01, -1.5, 2.0, 2)},
    # 3f80 is the key of 1.0 to 1.0078, 4000 of 2.0, bf80 of -1.0.
    "bins": {"samples": 2, "count": 12, "zeros": 2, "min": -1.0, "max": 2.0, "moving_average": average(0.5, -1.0, 2.0, 1),
             "bins": {"3f80": "3 0 4", "4000": "2", "bf80": "1"}},
    "bad": {"samples": 1, "count": 5, "zeros": 1, "min": 1.0, "max": 1.0, "moving_average": average(0, 1.0, 1.0, 1), "nans": 1,
            "infinities": 1, "bad_sample": {"number": 0, "text": "sample 0"}, "bins": {"3f80": "2"}},
    "zeros": {"samples": 1, "count": 4, "zeros": 4, "min": 0.0, "max": 0.0, "moving_average": average(0.01, 0.0, 0.0, 1), "bins": {}},
    "unseen": {"samples": 0, "count": 0, "zeros": 0},
    "wide \"name\"/ü": {"samples": 1, "count": 2, "zeros": 0, "min": -3.4028234663852886e38, "max": 3.4028234663852886e38,
                        "moving_average": average(1, -3.4e38, 3.4e38, 1), "bins": {"7f7f": "1", "ff7f": "1"}},
}
for name, tensors in {**{one.split()[0]: {one: TENSORS[one]} for one in TENSORS}, "all": TENSORS, "none": {}}.items():
    text = {"format": "anybit ranges", "version": 1, "model": "a" * 64, "samples": 2, "tensors": tensors}
    (target / f"{name}.json").write_text(json.dumps(text))
