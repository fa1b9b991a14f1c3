"""What memory held before decides nothing: every command writes the same files when malloc fills it with one byte or another, and
valgrind finds no use of what nobody wrote. `make test` has valgrind look at one command, `make check-all` at all of them."""

import os

import pytest
from support.commands import COMMANDS, TIMED, Folder

ALL = bool(os.environ.get("ANYBIT_ALL_FAULTS"))
BYTES = ("85", "170")  # complementary bit patterns


@pytest.fixture(scope="module", params=[False, True], ids=["sums", "convolutions"])
def folders(request, tool, tmp_path_factory):
    return lambda name: Folder(tmp_path_factory.mktemp(name) / "files", tool("anybit"), name, request.param)


@pytest.mark.parametrize("name", COMMANDS)
def test_uninitialized_memory_changes_no_file(folders, name):
    folder = folders(name)
    for byte in BYTES:
        folder.reset()
        done = folder.run(MALLOC_PERTURB_=byte)
        assert done.returncode == 0, done.stderr
        for output in set(folder.outputs) - TIMED:
            assert (folder.path / output).read_bytes() == folder.new[output], f"{output} depends on memory filled with {byte}"


@pytest.mark.parametrize("name", COMMANDS if ALL else ["quantize"])
def test_valgrind_finds_nothing(folders, name):
    folder = folders(name)
    folder.reset()
    done = folder.run("valgrind", "--quiet", "--error-exitcode=99")
    assert done.returncode == 0, done.stderr[:6000]
    for output in set(folder.outputs) - TIMED:
        assert (folder.path / output).stat().st_size > 0
