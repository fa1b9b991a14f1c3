"""Every recipe that needs no calibration data, on real models: size of the weights, accuracy and speed.

    python bench/bench_presets.py [--only TEXT] [--tasks digits …] [--words N] [--write docs/accuracy.md]

Models are cast directly: no calibration, no training. Results are kept in build/presets/results.json, so that several runs
can fill one table.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import time

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from accuracy import images, models, sentences, words

WORK = ROOT / "build" / "presets"
PROGRAM = ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "bin" / "anybit"
RUNS = 20  # of each model, in turns; the best counts
SHOWN = {"words": 2}  # number of a task's measures in the table, if not one
FINE, MAY_LOSE = ("mxint8", "bfp16"), 0.3  # points, in every column
# The first of each pair must not be worse than the second by more than noise.
ORDERED = [(a + kind, b + kind) for kind in ("", "-weights") for a, b in (
    ("mxfp6", "mxfp8-e5m2"), ("mxfp8", "mxfp6"), ("mxfp6", "mxfp4"), ("mx9", "mx6"), ("mx6", "mx4"), ("float16", "fp8"),
    ("fp8", "fp8-e5m2"), ("bfloat16", "fp8-e5m2"), ("binary-residual", "binary"))]
CLOSE = 1e-3  # relative to the largest output: float sums in another order
ELSEWHERE = ("digits", "cifar")  # ONNX Runtime takes minutes to inline the functions of larger models


def recipes():
    listed = json.loads(subprocess.run([str(PROGRAM), "recipes", "--json"], check=True, capture_output=True).stdout)
    names = [one["name"] for one in listed]
    return names[names.index("mxfp4"):]


def quantized(task, recipe, folder):
    """The file, and the size of the quantized weights relative to float."""
    made = folder / f"{recipe}.onnx"
    told = subprocess.run([str(PROGRAM), "quantize", str(task.model), "-o", str(made), "--recipe", recipe, "--json"],
                          check=True, capture_output=True).stdout
    weights = json.loads(told)["weights"]
    before, after = (sum(one[f"bytes_{when}"] for one in weights) for when in ("before", "after"))
    return made, after / before


def seconds(runs):
    """The best time of each function; all run in turns."""
    best = [float("inf")] * len(runs)
    for _ in range(RUNS):
        for k, run in enumerate(runs):
            begin = time.perf_counter()
            run()
            best[k] = min(best[k], time.perf_counter() - begin)
    return best


def runs_elsewhere(path, feeds, ours):
    """The largest difference between the outputs of ONNX Runtime and anybit for this file, relative to the largest output."""
    theirs = models.session(path, optimized=False)(feeds)
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in zip(theirs, ours))


def measure(task, recipe):
    folder = WORK / task.name
    folder.mkdir(parents=True, exist_ok=True)
    made, share = quantized(task, recipe, folder)
    feeds = next(iter(task.samples()))
    run, plain = models.executor(made), models.executor(task.model)
    slow, fast = seconds([lambda: run(feeds), lambda: plain(feeds)])
    return {"share": share, "scores": task.scores(run), "speed": fast / slow,
            "elsewhere": runs_elsewhere(made, feeds, run(feeds)) if task.name in ELSEWHERE else None}


def shown(task):
    return task.measures[:SHOWN.get(task.name, 1)]


def table(tasks, names, results):
    head = ["recipe"]
    for task in tasks:
        head += [f"{task.name}: weights", *(measure.name for measure in shown(task)), "speed"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for name in ["float", *names]:
        cells = [name]
        for task in tasks:
            one = results.get(f"{task.name}|{name}")
            if one is None:
                cells += ["", *("" for _ in shown(task)), ""]
                continue
            scores = [f"{score:.{unit.digits}f} {unit.unit}".strip() for score, unit in zip(one["scores"], shown(task))]
            cells += [f"{one['share']:.3f} ×", *scores, f"{one['speed']:.2f} ×"]
        if any(cells[1:]):
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def columns(tasks, results, *names):
    """For each column with all of these recipes: its title, its measure, and their scores."""
    for task in tasks:
        rows = [results.get(f"{task.name}|{name}") for name in names]
        if all(rows):
            for k, unit in enumerate(shown(task)):
                yield f"{task.name}, {unit.name}", unit, [row["scores"][k] for row in rows]


def order(tasks, results):
    """The largest loss of the fine formats, and the pairs in which a finer format is worse than a coarser one."""
    lines = []
    for name in FINE:
        lost = [((unit.worse(score, exact) * (1 if unit.unit == "%" else 100)), title)
                for title, unit, (score, exact) in columns(tasks, results, name, "float")]
        if lost:
            lines.append(f"`{name}` loses at most {max(lost)[0]:.2f} points ({max(lost)[1]}); {MAY_LOSE} are allowed.")
    pairs = [(title, unit, a, b, scores) for a, b in ORDERED for title, unit, scores in columns(tasks, results, a, b)]
    behind = [f"{title}: `{a}` {x:.{unit.digits}f}, `{b}` {y:.{unit.digits}f}{'' if unit.worse(x, y) <= unit.noise else ' (more than noise)'}"
              for title, unit, a, b, (x, y) in pairs if unit.worse(x, y) > 0]
    if pairs:
        lines.append(f"Of {len(pairs)} pairs of a finer and a coarser format, the finer is worse in {len(behind)}" +
                     (": " + "; ".join(behind) if behind else "") + ".")
    return lines


def verdicts(tasks, names, results):
    there = [(one["elsewhere"], f"{task.name}, {name}") for task in tasks for name in names
             if (one := results.get(f"{task.name}|{name}")) and one["elsewhere"] is not None]
    if not there:
        return order(tasks, results)
    far = [f"{name} {by:.1e}" for by, name in there if by > CLOSE]
    return [*order(tasks, results), "",
            f"ONNX Runtime {onnxruntime.__version__} ran all {len(there)} files of "
            f"{' and '.join(task.name for task in tasks if task.name in ELSEWHERE)}, without extensions; its outputs differ from "
            f"anybit's by at most {max(by for by, _ in there if by <= CLOSE):.1e} of the largest" +
            (f", except where the last bit of a sum decides a rounding: {', '.join(far)}" if far else "") + "."]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="recipes whose name contains this")
    parser.add_argument("--tasks", nargs="+", default=["digits", "cifar", "words", "sentences"])
    parser.add_argument("--words", type=int, default=words.TESTED, help="how many to read; results are kept separately unless it is the default")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    parser.add_argument("--again", action="store_true", help="also repeat measurements that have results")
    options = parser.parse_args()
    tasks = [task for family in (images, words, sentences) for task in family.tasks() if task.name in options.tasks]
    WORK.mkdir(parents=True, exist_ok=True)
    kept = WORK / "results.json"
    if options.words != words.TESTED:
        kept = WORK / f"results_of_{options.words}_words.json"
        tasks = [dataclasses.replace(task, scores=lambda run: words.scores(run, options.words))
                 for task in tasks if task.name == "words"]
    results = json.loads(kept.read_text()) if kept.exists() else {}
    names = recipes()
    for task in tasks:
        if f"{task.name}|float" not in results:
            scores = task.scores(models.executor(task.model))
            results[f"{task.name}|float"] = {"share": 1, "scores": scores, "speed": 1, "elsewhere": 0}
        for name in names:
            key = f"{task.name}|{name}"
            if options.only not in name or (key in results and not options.again):
                continue
            begin = time.time()
            results[key] = measure(task, name)
            print(f"{key}: {results[key]} ({time.time() - begin:.0f} s)", flush=True)
            kept.write_text(json.dumps(results, indent=1))
    lines = table(tasks, names, results) + ["", *verdicts(tasks, names, results)]
    print("\n".join(lines))
    if options.write:
        document.put(options.write, "presets", lines)


if __name__ == "__main__":
    main()
