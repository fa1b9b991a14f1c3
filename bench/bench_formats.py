"""Speed of the formats compared with memcpy of the same bytes and with ml_dtypes' astype, in one run, in turns.

Prints a table of GB/s of float32, and of the share of memcpy measured next to it in the same process; writes it into
docs/formats.md with --write.
"""

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

import ml_dtypes
import numpy as np

import document

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("ANYBIT_BUILD", ROOT / "build/release")) / "bin/bench_formats"

# ml_dtypes has these element types, but no block formats.
PEERS = {
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "fp8_e4m3": ml_dtypes.float8_e4m3fn,
    "fp8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "fp8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "fp8_e8m0": ml_dtypes.float8_e8m0fnu,
    "fp6_e3m2": ml_dtypes.float6_e3m2fn,
    "fp6_e2m3": ml_dtypes.float6_e2m3fn,
    "fp4_e2m1": ml_dtypes.float4_e2m1fn,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
}
JOBS = ("quantize", "pack", "unpack")
ROUNDS = 5
# Their goal is 40 % of memcpy; that of all others is 20 %.
FAST = ("int8", "uint8", "fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "fp6_", "fp4_", "mxfp", "mxint8")


def names(every):
    lines = subprocess.run([PROGRAM, "--benchmark_list_tests"], capture_output=True, text=True, check=True).stdout
    all_names = sorted({line.split("/")[0] for line in lines.splitlines() if "/" in line} - {"memcpy"})
    odd = {f"{kind}{bits}" for kind in ("int", "uint") for bits in range(2, 17) if bits not in (2, 3, 4, 8, 12, 16)}
    return [name for name in all_names if every or name not in odd]


def measure(name, seconds):
    """Rates in bytes/s of float32: ('memcpy',) and (job, threads)."""
    command = [
        PROGRAM,
        f"--benchmark_filter=^(memcpy|{name}/.*)",
        f"--benchmark_min_time={seconds}",
        "--benchmark_enable_random_interleaving=true",  # other load on the machine then affects all of them
        "--benchmark_format=json",
    ]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rates = {}
    for row in json.loads(out)["benchmarks"]:
        parts = row["name"].split("/")
        rates[("memcpy",) if parts[0] == "memcpy" else (parts[1], int(parts[2]))] = row["bytes_per_second"]
    return rates


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure_peer(dtype, values):
    """Conversion of float32 to the peer's type and back, in bytes/s of float32."""
    encoded = values.astype(dtype)
    return {
        "pack": values.nbytes / timed(lambda: values.astype(dtype)),
        "unpack": values.nbytes / timed(lambda: encoded.astype(np.float32)),
    }


def best(rounds):
    return {key: max(one[key] for one in rounds) for key in rounds[0]}


def measure_both(name, seconds, values):
    """The best rates of the format and of its peer, measured in turns."""
    dtype = PEERS.get(name)
    if dtype is not None:
        values = values * np.float32(ml_dtypes.finfo(dtype).max)  # as the program does for formats without a scale
    ours, peers = [], []
    for _ in range(ROUNDS):
        ours.append(measure(name, seconds))
        if dtype is not None:
            peers.append(measure_peer(dtype, values))
    return best(ours), best(peers) if peers else None


def table(rows):
    lines = [
        "| format | quantize | pack | unpack | % of memcpy | 2 threads | × ml_dtypes pack, unpack |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, rates, peer in rows:
        one = [rates[(job, 1)] for job in JOBS]
        two = " ".join(f"{rates[(job, 2)] / 1e9:.1f}" for job in JOBS)
        share = " ".join(f"{100 * rate / rates[('memcpy',)]:.0f}" for rate in one)
        ratio = ", ".join(f"{rates[(job, 1)] / peer[job]:.0f}" for job in ("pack", "unpack")) if peer else "–"
        lines.append(f"| {name} | " + " | ".join(f"{rate / 1e9:.2f}" for rate in one) + f" | {share} | {two} | {ratio} |")
    return "\n".join(lines)


def misses(rows):
    for name, rates, peer in rows:
        fast = name.startswith(FAST) and not name.startswith(("int1", "uint1"))
        goal = 0.4 if fast else 0.2
        for job in peer if peer and fast else ():
            if rates[(job, 1)] < 10 * peer[job]:
                yield f"{name}/{job}: {rates[(job, 1)] / peer[job]:.1f} x ml_dtypes, goal 10"
        for job in JOBS:
            share = rates[(job, 1)] / rates[("memcpy",)]
            if share < goal:
                yield f"{name}/{job}: {100 * share:.0f} % of memcpy, goal {100 * goal:.0f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every width of the integers")
    parser.add_argument("--only", help="names that contain this")
    parser.add_argument("--seconds", type=float, default=0.05, help="for each measurement")
    parser.add_argument("--write", action="store_true", help="put the table into docs/formats.md")
    arguments = parser.parse_args()
    values = np.random.default_rng(1).normal(0, 0.2, 1 << 24).clip(-1, 1).astype(np.float32)
    rows = []
    for name in names(arguments.all):
        if arguments.only and arguments.only not in name:
            continue
        rows.append((name, *measure_both(name, arguments.seconds, values)))
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    memcpy = max(rates[("memcpy",)] for _, rates, _ in rows)
    text = (
        f"64 MB of float32, GB/s of float32, best of {ROUNDS}; one thread unless said. memcpy: up to {memcpy / 1e9:.1f} GB/s; "
        "each share is of the memcpy measured in the same process.\n\n" + table(rows)
    )
    print("\n" + text + "\n")
    reached = "all goals reached: 40 % of memcpy and 10 x ml_dtypes for 8-bit integers, fp8, fp6, fp4 and MX, 20 % for the rest"
    print("\n".join(misses(rows)) or reached)
    if arguments.write:
        document.put(ROOT / "docs/formats.md", "speed", [text])


if __name__ == "__main__":
    main()
