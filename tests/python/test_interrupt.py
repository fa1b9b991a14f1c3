"""Ctrl-C ends a long calibration at once, wherever the samples come from, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support.packaged import ROOT

PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes of a shell ignore it
import sys
import numpy as np
import anybit

def forever():
    image = np.zeros((1, 1, 28, 28), np.float32)
    while True:
        yield image

def told(done, total):
    if done >= told.enough and not told.once:
        told.once = True
        print("under way", flush=True)
told.once, told.enough = False, 20

source = forever() if sys.argv[1] == "iterator" else sys.argv[1]
try:
    if sys.argv[2] == "quantize":
        anybit.quantize({digits!r}, "int8", source, progress=told).save("q.onnx")
    elif sys.argv[2] == "calibrate":
        anybit.calibrate({digits!r}, source, progress=told).save("ranges.json")
    elif sys.argv[2] == "sensitivity":
        told.enough = 1  # layer
        anybit.sensitivity({digits!r}, "w4", source, measure=2000, samples=2000, progress=told)
    else:
        anybit.compare({digits!r}, {digits!r}, source, progress=told)
except KeyboardInterrupt:
    print("stopped", anybit.calibrate({digits!r}, np.zeros((2, 1, 28, 28))).samples, flush=True)
"""


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """A practically endless number of samples, in a sparse file."""
    path = tmp_path_factory.mktemp("endless") / "zeros.npy"
    np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(1_000_000, 1, 28, 28)).flush()
    return path


@pytest.mark.parametrize("source", ["iterator", "file"])
@pytest.mark.parametrize("job", ["quantize", "calibrate", "compare", "sensitivity"])
def test_ctrl_c_stops_the_work(source, job, endless, digits, build, tmp_path):
    given = "iterator" if source == "iterator" else str(endless)
    program = subprocess.Popen([sys.executable, "-c", PROGRAM.replace("{digits!r}", repr(digits)), given, job],
                               cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(ROOT / build / "python")})
    try:
        assert program.stdout.readline() == "under way\n"
        begin = time.monotonic()
        program.send_signal(signal.SIGINT)
        said, _ = program.communicate(timeout=60)
    finally:
        program.kill()
    assert said == "stopped 2\n" and program.returncode == 0
    assert time.monotonic() - begin < 20  # a tenth of a second on an idle machine
    assert list(tmp_path.iterdir()) == []
