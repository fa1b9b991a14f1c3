"""The files that git tracks, read once; tests/rules checks them."""

import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def tracked(*suffixes):
    """Paths (relative, as text) of tracked files that exist, optionally only those with one of the suffixes."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True).stdout.decode()
    paths = [path for path in sorted(listed.split("\0")) if path and (ROOT / path).is_file()]
    return tuple(path for path in paths if not suffixes or path.endswith(suffixes))


@functools.cache
def text_of(path):
    """The text of a tracked file; None for one that is not text."""
    data = (ROOT / path).read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
