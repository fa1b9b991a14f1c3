"""Twice the nodes cost at most 2.3 times the instructions, counted by callgrind: no command has a part that grows with the
square of a model. What a command costs for any model cancels out: differences between three sizes are compared.

A few shapes and commands by default; GROWTH=all goes over all of them (`make test-growth`).
"""
import os
import pathlib
import re
import subprocess

import pytest
from support import shapes

PROGRAM = pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")) / "bin/anybit"
SMALLEST = 1100  # plans of memory try several orders for up to 1000 values
MOST = 2.3
QUICK = [("identity_chain", "prepare"), ("many_outputs", "prepare"), ("relu_fan", "codegen"), ("concat_chain", "inspect")]
ALL = [(shape.__name__, command) for shape in shapes.SHAPES for command in shapes.COMMANDS]


def instructions(command):
    """Of one run. A model in which a recipe finds nothing ends with 2, and is looked at all the same."""
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
