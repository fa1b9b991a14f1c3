"""The demo: an int8 model that is smaller, about as accurate, and runs."""
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_shows_accuracy_size_and_time_before_and_after(tool):
    build = Path(tool("anybit")).resolve().parents[1]
    done = subprocess.run([ROOT / "scripts" / "demo"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "ANYBIT_BUILD": str(build)})
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {kind: re.search(rf"^ +{kind} +([\d.]+) % +([\d.]+) KB +([\d.]+) ms$", done.stdout, re.M)
            for kind in ("float32", "int8")}
    (accuracy, size, _), (int8_accuracy, int8_size, _) = ([float(cell) for cell in rows[kind].groups()] for kind in rows)
    assert accuracy == 99.5 and int8_accuracy >= accuracy - 0.3
    assert int8_size < size / 2
    assert "The highest score is that of digit 7." in done.stdout
