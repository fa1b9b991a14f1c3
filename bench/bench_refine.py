"""Ablation of refinements: accuracy of each alone and of all together, on real data, and the time to quantize.

    python bench/bench_refine.py [--only TEXT] [--recipes int8 w4 …] [--columns none gptq …] [--write docs/accuracy.md]

Results are kept in build/accuracy/refine.json, so that several runs can fill one table. Two more tables:

- held-out: which column is best on one half of the test data, and what it and the preset reach on the other half.
- peers (with --peers PYTHON, an interpreter with nncf and onnxruntime): accuracy and time of NNCF and ONNX Runtime's tools.
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
from accuracy import detector, images, models, sentences, speech, words

WORK = ROOT / "build" / "accuracy"
RECIPES = ("int8-per-tensor", "int8", "int8x4", "w4", "w2", "mxfp4-weights", "mxfp4", "nvfp4")
# Column: what is given to --refine; None: nothing, the preset's own.
COLUMNS = {"none": "none", "sums": "sums", "means": "means", "equalize": "equalize", "smooth": "smooth", "mse": "mse",
           "gptq": "gptq", "gptq, mse": "gptq,mse", "gptq, means": "gptq,means", "all": "equalize,smooth,mse,gptq,means",
           "preset": None}
PEERS = ("nncf", "onnxruntime")
PEER_RECIPES = ("int8", "int8-per-tensor", "w4")


def samples_of(task, folder):
    samples = folder / "samples"
    if not samples.exists():
        models.save_samples(task.samples(), samples)
    return samples


def quantized(task, recipe, refine, folder):
    program = ROOT / pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")) / "bin" / "anybit"
    samples, made = samples_of(task, folder), folder / "refined.onnx"
    command = [str(program), "quantize", str(task.model), "-o", str(made), "--recipe", recipe, "--calib", str(samples)]
    begin = time.time()
    subprocess.run(command + (["--refine", refine] if refine else []), check=True, stdout=subprocess.DEVNULL)
    return made, time.time() - begin


def by_peer(task, recipe, peer, python, folder):
    """The model and the seconds of the tool alone: neither its start nor the preparation of the model count."""
    made = folder / f"{peer}.onnx"
    done = subprocess.run([python, str(ROOT / "bench" / "refine_peer.py"), peer, str(models.prepared(task.model, folder)),
                           str(samples_of(task, folder)), recipe, str(made)], check=True, capture_output=True, text=True)
    return made, float(done.stdout.split()[-2])


def measured(task, recipe, column, python):
    """One value per measure of the task, the seconds to quantize, and the halves of the first measure; or a text if it fails."""
    folder = WORK / task.name.replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if recipe == "float":
            scores, seconds = task.scores(models.session(task.model)), 0
        elif column in PEERS:
            made, seconds = by_peer(task, recipe, column, python, folder)
            scores = task.scores(models.session(made, optimized=False))
        else:
            made, seconds = quantized(task, recipe, COLUMNS.get(column, column), folder)
            scores = task.scores(models.executor(made))
        return [*scores, seconds], scores.halves()
    except subprocess.CalledProcessError as error:
        print(f"{task.name} {recipe} {column}: {(error.stderr or str(error))[-400:]}", file=sys.stderr)
    except Exception as error:  # a failing refinement is a result, too
        print(f"{task.name} {recipe} {column}: {type(error).__name__}: {error}", file=sys.stderr)
    return "failed", None


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


def held_out(tasks, results):
    """What is chosen by the first half of the test data, on the second half."""
    lines = ["| data | recipe | best on half A | half B: float | half B: none | half B: best on A | half B: preset |", "|---|---|---|--:|--:|--:|--:|"]
    for task in tasks:
        digits = task.measures[0].digits
        for recipe in RECIPES:
            found = {column: results.get(f"{task.name}|{recipe}|{column}|halves") for column in COLUMNS if column != "preset"}
            found = {column: halves for column, halves in found.items() if halves}
            preset = results.get(f"{task.name}|{recipe}|preset|halves")
            whole = results.get(f"{task.name}|float|none|halves")
            if len(found) < 3 or not preset or not whole or "none" not in found:
                continue
            best = max(found, key=lambda column: found[column][0])
            lines.append(f"| {task.name} | {recipe} | {best} | {whole[1]:.{digits}f} | {found['none'][1]:.{digits}f} | "
                         f"{found[best][1]:.{digits}f} | {preset[1]:.{digits}f} |")
    return lines


def beside_peers(tasks, results):
    lines = ["| data | recipe | measure | float | anybit | NNCF | ONNX Runtime | seconds: anybit | NNCF | ONNX Runtime |",
             "|---|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for task in tasks:
        for recipe in PEER_RECIPES:
            found = [results.get(f"{task.name}|{one}") for one in ("float|none", f"{recipe}|preset", f"{recipe}|nncf", f"{recipe}|onnxruntime")]
            if not any(found[2:]):
                continue
            values = [cell(one, 0, task.measures[0].digits) for one in found]
            seconds = [f"{one[-1]:.1f}" if isinstance(one, list) else "" for one in found[1:]]
            lines.append(f"| {task.name} | {recipe} | {task.measures[0].name} | " + " | ".join([*values, *seconds]) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--columns", nargs="+", default=list(COLUMNS), help="names above, or lists for --refine")
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has nncf: measure the peers, too")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    tasks = [task for family in (images, words, detector, speech, sentences) for task in family.tasks()]
    WORK.mkdir(parents=True, exist_ok=True)
    kept = WORK / "refine.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for task in tasks:
        for recipe in ("float", *options.recipes) if options.only in task.name else ():
            peers = PEERS if options.peers and recipe in PEER_RECIPES else ()
            for column in (*options.columns, *peers) if recipe != "float" else ("none",):
                name = f"{task.name}|{recipe}|{column}"
                if recipe == "float" and f"{name}|halves" in results:
                    continue
                values, halves = measured(task, recipe, column, options.peers)
                results[name], results[f"{name}|halves"] = values, halves
                shown = values if isinstance(values, str) else " ".join(f"{value:.4f}" for value in values)
                print(f"{task.name} {recipe} {column}: {shown}", flush=True)
                kept.write_text(json.dumps(results, indent=1))
    tables = {"refinements": table(tasks, results, options.columns), "held-out": held_out(tasks, results),
              "refinement-peers": beside_peers(tasks, results)}
    for mark, lines in tables.items():
        print("\n".join(["", *lines]))
        if options.write and len(lines) > 2 and f"<!-- {mark}: begin -->" in options.write.read_text():
            document.put(options.write, mark, lines)


if __name__ == "__main__":
    main()
