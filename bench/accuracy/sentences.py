"""The sentence encoder all-MiniLM-L6-v2: similarity of its embeddings to those of the float model."""
import functools
import re

import numpy as np

from .models import session
from .task import CALIBRATION_SENTENCES, MODELS, SENTENCES, Measure, Scores, Task

MODEL = MODELS / "large" / "all-MiniLM-L6-v2.onnx"
VOCABULARY = MODELS / "large" / "all-MiniLM-L6-v2.vocab.txt"


@functools.cache
def vocabulary():
    return {piece: number for number, piece in enumerate(VOCABULARY.read_text().splitlines())}


def pieces(word):
    """WordPiece: the longest known pieces from left to right; a piece that continues a word begins with ##."""
    found, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary():
                found.append(vocabulary()[piece])
                start = end
                break
        else:
            return [vocabulary()["[UNK]"]]
    return found


def feeds(sentence):
    words = re.findall(r"[a-z0-9]+|[^a-z0-9\s]", sentence.lower())
    tokens = [vocabulary()["[CLS]"], *(p for word in words for p in pieces(word)), vocabulary()["[SEP]"]]
    ids = np.array([tokens], np.int64)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


def embeddings(run):
    """One row of unit length per sentence: the mean over its tokens."""
    rows = np.stack([run(feeds(line))[0][0].mean(0) for line in SENTENCES[CALIBRATION_SENTENCES:]])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@functools.cache
def expected():
    return embeddings(session(MODEL))


def nearest(rows):
    likeness = rows @ rows.T
    np.fill_diagonal(likeness, -1)
    return likeness.argmax(1)


def scores(run):
    rows = embeddings(run)
    cosine = (rows * expected()).sum(1)
    return Scores([float(cosine.mean()), float(cosine.min()), 100 * float((nearest(rows) == nearest(expected())).mean())], cosine)


def samples():
    return [feeds(line) for line in SENTENCES[:CALIBRATION_SENTENCES]]


def tasks():
    measures = (Measure("cosine, mean", "", 4, 0.001), Measure("cosine, min", "", 4, 0.005),
                Measure("same nearest neighbour", "%", 1, 5.0))
    yield Task("sentences", MODEL, ("int8", "dynamic-int8"), measures, samples, scores)
