"""The network in PyTorch: a whitening stem, depthwise-separable blocks with residuals, a linear head."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional

STEM = 64
# Output channels and stride of each block: 16x16, then 8x8, then 4x4.
BLOCKS = [(64, 1), (128, 2), (128, 1), (128, 1), (128, 1), (256, 2), (256, 1), (256, 1)]
CLASSES = 10


class Separable(nn.Module):
    """Depthwise 3x3, normalization, Relu, pointwise 1x1, normalization; plus the input if the shape is the same; Relu."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.depthwise = nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False)
        self.depthwise_norm = nn.BatchNorm2d(inputs)
        self.pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.pointwise_norm = nn.BatchNorm2d(outputs)
        self.residual = inputs == outputs and stride == 1

    def forward(self, x):
        y = functional.relu(self.depthwise_norm(self.depthwise(x)), inplace=True)
        y = self.pointwise_norm(self.pointwise(y))
        return functional.relu(y + x if self.residual else y, inplace=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, STEM, 4, 2, 1)
        channels, blocks = STEM, []
        for outputs, stride in BLOCKS:
            blocks.append(Separable(channels, outputs, stride))
            channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, CLASSES)

    def forward(self, x):
        x = self.blocks(functional.relu(self.stem(x), inplace=True))
        return self.head(x.mean((2, 3)))


def whiten(stem, images):
    """Sets the stem to the principal components of 4x4 patches, each with both signs (a Relu follows), and freezes it.

    Such filters are what a first layer learns anyway; given from the start they save epochs.
    """
    windows = np.lib.stride_tricks.sliding_window_view(images, (4, 4), axis=(2, 3))[:, :, ::4, ::4]
    patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, 48).astype(np.float64)
    values, vectors = np.linalg.eigh(patches.T @ patches / len(patches))
    kept = (vectors / np.sqrt(values + 0.005))[:, ::-1][:, :STEM // 2].T.reshape(-1, 3, 4, 4)
    with torch.no_grad():
        stem.weight.copy_(torch.from_numpy(np.concatenate([kept, -kept])))
        stem.bias.zero_()
    stem.requires_grad_(False)
