"""Generated C on a microcontroller."""
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_digits_net_is_bit_identical_on_a_cortex_m(tool, tmp_path):
    tool("anybit")
    done = subprocess.run([ROOT / "scripts/demo_mcu", tmp_path / "work"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bit-identical" in done.stdout
    flash, memory = map(int, re.search(r"flash (\d+) bytes, RAM (\d+) bytes", done.stdout).groups())
    assert flash < 48 << 10 and memory < 24 << 10, "the memory of a small microcontroller"
