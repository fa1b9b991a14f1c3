"""The command line: ``anybit …`` and ``python -m anybit …`` run the program that is inside the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "bin" / "anybit"
    if not program.exists():
        sys.exit(f"anybit: no program at {program}\n  hint: install the package (pip install .)")
    os.execv(program, ["anybit", *sys.argv[1:]])


if __name__ == "__main__":
    main()
