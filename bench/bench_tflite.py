"""Time of one run of TFLite files of packages: anybit beside LiteRT with XNNPACK, from Python in both.

    python bench/bench_tflite.py [--only wake] [--threads 1 2] [--rounds 15] [--clock wall]

A round runs each of the two for at least 20 ms, in turn; the ratio is that of the medians. `--clock processor` counts the time of the
process, for a machine that has other work.
"""
import argparse
import math
import statistics
import time

import numpy as np
from support.tflite_runtimes import FILES, Anybit, LiteRT, random_inputs

SHORTEST = 0.02


CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def once(run, inputs, count, clock=time.perf_counter):
    begin = clock()
    for _ in range(count):
        run(inputs)
    return (clock() - begin) / count


def times(path, threads, rounds, clock):
    """Seconds of one run: LiteRT's and anybit's."""
    litert, ours = LiteRT(path, "own", threads), Anybit(path, threads)
    inputs = list(random_inputs(litert.ports, np.random.default_rng(1)))
    counts = [max(1, math.ceil(SHORTEST / max(once(one.run, inputs, 2), 1e-7))) for one in (litert, ours)]
    taken = [[once(one.run, inputs, count, clock) for one, count in zip((litert, ours), counts)] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*taken)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="files whose name has this part")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    options = parser.parse_args()
    print("| file | threads | LiteRT | anybit | times as fast |\n|---|--:|--:|--:|--:|")
    ratios = {}
    for threads in options.threads:
        for name, path in FILES.items():
            if options.only not in name:
                continue
            theirs, ours = times(path, threads, options.rounds, CLOCKS[options.clock])
            ratios.setdefault(threads, []).append(theirs / ours)
            print(f"| {name} | {threads} | {theirs * 1e3:.3f} ms | {ours * 1e3:.3f} ms | {theirs / ours:.2f} |", flush=True)
    for threads, found in ratios.items():
        print(f"| geometric mean | {threads} | | | {statistics.geometric_mean(found):.2f} |")


if __name__ == "__main__":
    main()
