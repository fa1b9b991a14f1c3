"""Accuracy after quantization: the float model and the models quantized by anybit and by ONNX Runtime, on real data.

    python bench/bench_accuracy.py [--only TEXT] [--columns float anybit …] [--write docs/accuracy.md]

Results are kept in build/accuracy/results.json, so that several runs can fill one table.
"""
import argparse
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from accuracy import images, models, sentences, speech, words

WORK = ROOT / "build" / "accuracy"
COLUMNS = {"float": "float", "anybit": "anybit int8, run by anybit", "anybit-ort": "anybit int8, run by ONNX Runtime",
           "onnxruntime": "ONNX Runtime int8"}


def measured(task, scheme, column):
    """One value per measure of the task, or a text if the tool fails."""
    folder = WORK / task.name.replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if column == "float":
            return task.scores(models.session(task.model))
        if column == "onnxruntime":
            return task.scores(models.session(
                models.by_onnxruntime(task.model, scheme, task.samples(), folder), optimized=False))
        made = folder / f"anybit.{scheme}.onnx"
        if column == "anybit" or not made.exists():
            made = models.by_anybit(task.model, scheme, task.samples(), folder)
        return task.scores(models.executor(made) if column == "anybit" else models.session(made, optimized=False))
    except models.NothingQuantized:
        return "nothing quantized"
    except Exception as error:  # a failing tool is a result, too
        print(f"{task.name} {scheme} {column}: {type(error).__name__}: {error}", file=sys.stderr)
        return "failed"


def key(task, scheme, column):
    """The scores of the float model do not depend on the scheme."""
    return f"{task.name}|{'' if column == 'float' else scheme}|{column}"


def table(tasks, results):
    lines = ["| data | scheme | measure | " + " | ".join(COLUMNS.values()) + " |",
             "|---|---|---" + "|--:" * len(COLUMNS) + "|"]
    for task in tasks:
        for scheme in task.schemes:
            for k, measure in enumerate(task.measures):
                cells = [cell(results.get(key(task, scheme, column)), k, measure) for column in COLUMNS]
                lines.append(f"| {task.name} | {scheme} | {measure.name} | " + " | ".join(cells) + " |")
    return lines


def cell(values, k, measure):
    if values is None:
        return ""
    return values if isinstance(values, str) else f"{values[k]:.{measure.digits}f} {measure.unit}".strip()


def verdicts(tasks, results):
    """A sentence that lists the results in which anybit is worse than ONNX Runtime by more than noise, or says none."""
    pairs, behind = 0, []
    for task in tasks:
        for scheme in task.schemes:
            ours, theirs = (results.get(key(task, scheme, column)) for column in ("anybit", "onnxruntime"))
            if not isinstance(ours, list) or not isinstance(theirs, list):
                continue
            for measure, mine, other in zip(task.measures, ours, theirs):
                pairs += 1
                if measure.worse(mine, other) > measure.noise:
                    behind.append(f"{task.name} {scheme}, {measure.name}")
    where = "; ".join(behind) if behind else "none"
    return [f"Of {pairs} results, anybit is worse than ONNX Runtime by more than noise in: {where}."] if pairs else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--columns", nargs="+", choices=COLUMNS, default=list(COLUMNS))
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    tasks = [task for family in (images, words, speech, sentences) for task in family.tasks()]
    WORK.mkdir(parents=True, exist_ok=True)
    kept = WORK / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for task in tasks:
        for scheme in task.schemes if options.only in task.name else ():
            for column in options.columns:
                if column == "float" and scheme != task.schemes[0]:
                    continue
                begin = time.time()
                results[key(task, scheme, column)] = values = measured(task, scheme, column)
                print(f"{task.name} {scheme} {column}: {values} ({time.time() - begin:.0f} s)", flush=True)
                kept.write_text(json.dumps(results, indent=1))
    lines = table(tasks, results)
    lines += ["", *verdicts(tasks, results)] if verdicts(tasks, results) else []
    print("\n".join(lines))
    if options.write:
        document.put(options.write, "accuracy", lines)


if __name__ == "__main__":
    main()
