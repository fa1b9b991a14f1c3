"""`anybit sensitivity` against brute force: one file per layer, in which it alone is quantized, judged by labelled data.

    python bench/bench_sensitivity.py [--only TEXT] [--write docs/sensitivity.md]

The true effect of a layer on samples that the calibration has not seen: the points of labelled accuracy that are lost, and the root
mean square of the change of the labelled score (of CIFAR-10 the log-probability of the label, of words that of the text by CTC). With
few samples or many bits, the accuracy that a layer costs is noise. Two figures show how much: the interval of the rank correlation when
the samples are drawn again (95 %, bootstrap), and the rank correlation of brute force with itself, on one half of the samples and on
the other (by Spearman and Brown for all samples): no measure can agree with it better.
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / os.environ.get("ANYBIT_BUILD", "build/release")
sys.path.insert(0, str(BUILD / "python"))

import anybit
import document
from accuracy import images, words
from accuracy.task import CALIBRATION_SENTENCES, DATA, MODELS, SENTENCES
from support.measured import run

SCHEMES = {"int8": "int8 sym channel", "int4": "int4 sym channel", "int3": "int3 sym channel", "int2": "int2 sym channel", "ternary": "ternary"}
IMAGES, WORDS, CALIBRATING = 3000, 60, 64
DRAWN = 1000  # times, by the bootstrap
KEPT = 32 << 20  # bytes


def log_softmax(scores):
    shifted = scores - scores.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def image_scores(session, pixels, labels):
    """The log-probability of each label, and whether it is the largest."""
    scores = np.concatenate([session.run(pixels[at:at + 100])["logits"] for at in range(0, len(pixels), 100)])
    return log_softmax(scores)[np.arange(len(labels)), labels], scores.argmax(1) == labels


def ctc(log_probabilities, label):
    """The log-probability of a text over all alignments; the blank is 0."""
    states = [0]
    for one in label:
        states += [one, 0]
    forward = np.full(len(states), -np.inf)
    forward[:2] = log_probabilities[0, states[:2]]
    for row in log_probabilities[1:]:
        before = forward
        forward = before.copy()
        forward[1:] = np.logaddexp(forward[1:], before[:-1])
        for s in range(3, len(states), 2):
            if states[s] != states[s - 2]:
                forward[s] = np.logaddexp(forward[s], before[s - 2])
        forward += row[states]
    return np.logaddexp(forward[-1], forward[-2])


def word_scores(session, lines, texts):
    characters = ["", *(DATA / "ppocr_keys_v1.txt").read_text().split("\n")[:6623], " "]
    number = {character: k for k, character in reversed(list(enumerate(characters)))}
    said, right = [], []
    for at in range(0, len(texts), words.BATCH):
        (rows,) = session.run(lines[at:at + words.BATCH]).values()
        for row, read, text in zip(rows, words.decoded(rows, characters), texts[at:at + words.BATCH]):
            said.append(ctc(np.log(np.maximum(row, 1e-12)), [number[c] for c in text]))
            right.append(read.replace(" ", "") == text)
    return np.array(said), np.array(right)


def tasks():
    """Name, samples of the measurement, model, samples of the calibration, scores. A word has 40 rows of scores, an image one."""
    pixels, labels = images.colour_images("test")
    train = images.colour_images("train")[0][:CALIBRATING]
    yield "CIFAR-10", 16, ROOT / "examples/cifar/cifar.onnx", train, lambda session: image_scores(session, pixels[:IMAGES], labels[:IMAGES])
    texts, lines = words.lines(SENTENCES[CALIBRATION_SENTENCES:], WORDS, 2)
    samples = np.stack([sample["x"][0] for sample in words.samples()])
    yield "PP-OCR words", 4, MODELS / "ch_PP-OCRv4_rec_infer.onnx", samples, lambda session: word_scores(session, lines, texts)


def ranks(values):
    """Ranks from 0; equal values share their mean rank."""
    values = np.asarray(values, np.float64)
    return np.array([(values < one).sum() + ((values == one).sum() - 1) / 2 for one in values])


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else float("nan")


def interval(harms, lost):
    """Of the rank correlation with the mean loss, if the samples are drawn again; `lost`: [layer, sample]."""
    rng, found = np.random.default_rng(1), []
    for _ in range(DRAWN):
        found.append(spearman(harms, lost[:, rng.integers(lost.shape[1], size=lost.shape[1])].mean(1)))
    return np.nanpercentile(found, [2.5, 97.5])


def with_itself(lost):
    """The rank correlation of the mean loss on all samples with that on as many others."""
    rng, found = np.random.default_rng(2), []
    for _ in range(100):
        order = rng.permutation(lost.shape[1])
        half = spearman(lost[:, order[::2]].mean(1), lost[:, order[1::2]].mean(1))
        found.append(2 * half / (1 + half))
    return np.nanmean(found)


def peak_memory(model, samples, layers):
    """Of the program, in MiB, with a small bound on the values that it keeps."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/samples.npy", samples)
        _, peak, _ = run([BUILD / "bin/anybit", "sensitivity", model, "--calib", f"{folder}/samples.npy", "--layers", layers,
                          "--max-kept", KEPT])
        return peak / 2**20


def measured(name, measure, scheme, model, samples, scores):
    begin = time.time()
    rules = {"weights": SCHEMES[scheme], "activations": "int8 asym"}
    found = anybit.sensitivity(model, {"global": rules}, samples, measure=measure)
    seconds = time.time() - begin
    session = anybit.Session(model)
    begin = time.time()
    session.run(samples[:1])
    before, right = scores(session)
    harms, moved, lost = [], [], []
    for layer in found.layers:
        if layer.alone.harm == 0:
            continue  # not quantized without its neighbours
        alone = anybit.quantize(model, {"global": "float", "name": {layer.node: rules}}, samples)
        after, still = scores(anybit.Session(alone))
        harms.append(layer.alone.harm)
        moved.append(np.sqrt(np.mean((after - before) ** 2)))
        lost.append(right.astype(int) - still.astype(int))
    estimates = [layer.estimate for layer in found.layers if layer.alone.harm != 0]
    brute = time.time() - begin
    lost = np.array(lost)
    points = 100 * lost.mean(1)
    low, high = interval(harms, lost)
    print(f"{name} {scheme}: {len(harms)} layers, {seconds:.1f} s, {found.runs} runs; brute force {brute:.0f} s", flush=True)
    return (f"| {name} | {scheme} | {len(harms)} | {np.median(points):.2f}, {points.max():.2f} | {spearman(harms, points):.2f} ({low:.2f} to {high:.2f}) | "
            f"{with_itself(lost):.2f} | {spearman(harms, moved):.2f} | {spearman(estimates, points):.2f} | {found.runs} | {seconds:.1f} s | {brute:.0f} s |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--weights", nargs="*", choices=SCHEMES, help="only these schemes")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    lines = ["| data | weights | layers | points lost: median, most | rank correlation: accuracy | brute force with itself | score | estimate: accuracy | runs | "
             "seconds | brute force |", "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    memory = []
    for name, measure, model, samples, scores in tasks():
        if options.only not in name:
            continue
        for scheme in options.weights or SCHEMES:
            lines.append(measured(name, measure, scheme, model, samples, scores))
        memory.append(f"{name}: {peak_memory(model, samples, 4):.0f} MiB for 4 layers, {peak_memory(model, samples, 1000):.0f} MiB for all")
    lines += ["", "Peak memory of the program with --max-kept of 32 MiB: " + "; ".join(memory) + "."]
    print("\n".join(lines))
    if options.write:
        document.put(options.write, "sensitivity", lines)


if __name__ == "__main__":
    main()
