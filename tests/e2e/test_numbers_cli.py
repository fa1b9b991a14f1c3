"""Numeric options: parsed exactly, or rejected; never clamped or truncated."""

import re
from pathlib import Path

import numpy as np
import pytest

MODEL = Path(__file__).resolve().parents[2] / "examples/digits/digits.onnx"
HUGE = "1" + "0" * 300


def numeric_options(anybit):
    """(command, option, is it an integer) for every numeric option, from the help text."""
    commands = re.findall(r"^  (\S+) ", anybit("--help").stdout.split("Subcommands:")[1], re.M)
    for command in commands:
        for name, kind in re.findall(r"^  (--[a-z-]+)(?:,\S+)? (INT|UINT|FLOAT|N)\b", anybit("help", command).stdout, re.M):
            yield command, name, kind != "FLOAT"


def test_no_option_clamps_a_number(anybit):
    seen = list(numeric_options(anybit))
    assert {("convert", "--block-size", True), ("run", "--seed", True), ("calibrate", "--samples", True),
            ("calibrate", "--percentile", False)} <= set(seen) and len(seen) > 50
    tried = set()
    for command, name, whole in seen:
        # Commands share most options: each gets a value that is too large, and one per name gets the other values.
        more = [] if name in tried else ["-" + HUGE, "nan", "ten", *(["1.5", "0x10", "1e3"] if whole else [])]
        tried.add(name)
        for text in [HUGE, *more]:
            said = anybit(command, f"{name}={text}", "m.onnx", code=2).stderr
            assert name in said and ("integer" if whole else "a number") in said, (command, name, text, said)
            assert len(said) < 250, said


@pytest.mark.parametrize("words, said", [
    (["run", "m.onnx", "--seed=-1"], "an integer from 0 to 18446744073709551615"),
    (["run", "m.onnx", "--seed=18446744073709551616"], "from 0 to 18446744073709551615"),
    (["run", "m.onnx", "--threads=1025"], "from 0 to 1024"),
    (["inspect", "m.onnx", "--max-rank=-1"], "from 0 to 9223372036854775807"),
    (["calibrate", "m.onnx", "--samples=0"], "from 1 to 9223372036854775807"),
])
def test_bounds_are_reported_exactly(anybit, words, said):
    assert said in anybit(*words, code=2).stderr


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "MB", "5XB", "5MiBB", "9999999999GB", "99999999999999999999"])
def test_invalid_sizes_are_rejected(anybit, text):
    assert "a size like 500MB or 2GB" in anybit("run", "m.onnx", f"--max-memory={text}", code=2).stderr


@pytest.mark.parametrize("text, limit", [("8", 8), ("010", 10), ("0.5k", 512), ("1 KiB", 1024), ("1kb", 1024)])
def test_sizes_are_read_with_their_unit(anybit, text, limit):
    assert f"memory limit of {limit} bytes" in anybit("run", MODEL, f"--max-memory={text}", code=1).stderr


def test_leading_zeros_are_ignored(anybit, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((4, 40), np.float32))
    said = anybit("convert", tmp_path / "x.npy", "-f", "mxint8", "--block-size", "010", "-o", tmp_path / "y").stdout
    assert "groups of [1, 10]" in said
