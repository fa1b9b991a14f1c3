"""Runs any command once per call that changes files, with that call failing or killing the process."""

import errno
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

MOST_CALLS = 100_000
KILL = 0
ERRORS = {"full disk": errno.ENOSPC, "failing disk": errno.EIO, "kill": KILL}


@dataclass
class Run:
    """The result of one run; `at` is the index of the failing call (from 1) and `call` its name."""
    at: int
    call: str
    killed: bool
    status: int
    stderr: str

    def __str__(self):
        return f"{'killed at' if self.killed else 'failing'} call {self.at} ({self.call}): status {self.status} {self.stderr}"


def run_with_shim(command, shim: Path, under: Path, **settings):
    """Runs the command with the shim and the variables FAILING_IO_<SETTING>."""
    assert shim.is_file(), f"no {shim}: build it first"
    variables = {f"FAILING_IO_{name.upper()}": str(value) for name, value in settings.items()}
    preload = f"{os.environ.get('LD_PRELOAD', '')} {shim}".strip()
    environment = os.environ | variables | {"LD_PRELOAD": preload, "FAILING_IO_UNDER": str(under.resolve())}
    return subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, timeout=120)


def run_with_fault(command, shim: Path, under: Path, at: int, error: int, log: Path) -> Run:
    """Call number `at` that changes a file below `under` fails with `error`, or kills if that is KILL."""
    log.write_text("")
    done = run_with_shim(command, shim, under, at=at, error=error, log=log)
    calls = log.read_text().splitlines()
    call = calls[at - 1].split()[1] if len(calls) >= at else ""
    return Run(at, call, error == KILL, done.returncode, done.stderr)


def every_fault(command, shim: Path, under: Path, error: int, log: Path, prepare):
    """Yields a Run for the first call, the second, …, until the command makes no more calls and so succeeds. `prepare`
    brings the files below `under` back to where they were and is called before each run; `log` is a file elsewhere."""
    for at in range(1, MOST_CALLS):
        prepare()
        run = run_with_fault(command, shim, under, at, error, log)
        if not run.call:
            assert run.status == 0, f"fails without a fault: {run}"
            return
        yield run
    raise AssertionError(f"{command} makes more than {MOST_CALLS} calls")
