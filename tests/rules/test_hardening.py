"""What is fetched is known by its hash."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_python_package_is_known_by_its_hash():
    text = (ROOT / "scripts" / "requirements.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) > 20
    for line in lines:
        assert re.fullmatch(r"[\w.-]+==[\w.]+(\s+--hash=sha256:[0-9a-f]{64})+", line), f"{line[:40]}: run scripts/lock_requirements"
    assert "--require-hashes" in (ROOT / "scripts" / "setup").read_text()
