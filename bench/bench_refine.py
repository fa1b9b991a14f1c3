"""Ablation of refinements: accuracy of each alone and of all together, on real data, and the time to quantize.

    python bench/bench_refine.py [--only TEXT] [--recipes int8 w4 …] [--columns none gptq …] [--write docs/accuracy.md]

Results are kept in build/accuracy/refine.json, so that several runs can fill one table.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from accuracy import images, models, sentences, speech, words

WORK = ROOT / "build" / "accuracy"
RECIPES = ("int8-per-tensor", "int8", "int8x4", "w4", "w2", "mxfp4-weights", "mxfp4", "nvfp4")
# Column: what is given to --refine; None: nothing, the preset's own.
COLUMNS = {"none": "none", "sums": "sums", "means": "means", "equalize": "equalize", "smooth": "smooth", "mse": "mse",
           "gptq": "gptq", "gptq, mse": "gptq,mse", "gptq, means": "gptq,means", "all": "equalize,smooth,mse,gptq,means",
           "preset": None}


def quantized(task, recipe, refine, folder):
    program = ROOT / pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")) / "bin" / "anybit"
    samples = folder / "samples"
    if not samples.exists():
        models.save_samples(task.samples(), samples)
    made = folder / "refined.onnx"
    command = [str(program), "quantize", str(task.model), "-o", str(made), "--recipe", recipe, "--calib", str(samples)]
    begin = time.time()
    subprocess.run(command + (["--refine", refine] if refine else []), check=True, stdout=subprocess.DEVNULL)
    return made, time.time() - begin


def measured(task, recipe, refine):
    """One value per measure of the task and the seconds to quantize, or a text if it fails."""
    folder = WORK / task.name.replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if recipe == "float":
            return [*task.scores(models.session(task.model)), 0]
        made, seconds = quantized(task, recipe, refine, folder)
        return [*task.scores(models.executor(made)), seconds]
    except Exception as error:  # a failing refinement is a result, too
        print(f"{task.name} {recipe} {refine}: {type(error).__name__}: {error}", file=sys.stderr)
        return "failed"


def cell(values, measure, digits):
    if values is None:
        return ""
    return values if isinstance(values, str) else f"{values[measure]:.{digits}f}"


def table(tasks, results, columns):
    lines = ["| data | measure | recipe | " + " | ".join(columns) + " |", "|---|---|---" + "|--:" * len(columns) + "|"]
    for task in tasks:
        for recipe in ("float", *RECIPES):
            found = [results.get(f"{task.name}|{recipe}|{column}") for column in columns]
            if not any(found):
                continue
            for k, measure in enumerate(task.measures[:1]):
                lines.append(f"| {task.name} | {measure.name} | {recipe} | " +
                             " | ".join(cell(one, k, measure.digits) for one in found) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--columns", nargs="+", default=list(COLUMNS), help="names above, or lists for --refine")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    tasks = [task for family in (images, words, speech, sentences) for task in family.tasks()]
    WORK.mkdir(parents=True, exist_ok=True)
    kept = WORK / "refine.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for task in tasks:
        for recipe in ("float", *options.recipes) if options.only in task.name else ():
            for column in options.columns if recipe != "float" else ("none",):
                name = f"{task.name}|{recipe}|{column}"
                if recipe == "float" and name in results:
                    continue
                results[name] = values = measured(task, recipe, COLUMNS.get(column, column))
                shown = values if isinstance(values, str) else " ".join(f"{value:.4f}" for value in values)
                print(f"{task.name} {recipe} {column}: {shown}", flush=True)
                kept.write_text(json.dumps(results, indent=1))
    lines = table(tasks, results, options.columns)
    print("\n".join(lines))
    if options.write:
        document.put(options.write, "refinements", lines)


if __name__ == "__main__":
    main()
