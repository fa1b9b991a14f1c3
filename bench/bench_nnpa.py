"""Mixed float16/float32, the default of `--target nnpa`, compared with float32 on this CPU, which computes the float16 parts in float32.

    python bench/bench_nnpa.py [--only TEXT] [--rounds N] [--write docs/from-onnx-mlir.md]

One thread. All three run in turns, in random order: the float32 model, the same once more, and the mixed one. Times are the
processor's, which stands still while other programs run. The ratio of the two float32 runs shows the noise.
"""
import argparse
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "python"))

import anybit
import document

MODELS = {
    "digits": ("examples/digits/digits.onnx", (1, 1, 28, 28)),
    "CIFAR-10": ("examples/cifar/cifar.onnx", (1, 3, 32, 32)),
    "PP-OCR direction classifier": ("build/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", (1, 3, 48, 192)),
    "PP-OCRv4 recogniser": ("build/models/ch_PP-OCRv4_rec_infer.onnx", (1, 3, 48, 320)),
    "PP-OCRv4 detector": ("build/models/ch_PP-OCRv4_det_infer.onnx", (1, 3, 320, 320)),
}
SECONDS = 0.1  # of one model in one round


class Runner:
    """One model in a session of one thread."""

    def __init__(self, model, feeds):
        self.session, self.feeds = anybit.Session(model, threads=1), feeds
        for _ in range(3):
            self.session.run(feeds)
        self.count = 1
        self.count = max(1, int(SECONDS / self()))

    def __call__(self):
        """The mean time of several runs."""
        begin = time.process_time()
        for _ in range(self.count):
            self.session.run(self.feeds)
        return (time.process_time() - begin) / self.count


def measured(model, shape, rounds):
    """Milliseconds of float32, and the ratios to it: of float32 again, and of mixed float16."""
    feeds = np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        anybit.quantize(model, target="nnpa").save(f"{folder}/mixed.onnx")
        runners = [Runner(model, feeds), Runner(model, feeds), Runner(f"{folder}/mixed.onnx", feeds)]
    for one in runners:
        one.count = runners[0].count
    times = []
    for _ in range(rounds):
        order = random.sample(range(3), 3)
        found = {k: runners[k]() for k in order}
        times.append([found[k] for k in range(3)])
    ratios = [statistics.median(one[k] / one[0] for one in times) for k in (1, 2)]
    return min(one[0] for one in times) * 1e3, ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    lines = ["| model | float32, ms | float32 again | mixed float16 |", "|---|--:|--:|--:|"]
    for name, (file, shape) in MODELS.items():
        if options.only in name:
            milliseconds, (again, mixed) = measured(ROOT / file, shape, options.rounds)
            lines.append(f"| {name} | {milliseconds:.3f} | {again:.3f} | {mixed:.3f} |")
            print(lines[-1], flush=True)
    if options.write:
        document.put(options.write, "nnpa", lines)


if __name__ == "__main__":
    main()
