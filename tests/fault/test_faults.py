"""A save that fails at any call leaves the old file whole and nothing beside it; one that is killed there leaves the
old file or the new one, whole."""

import errno

import pytest
from support.faults import ERRORS, KILL, every_fault, run_with_shim

SIZE = 32768
OLD, NEW = b"o" * 1000, b"n" * 30000 + bytes(SIZE - 30000)
# At the end of a save the folder is flushed; if that fails, the error says that the new file is in place.
IN_PLACE = "new file is in place"


@pytest.fixture
def shim(build):
    return build / "lib" / "libfailing_io.so"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def reset(folder, old):
    for file in folder.iterdir():
        file.unlink()
    if old is not None:
        (folder / "f").write_bytes(old)
        (folder / "f").chmod(0o666)  # differs from a new file's mode, so permissions have to be set


def content(folder):
    return (folder / "f").read_bytes() if (folder / "f").exists() else None


@pytest.mark.parametrize("old", [OLD, None], ids=["replacing", "creating"])
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
def test_a_save_that_fails_at_any_call_leaves_the_old_file(tool, shim, folder, tmp_path, error, old):
    command = [tool("save_tool"), folder / "f", "n"]
    calls, unharmed = [], []
    for run in every_fault(command, shim, folder, error, tmp_path / "log", lambda: reset(folder, old)):
        calls.append(run.call)
        names = {file.name for file in folder.iterdir()} - {"f"}
        if error == KILL:
            assert run.status < 0, run
            assert content(folder) in (old, NEW), run
            assert len(names) <= 1, run
            continue
        assert names == set(), run
        if run.status == 0:
            unharmed.append(run.at)
            assert content(folder) == NEW, run
        else:
            assert run.stderr.startswith(("cannot write", "the new file is in place")), run
            assert content(folder) == (NEW if IN_PLACE in run.stderr else old), run
    # The last calls have no effect: they close the descriptor that held the lock, and the folder, which was
    # only read.
    assert unharmed == ([] if error == KILL else [len(calls) - 1, len(calls)])
    assert content(folder) == NEW
    assert [file.name for file in folder.iterdir()] == ["f"]
    written = ["write"] * 4
    permissions = ["fchmod"] if old is not None else []
    assert calls == ["open", *permissions, *written, "fsync", "close", "rename", "fsync", "close", "close"]


def test_interrupted_calls_are_repeated(tool, shim, folder, tmp_path):
    command = [tool("save_tool"), folder / "f", "n"]
    for run in every_fault(command, shim, folder, errno.EINTR, tmp_path / "log", lambda: reset(folder, OLD)):
        if run.call not in ("fchmod", "rename"):  # these are never interrupted
            assert (run.status, content(folder)) == (0, NEW), run


def test_partial_writes_are_continued(tool, shim, folder):
    reset(folder, OLD)
    done = run_with_shim([tool("save_tool"), folder / "f", "n"], shim, folder, short=1)
    assert (done.returncode, content(folder)) == (0, NEW), done.stderr
