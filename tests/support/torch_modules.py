"""Modules of PyTorch for tests/python/test_torch.py; importing this needs torch."""
import torch
from torch import nn


class Sub(nn.Module):
    """Named like an operator of ONNX."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))) + 0.5


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.sub = Sub(1, 4), Sub(4, 4)
        self.row = nn.Sequential(Sub(4, 4), nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU()))
        self.several = nn.ModuleList([nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 1)])

    def forward(self, x):
        x = self.row(self.sub(self.first(x)))
        for one in self.several:
            x = one(x)
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.norm, self.head = Blocks(), nn.LayerNorm(4), nn.Linear(4, 3)

    def forward(self, image):
        return self.head(self.norm(self.blocks(image).mean((2, 3))))


class Two(nn.Module):
    """Two inputs, one of them optional in Python; two results in a dict."""

    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, a, b, scale=2.0):
        return {"sum": self.one(a) + self.other(b), "scaled": a * scale}


class Fixed(nn.Module):
    """Takes a batch of two and no other."""

    def forward(self, x):
        assert int(x.shape[0]) == 2
        return x.reshape(2, 3, -1).sum(2)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.1) for _ in range(2)])

    def forward(self, words):
        x = self.words(words)
        for layer in self.layers:
            x = layer(x)
        return x


class Untraceable(nn.Module):
    def forward(self, x):
        raise ValueError("this module computes nothing")


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.positive, self.negative = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.positive, self.negative, (x,))


def net():
    """With statistics of BatchNormalization that are not those of a new module."""
    torch.manual_seed(0)
    made = Net()
    for one in made.modules():
        if isinstance(one, nn.BatchNorm2d):
            one.running_mean.normal_()
            one.running_var.uniform_(0.5, 2)
        if isinstance(one, (nn.LayerNorm, nn.Linear)):
            one.bias.data.normal_()
    return made.eval()
