"""The formats with profile=mase against MASE's own quantizers: how many values differ.

    python bench/bench_mase.py CHECKOUT [--python /usr/bin/python3] [--count 100000] [--seed N]

CHECKOUT is a copy of MASE's repository. Its quantizers run in another Python, which needs torch and numpy. Inputs are powers of two
and midpoints between values, each with its neighbours, subnormal and huge numbers, zeros of both signs and numbers of all sizes.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
from support.mase_cases import cases
from support.portable_functions import quantize

def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("checkout")
    options.add_argument("--python", default="/usr/bin/python3", help="a Python with torch and numpy")
    options.add_argument("--count", type=int, default=100_000, help="values of each case")
    options.add_argument("--seed", type=int, default=int(np.random.SeedSequence().entropy % 2**32))
    given = options.parse_args()
    print(f"seed {given.seed}")
    with np.errstate(all="ignore"):
        all_cases = list(cases(np.random.default_rng(given.seed), given.count))
    names = [json.dumps([i, name, arguments]) for i, (_, name, arguments, _) in enumerate(all_cases)]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        np.savez(folder / "cases.npz", **{name: x for name, (*_, x) in zip(names, all_cases)})
        script = ROOT / "tests" / "support" / "mase_quantizers.py"
        subprocess.run([given.python, script, given.checkout, folder / "cases.npz", folder / "results.npz"], check=True)
        results = dict(np.load(folder / "results.npz"))
    print(f"{'values':>8} {'differ':>7} {'sign of 0':>9} {'not finite':>10}  format")
    wrong = 0
    for name, (use, _, _, x) in zip(names, all_cases):
        theirs, ours = results[name], quantize(use, x)
        finite = np.isfinite(theirs)
        differ = finite & (theirs != ours)
        zero = finite & (theirs == ours) & (np.signbit(theirs) != np.signbit(ours))
        wrong += differ.sum()
        print(f"{x.size:>8} {differ.sum():>7} {zero.sum():>9} {(~finite).sum():>10}  {use}")
        for at in zip(*[axis[:3] for axis in np.nonzero(differ)]):
            print(f"{'':>38}  {x[at]!r} ({float(x[at]).hex()}): MASE {theirs[at]!r}, anybit {ours[at]!r}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
