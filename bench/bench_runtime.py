"""anybit compared with ONNX Runtime and OpenVINO: real models, single kernels and small nets that once were slow.

    python bench/bench_runtime.py [--seconds S | --rounds N] [--only TEXT …] [--groups …] [--kinds …] [--write docs/speed.md]

The runtimes run in turns in one process; the best of many runs counts. A ratio above 1: anybit is faster than the better peer.
int8 models are Q/DQ files of ONNX Runtime's tool or of anybit; `dynamic` ones are ONNX Runtime's.
"""
import argparse
import collections
import math
import pathlib
import sys
import time

import document
import runtime_peers
import runtime_rows


def by_processor_time(once):
    """The same run by the time that the process computed: on a busy machine it varies less. It counts all threads."""
    def run():
        begin = time.process_time()
        once()
        return time.process_time() - begin

    return run


def timers(path, feeds, threads, peers):
    """Name → a function that runs once; None for a peer that does not take the model."""
    made = {"anybit": runtime_peers.anybit(path, feeds, threads)}
    for name in peers:
        try:
            made[name] = runtime_peers.PEERS[name](path, feeds, threads)
            made[name]()
        except Exception as problem:  # each runtime has its own types
            print(f"{name} does not run {path.name}: {str(problem).strip().splitlines()[-1][:100]}", file=sys.stderr)
            made[name] = None
    return made


def measure(path, feeds, threads, options):
    """The best time of each runtime; infinite if it does not take the model."""
    made = timers(path, feeds, threads, options.peers)
    if options.clock == "processor":
        made = {name: once and by_processor_time(once) for name, once in made.items()}
    best = dict.fromkeys(made, math.inf)
    end = time.perf_counter() + options.seconds
    rounds = 0
    while rounds < options.rounds if options.rounds else time.perf_counter() < end or rounds < 5:
        rounds += 1
        for name, once in made.items():
            for _ in range(3 if once else 0):
                best[name] = min(best[name], once())
    return best


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def told(seconds):
    return "-" if seconds == math.inf else f"{seconds * 1e3:.3f}"


class Table:
    """The lines of the table, and what they sum up to."""

    def __init__(self, peers):
        self.peers = peers
        self.lines = [f"| | type | threads | anybit ms | {' ms | '.join(peers)} ms | ratio |",
                      "|---|---|--:|--:|" + "--:|" * len(peers) + "--:|"]
        self.ratios = collections.defaultdict(dict)  # (kind, threads) → name → ratios to each peer and to the better
        self.times = {}

    def add(self, name, kind, threads, best):
        self.times[name, kind, threads] = best["anybit"]
        ratios = {one: best[one] / best["anybit"] for one in self.peers if best[one] < math.inf}
        if not ratios:
            return
        ratios["the better"] = min(ratios.values())
        self.ratios[kind, threads][name] = ratios
        cells = [name.replace("|", "\\|"), kind, str(threads), *map(told, best.values()), f"{ratios['the better']:.2f}"]
        self.lines.append(f"| {' | '.join(cells)} |")
        print(self.lines[-1], flush=True)

    def summary(self):
        lines = []
        for (kind, threads), rows in sorted(self.ratios.items()):
            means = [f"{geometric_mean([row[one] for row in rows.values() if one in row]):.2f} × {one}"
                     for one in (*self.peers, "the better")]
            worst = min(rows, key=lambda name: rows[name]["the better"])
            lines.append(f"Geometric mean, {kind}, {threads} thread{'s' * (threads > 1)}, {len(rows)} rows: {', '.join(means)}; "
                         f"the worst is {worst}, {rows[worst]['the better']:.2f} ×")
        gains = [self.times[name, "float32", 1] / ours for (name, kind, threads), ours in self.times.items()
                 if kind == "int8" and threads == 1 and (name, "float32", 1) in self.times]
        if gains:
            lines.append(f"anybit's int8 compared with its float32, 1 thread: {geometric_mean(gains):.2f} ×")
        return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row")
    parser.add_argument("--rounds", type=int, default=0, help="for each row, instead of --seconds")
    parser.add_argument("--only", nargs="+", default=[], help="rows whose name contains one of these")
    parser.add_argument("--groups", nargs="+", default=list(runtime_rows.GROUPS), choices=runtime_rows.GROUPS)
    parser.add_argument("--kinds", nargs="+", default=["float32", "int8", "dynamic"])
    parser.add_argument("--peers", nargs="*", default=list(runtime_peers.PEERS), choices=runtime_peers.PEERS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    table = Table(options.peers)
    print("\n".join(table.lines), flush=True)

    def wanted(name, kind):
        return kind in options.kinds and (not options.only or any(one in name for one in options.only))

    for name, kind, path, feeds in runtime_rows.rows(options.groups, wanted):
        for threads in options.threads:
            table.add(name, kind, threads, measure(path, feeds, threads, options))
    print("\n".join(table.summary()))
    if options.write:
        document.put(options.write, "runtime", [*table.lines, "", "\n\n".join(table.summary())])


if __name__ == "__main__":
    main()
