"""The text detector PP-OCRv4 on pages of printed words: which of the float model's boxes another model finds."""
import functools

import numpy as np

from . import words
from .models import session
from .task import CALIBRATION_SENTENCES, MODELS, SENTENCES, Measure, Scores, Task

MODEL = MODELS / "ch_PP-OCRv4_det_infer.onnx"
SIDE, ROWS = 320, 5
TESTED, CALIBRATING = 60, 16


def pages(sentences, count, seed):
    """Words in two columns at random places, as the detector takes them."""
    rng = np.random.default_rng(seed)
    _, lines = words.lines(sentences, count * ROWS, seed)
    all_pages = np.full((count, 3, SIDE, SIDE), 0.9, np.float32)
    for k, line in enumerate(lines):
        width = min(SIDE - 20, int(np.abs(line).max((0, 1)).nonzero()[0].max()) + 1)
        left, top = int(rng.integers(0, SIDE - width)), 6 + k % ROWS * 62 + int(rng.integers(0, 8))
        all_pages[k // ROWS, :, top:top + 48, left:left + width] = line[:, :, :width]
    return all_pages


def boxes(probabilities, threshold=0.3, least=12):
    """The bounding boxes of the connected areas of text: (left, top, right, bottom)."""
    text, seen, found = probabilities > threshold, np.zeros(probabilities.shape, bool), []
    for y, x in zip(*text.nonzero()):
        if seen[y, x]:
            continue
        seen[y, x], waiting, low, high = True, [(y, x)], [x, y], [x, y]
        while waiting:
            y, x = waiting.pop()
            low, high = [min(low[0], x), min(low[1], y)], [max(high[0], x), max(high[1], y)]
            for v, u in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= v < text.shape[0] and 0 <= u < text.shape[1] and text[v, u] and not seen[v, u]:
                    seen[v, u] = True
                    waiting.append((v, u))
        if (high[0] - low[0] + 1) * (high[1] - low[1] + 1) >= least:
            found.append((*low, high[0] + 1, high[1] + 1))
    return found


def overlap(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    both = max(width, 0) * max(height, 0)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def f1(found, wanted, least=0.5):
    """Of boxes that overlap by half or more, each counted once."""
    left, right = list(found), 0
    for box in wanted:
        hit = max(left, key=lambda one: overlap(one, box), default=None)
        if hit is not None and overlap(hit, box) >= least:
            left.remove(hit)
            right += 1
    return 2 * right / max(len(found) + len(wanted), 1)


def found(run):
    return [boxes(run({"x": page[None]})[0][0, 0]) for page in pages(SENTENCES[CALIBRATION_SENTENCES:], TESTED, 4)]


@functools.cache
def expected():
    return found(session(MODEL))


def scores(run):
    kept = 100 * np.array([f1(now, before) for now, before in zip(found(run), expected())])
    return Scores([float(kept.mean())], kept)


def samples():
    return [{"x": page[None]} for page in pages(SENTENCES[:CALIBRATION_SENTENCES], CALIBRATING, 3)]


def tasks():
    yield Task("detector", MODEL, ("int8",), (Measure("boxes kept, F1", "%", 1, 1.0),), samples, scores)
