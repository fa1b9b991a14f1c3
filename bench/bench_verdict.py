"""The verdict on real models, each at a good and at a broken recipe, against a measure that a person would trust.

    python bench/bench_verdict.py [--only TEXT] [--write docs/verdict.md]

The measure is the task's own: top-1, words read, detections found, the nearest sentence. A model works if it keeps 95 % of the float
model's value, and is broken below 80 %. A verdict other than "ok" on a model that works is a false alarm; "ok" on a broken model
is a miss.
"""
import argparse
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "python"))

import anybit
import document
import verdict_tasks

WORKS, BROKEN = 0.95, 0.8
COMPARED = 8  # samples, as many as `anybit quantize` takes for its verdict


def state(before, after):
    kept = after / before if before else 0
    return "works" if kept >= WORKS else "broken" if kept < BROKEN else "worse"


def row(task, recipe, samples, before):
    model = anybit.quantize(task.model, recipe, samples)
    verdict = anybit.compare(task.model, model, samples[:COMPARED], layers=False).verdict
    after = task.measure(anybit.Session(model))
    truth = state(before, after)
    alarm = truth == "works" and verdict.level != "ok"
    missed = truth == "broken" and verdict.level == "ok"
    remark = "false alarm" if alarm else "missed" if missed else ""
    return (alarm, missed), (f"| {task.name}, {task.kind} | {task.measure_name} | {recipe} | {before:.3f} -> {after:.3f} | {truth} | "
                             f"**{verdict.level}** | {verdict.reason.replace('|', ' ')} | {remark} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    lines = ["| model | measure | recipe | value | state | verdict | reason | |", "|---|---|---|---|---|---|---|---|"]
    alarms = misses = models = 0
    for task in verdict_tasks.tasks():
        if options.only not in task.name:
            continue
        begin = time.time()
        samples = list(task.samples())
        before = task.measure(anybit.Session(task.model))
        models += 1
        for recipe in (task.good, task.broken):
            (alarm, missed), line = row(task, recipe, samples, before)
            alarms, misses = alarms + alarm, misses + missed
            lines.append(line)
            print(line, f"({time.time() - begin:.0f} s)", flush=True)
    lines += ["", f"{models} models, {2 * models} verdicts: {alarms} false alarms, {misses} missed."]
    print(lines[-1])
    if options.write:
        document.put(options.write, "verdict", lines)


if __name__ == "__main__":
    main()
