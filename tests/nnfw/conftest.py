import ctypes
import shutil
from pathlib import Path

import pytest
from support.devices import DIGITS
from support.nnfw import Session


@pytest.fixture
def model(tmp_path):
    """The digits model in a folder of its own."""
    (tmp_path / "m").mkdir()
    return Path(shutil.copy(DIGITS / "digits.onnx", tmp_path / "m" / "digits.onnx"))


@pytest.fixture
def create(build):
    """create(): a new session of onert's API."""
    library, sessions = ctypes.CDLL(str(build / "lib" / "libnnfw-anybit.so")), []

    def make():
        sessions.append(Session(library))
        return sessions[-1]
    yield make
    for one in sessions:
        assert one.close_session() == 0
