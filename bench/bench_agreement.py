"""Agreement of two runtimes on the same int8 file, compared with the effect of another order of summation.

    python bench/bench_agreement.py [--images N] [--write docs/accuracy.md]

ONNX Runtime (optimizations off) is compared with anybit, and with itself on a copy of the file that sums in another order: each
convolution of the copy reads its input channels in reverse order, with reversed weights.
"""
import argparse
import pathlib
import statistics

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from support.executing import Executor
from support.reversed_order import turned_round
from support.peer_models import MODELS, image, peer, quantized
from support.same_inputs import decibels, differences

SHAPES = {
    "ch_ppocr_mobile_v2.0_cls_infer": ("PP-OCR classifier", (1, 3, 48, 192)),
    "ch_PP-OCRv4_det_infer": ("PP-OCRv4 detector", (1, 3, 320, 320)),
    "ch_PP-OCRv4_rec_infer": ("PP-OCRv4 recogniser", (1, 3, 48, 320)),
}
KINDS = {"anybit": "anybit int8", "tensor": "ONNX Runtime, per tensor", "channel": "ONNX Runtime, per channel"}


def measured(stem, kind, images):
    """SQNR between the results of each pair for every image; for the first image, the quantized values that differ, node by node."""
    path = quantized(stem, kind)
    turned = turned_round(path)
    theirs, theirs_turned = peer(path, optimized=False), peer(turned, optimized=False)
    float_model = peer(MODELS / f"{stem}.onnx")
    ours, ours_turned = Executor(path), Executor(onnx.load_from_string(turned))
    name = theirs.get_inputs()[0].name
    columns = {"anybit": [], "turned": [], "ours turned": [], "float": []}
    for seed in range(100, 100 + images):
        x = image(SHAPES[stem][1], seed)
        wanted, = theirs.run(None, {name: x})
        got, = ours.run([x])
        columns["anybit"].append(decibels(got, wanted))
        columns["turned"].append(decibels(theirs_turned.run(None, {name: x})[0], wanted))
        columns["ours turned"].append(decibels(ours_turned.run([x])[0], got))
        columns["float"].append(decibels(wanted, float_model.run(None, {name: x})[0]))
    apart = [steps for _, steps, _ in differences(path, image(SHAPES[stem][1], 100))]
    return columns, sum(map(np.count_nonzero, apart)), sum(steps.size for steps in apart), max(steps.max() for steps in apart)


def span(values):
    """The lowest and the median SQNR."""
    say = lambda value: "equal" if np.isinf(value) else f"{value:.0f} dB"  # noqa: E731
    least, middle = min(values), statistics.median_low(values)
    return say(least) if least == middle else f"{say(least)} … {say(middle)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=12)
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    lines = ["| model | quantized by | values that differ, same inputs | anybit and ONNX Runtime | ONNX Runtime in both orders "
             "| anybit in both orders | quantized and float |", "|---|---|--:|--:|--:|--:|--:|"]
    for stem, (title, _) in SHAPES.items():
        for kind, maker in KINDS.items():
            columns, differ, integers, step = measured(stem, kind, options.images)
            lines.append(f"| {title} | {maker} | {differ} of {integers / 1e6:.1f} million, by {step} | "
                         + " | ".join(span(values) for values in columns.values()) + " |")
    print("\n".join(lines))
    if options.write:
        document.put(options.write, "agreement", lines)


if __name__ == "__main__":
    main()
