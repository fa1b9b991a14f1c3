"""Progress: a bar on a terminal, HTML in a notebook's kernel, lines on request."""

import os
import pty
import subprocess
import sys

import pytest
from anybit.progress import line, shown
from support.packaged import ROOT

PROGRAM = """
import time, numpy as np, anybit
def slow():
    for _ in range(6):
        time.sleep(0.06)
        yield np.zeros((1, 1, 28, 28), np.float32)
class Samples:
    def __iter__(self): return slow()
    def __len__(self): return 6
anybit.calibrate(%r, Samples(), progress=%s)
"""


@pytest.mark.parametrize("progress, drawn", [("None", True), ("True", True), ("False", False)])
def test_a_terminal_shows_a_bar_that_ends_full(digits, build, progress, drawn):
    ours, theirs = pty.openpty()
    program = subprocess.Popen([sys.executable, "-c", PROGRAM % (digits, progress)], stderr=theirs,
                               env={**os.environ, "PYTHONPATH": str(ROOT / build / "python")})
    assert program.wait(60) == 0
    os.set_blocking(ours, False)
    try:
        said = os.read(ours, 1 << 16).decode()
    except BlockingIOError:
        said = ""
    os.close(theirs)
    os.close(ours)
    if drawn:
        assert "\r" in said and "100%|########################| 6/6" in said.splitlines()[-1]
    else:
        assert said == ""


def test_a_line_without_a_total_shows_count_and_rate():
    assert line("calibrating", "samples", 50, None, 2.0) == "calibrating: 50 samples [00:02, 25.0 samples/s]"
    assert line("calibrating", "samples", 1, 7201, 1.0).endswith("1/7201 [00:01<2:00:00, 1.0 samples/s]")


def test_lines_are_printed_to_a_file_only_on_request(capsys):
    for progress, said in ((True, "done"), (None, "")):
        with shown(progress, "calibrating", 10) as bar:
            bar.shown -= 60
            bar(10)
        assert ("10/10" in capsys.readouterr().err) == bool(said)
