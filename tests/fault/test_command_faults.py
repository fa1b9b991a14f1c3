"""Every command of the program, while any call that changes files fails or kills, and while memory ends at any allocation:
the program says so, and each file is the old one or the new one. `make test` tries some of them, `make check-all` all."""

import os
import random
import signal
import subprocess

import pytest
from support.commands import COMMANDS, OLD, Folder
from support.faults import ERRORS, KILL, run_with_fault, run_with_shim

ALL = bool(os.environ.get("ANYBIT_ALL_FAULTS"))
SEED = int(os.environ.get("ANYBIT_SEED", "1"))


def some(numbers, count):
    """All of them, or a random sample; messages of failures contain the seed."""
    numbers = list(numbers)
    return numbers if ALL or len(numbers) <= count else sorted(random.Random(SEED).sample(numbers, count))


@pytest.fixture(scope="module")
def in_folder(tool, tmp_path_factory):
    made = {}

    def get(name, convolutions=False):
        if (name, convolutions) not in made:
            path = tmp_path_factory.mktemp(name) / "files"
            made[name, convolutions] = Folder(path, tool("anybit"), name, convolutions)
        return made[name, convolutions]
    return get


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
@pytest.mark.parametrize("name", [name for name, (_, outputs) in COMMANDS.items() if outputs])
def test_a_failing_call_leaves_old_files_or_new_ones(in_folder, build, tmp_path, monkeypatch, name, error):
    folder = in_folder(name)
    monkeypatch.chdir(folder.path)
    shim, log = build / "lib" / "libfailing_io.so", tmp_path / "log"
    folder.reset()
    assert run_with_shim(folder.words, shim, folder.path, log=log).returncode == 0
    calls = len(log.read_text().splitlines())
    assert calls >= 6
    for at in some(range(1, calls + 1), 8):
        folder.reset()
        run = run_with_fault(folder.words, shim, folder.path, at, error, log)
        if error == KILL:
            assert run.status == -signal.SIGKILL, run
            folder.check_files(False, run, temporary=True)
        else:
            folder.check(run.status, run.stderr, f"{run}, seed {SEED}", temporary=run.call == "unlink")
    # Leftovers of a killed process are removed by the next run.
    assert folder.run().returncode == 0
    folder.check_files(True, "the last", temporary=False)


def memory_run(folder, build, log, **settings):
    shim = build / "lib" / "libfailing_memory.so"
    assert shim.is_file(), f"no {shim}: build it first"
    variables = {f"FAILING_MEMORY_{key.upper()}": str(value) for key, value in settings.items()}
    return folder.run(LD_PRELOAD=f"{os.environ.get('LD_PRELOAD', '')} {shim}".strip(), FAILING_MEMORY_LOG=str(log), **variables)


def check_memory(folder, done, about, lasts=True):
    """Removing a folder allocates, too: if memory never returns, the folder is left to the next run."""
    loading = done.returncode == 127 and "loading shared libraries" in done.stderr
    if loading:  # before anybit's own code
        done.returncode, done.stderr = 1, "anybit: not even loaded"
    folder.check(done.returncode, done.stderr, f"{about}, seed {SEED}: {done.returncode} {done.stderr}", temporary=lasts)


@pytest.mark.parametrize("lasts", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("name", COMMANDS)
def test_running_out_of_memory_at_any_allocation_is_an_error(in_folder, build, tmp_path, name, lasts):
    """One allocation per call stack: a function handles its hundredth failing allocation like the first."""
    folder = in_folder(name)
    folder.reset()
    assert memory_run(folder, build, tmp_path / "log", stacks=tmp_path / "stacks").returncode == 0
    allocations = [int(number) for number in (tmp_path / "stacks").read_text().split()]
    assert len(allocations) > 200
    for at in some(allocations[::3] if lasts else allocations, 10):  # if all later ones fail, it matters less where the failures begin
        folder.reset()
        check_memory(folder, memory_run(folder, build, tmp_path / "log", at=at, lasts=int(lasts)), f"{name}, allocation {at}",
                     lasts)


@pytest.mark.parametrize("name", ["run", "calibrate", "quantize"])
def test_running_out_of_memory_while_convolutions_are_prepared_is_an_error(in_folder, build, tmp_path, name):
    """Here a limit on live bytes makes allocations fail."""
    folder = in_folder(name, convolutions=True)
    folder.reset()
    assert memory_run(folder, build, tmp_path / "log").returncode == 0
    peak = int((tmp_path / "log").read_text().split()[1])
    for limit in some(range(20_000, peak + 100_000, 7_919), 24):
        folder.reset()
        check_memory(folder, memory_run(folder, build, tmp_path / "log", limit=limit), f"{name}, {limit} bytes")


@pytest.mark.parametrize("name", [name for name, (_, outputs) in COMMANDS.items() if outputs])
def test_files_that_grow_beyond_what_the_system_allows_are_errors(in_folder, name):
    folder = in_folder(name)
    folder.reset()
    words = ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", *folder.words]
    done = subprocess.run(words, cwd=folder.path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "File too large" in done.stderr, done
    folder.check(done.returncode, done.stderr, done)
    assert all((folder.path / output).read_bytes() == OLD for output in folder.outputs)


@pytest.mark.parametrize("name, output", [("quantize", "report.html"), ("run", "t.json")])
def test_reports_and_traces_keep_permissions_and_links(in_folder, tmp_path, name, output):
    """They are saved like models: via an unguessable temporary name, with the permissions of the old file."""
    folder = in_folder(name)
    folder.reset()
    (folder.path / output).chmod(0o600)
    assert folder.run().returncode == 0
    assert (folder.path / output).stat().st_mode & 0o777 == 0o600
    folder.reset()
    target = tmp_path / "elsewhere"
    target.write_bytes(OLD)
    (folder.path / output).unlink()
    (folder.path / output).symlink_to(target)
    assert folder.run().returncode == 0
    assert (folder.path / output).is_symlink() and target.read_bytes() != OLD
    (folder.path / output).unlink()
