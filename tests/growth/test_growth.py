"""Twice the nodes cost at most 2.3 times the instructions, counted by callgrind: no part of a command grows
with the square of the model. The fixed cost of a command cancels out: the test compares the differences between three sizes.

A few shapes and commands by default; GROWTH=all runs all of them (`make test-growth`).
"""
import os
import pathlib
import re
import subprocess

import pytest
from support import shapes

PROGRAM = pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")) / "bin/anybit"
SMALLEST = 1100  # the memory planner tries several orders for up to 1000 values
MOST = 2.3
QUICK = [("identity_chain", "prepare"), ("many_outputs", "prepare"), ("relu_fan", "codegen"), ("concat_chain", "inspect"),
         ("concat_chain", "run"), ("concat_chain", "compare"), ("if_fan", "calibrate")]
ALL = [(shape.__name__, command) for shape in shapes.SHAPES for command in shapes.COMMANDS]


def instructions(command):
    """Instructions of one run. Exit code 2 (the recipe matches nothing in the model) is accepted."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, *command.split()],
                          capture_output=True, text=True)
    assert done.returncode in (0, 2), done.stderr[-2000:]
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


@pytest.mark.parametrize("shape, command", ALL if os.environ.get("GROWTH") == "all" else QUICK)
def test_twice_the_nodes_cost_twice_as_much(shape, command, tmp_path):
    make = getattr(shapes, shape)
    costs = []
    for n in (SMALLEST, 2 * SMALLEST, 4 * SMALLEST):
        folder = shapes.write(make, n, tmp_path)
        costs.append(instructions(shapes.COMMANDS[command].format(m=folder / "m.onnx", o=folder / "o", c=folder / "samples")))
    first, second = costs[1] - costs[0], costs[2] - costs[1]
    assert second <= MOST * first + 1_000_000, f"{costs}: {second / first:.2f} times"
