"""Calibrated (static) scales of activations compared with dynamic scales: accuracy on real models.

    python bench/bench_static.py [--tasks digits cifar words] [--write docs/accuracy.md]

Both rows of a pair have weights in the same format, so that only the activations differ. Calibration uses the calibration
samples of the task; the scores are from other samples.
"""
import argparse
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from accuracy import images, models, words

WORK = ROOT / "build" / "static"
PROGRAM = ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "bin" / "anybit"
# The name of the row (the format, and the source of the activations' scales), the weights, the activations.
ROWS = [("fp8 e4m3, calibrated", "fp8_e4m3 channel", "fp8_e4m3 minmax"), ("fp8 e4m3, dynamic", "fp8_e4m3 channel", "fp8_e4m3 tensor"),
        ("fp8 e4m3, no scale", "fp8_e4m3", "fp8_e4m3"),
        ("fp8 e5m2, calibrated", "fp8_e5m2 channel", "fp8_e5m2 minmax"), ("fp8 e5m2, dynamic", "fp8_e5m2 channel", "fp8_e5m2 tensor"),
        ("mxfp8 e4m3, calibrated", "mxfp8_e4m3 scale_rule ceil", "mxfp8_e4m3 scale_rule ceil minmax"),
        ("mxfp8 e4m3, dynamic", "mxfp8_e4m3 scale_rule ceil", "mxfp8_e4m3 scale_rule ceil"),
        ("mxint8, calibrated", "mxint8", "mxint8 minmax"), ("mxint8, dynamic", "mxint8", "mxint8"),
        ("fp6 e2m3, calibrated", "fp6_e2m3 channel", "fp6_e2m3 minmax"), ("mxfp6 e2m3, dynamic", "mxfp6_e2m3", "mxfp6_e2m3"),
        ("int8, calibrated", "int8 sym channel", "int8 asym minmax")]


def quantized(task, weights, data, folder):
    recipe, made = folder / "recipe.yaml", folder / "q.onnx"
    part = "activations" if data.startswith("int") else "data_in"  # float formats: only inputs of linear operators
    recipe.write_text(f"global: {{weights: {weights}, {part}: {data}, refine: sum-preserving-rounding}}\n")
    subprocess.run([PROGRAM, "quantize", task.model, "-o", made, "--recipe", recipe, "--calib", folder / "samples"], check=True,
                   capture_output=True)
    return made


def scores(task, run):
    return [f"{score:.{unit.digits}f} {unit.unit}".strip() for score, unit in zip(task.scores(run), task.measures[:1])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=["digits", "cifar", "words"])
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    tasks = [task for family in (images, words) for task in family.tasks() if task.name in options.tasks]
    rows = {"float": []} | {name: [] for name, _, _ in ROWS}
    for task in tasks:
        folder = WORK / task.name
        folder.mkdir(parents=True, exist_ok=True)
        models.save_samples(task.samples(), folder / "samples")
        rows["float"] += scores(task, models.executor(task.model))
        for name, weights, data in ROWS:
            rows[name] += scores(task, models.executor(quantized(task, weights, data, folder)))
            print(f"{task.name}: {name}: {rows[name][-1]}", flush=True)
    lines = ["| format | " + " | ".join(f"{task.name}: {task.measures[0].name}" for task in tasks) + " |", "|---" + "|--:" * len(tasks) + "|",
             *(f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items())]
    print("\n".join(lines))
    if options.write:
        document.put(options.write, "static", lines)


if __name__ == "__main__":
    main()
