"""Labelled images: MNIST digits and CIFAR-10, all 10,000 test images of each; calibrated on training images."""
import importlib.util

import numpy as np

from .task import DATA, ROOT, Measure, Scores, Task

SAMPLES = 128
BATCH = 100


def module(example, name):
    """A module of an example; both examples have modules of the same name."""
    path = ROOT / "examples" / example / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{example}_{name}", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def digits(part):
    """Normalized images and labels of `part`, train or t10k."""
    folder = DATA / "mnist"
    images = np.fromfile(folder / f"{part}-images-idx3-ubyte", np.uint8)[16:].reshape(-1, 1, 28, 28)
    labels = np.fromfile(folder / f"{part}-labels-idx1-ubyte", np.uint8)[8:]
    return ((images.astype(np.float32) / 255 - 0.1307) / 0.3081).astype(np.float32), labels


def colour_images(part):
    cifar = module("cifar", "data")
    images, labels = cifar.load(DATA / "cifar", part)
    return cifar.normalize(images), labels


def top_1(images, labels):
    def scores(run):
        right = np.concatenate([run({"image": images[at:at + BATCH]})[0].argmax(1) == labels[at:at + BATCH]
                                for at in range(0, len(images), BATCH)])
        return Scores([100 * int(right.sum()) / len(images)], 100 * right)
    return scores


def tasks():
    for name, load, parts, noise in (("digits", digits, ("train", "t10k"), 0.15),
                                     ("cifar", colour_images, ("train", "test"), 0.5)):
        def samples(load=load, part=parts[0]):
            return [{"image": image[None]} for image in load(part)[0][:SAMPLES]]

        def scores(run, load=load, part=parts[1]):
            return top_1(*load(part))(run)

        yield Task(name, ROOT / "examples" / name / f"{name}.onnx", ("int8",),
                   (Measure("top-1", "%", 2, noise),), samples, scores)
