"""Twice the nodes cost at most 2.3 times the instructions, counted by callgrind: no part of a command grows
with the square of the model. The fixed cost of a command cancels out: the test compares the differences between three sizes.

A few shapes and commands by default; GROWTH=all runs all of them (`make test-growth`). There, a command whose CPU time grows
linearly up to 8 times the size is not counted by callgrind, which would take hours: a square would show there first.
"""
import os
import pathlib
import re
import subprocess

import pytest
from support import shapes

PROGRAM = pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")) / "bin/anybit"
SMALLEST = 1100  # the memory planner tries several orders for up to 1000 values
TIMED = 2200  # times of smaller models are mostly noise
MOST = 2.3
CLEARLY_LINEAR = 2.15  # time is noisy, and larger models miss the caches
QUICK = [("identity_chain", "prepare"), ("many_outputs", "prepare"), ("relu_fan", "codegen"), ("concat_chain", "inspect"),
         ("concat_chain", "run"), ("concat_chain", "compare"), ("if_fan", "calibrate"), ("convs_used_twice", "w4")]
ALL = [(shape.__name__, command) for shape in shapes.SHAPES for command in shapes.COMMANDS]


def instructions(command):
    """Instructions of one run. Exit code 2 (the recipe matches nothing in the model) is accepted."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, *command.split()],
                          capture_output=True, text=True)
    assert done.returncode in (0, 2), done.stderr[-2000:]
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def cpu_seconds(command):
    """CPU time of the fastest of three runs."""
    times = []
    for _ in range(3):
        process = subprocess.Popen([PROGRAM, *command.split()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        assert process.returncode in (0, 2), said[-2000:]
        times.append(used.ru_utime + used.ru_stime)
    return min(times)


def costs(cost, shape, command, smallest, folder):
    """What the second and the third doubling of the nodes add."""
    found = []
    for n in (smallest, 2 * smallest, 4 * smallest):
        model = shapes.write(getattr(shapes, shape), n, folder / cost.__name__)
        found.append(cost(shapes.COMMANDS[command].format(m=model / "m.onnx", o=model / "o", c=model / "samples")))
    return found[1] - found[0], found[2] - found[1]


def clearly_linear(shape, command, folder):
    first, second = costs(cpu_seconds, shape, command, TIMED, folder)
    return second <= CLEARLY_LINEAR * first


@pytest.mark.parametrize("shape, command", ALL if os.environ.get("GROWTH") == "all" else QUICK)
def test_twice_the_nodes_cost_twice_as_much(shape, command, tmp_path):
    if (shape, command) not in QUICK and clearly_linear(shape, command, tmp_path):
        return
    first, second = costs(instructions, shape, command, SMALLEST, tmp_path)
    assert second <= MOST * first + 1_000_000, f"{first} instructions, then {second}: {second / first:.2f} times"
