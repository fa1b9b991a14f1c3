"""The layers of the digits network in plain numpy: forward, backward, and their ONNX nodes.

Activations are [batch, height, width, channels], so that a convolution is one matrix multiplication over rows of
patches; `export` transposes the weights into ONNX's channel-first order.
"""
import numpy as np

EPSILON = 1e-5
MOMENTUM = 0.9


def patches(x):
    """All 3x3 neighbourhoods of a zero-padded x: [batch, height, width, 3, 3, channels], a view."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    n, h, w, c = x.shape
    sn, sh, sw, sc = padded.strides
    return np.lib.stride_tricks.as_strided(padded, (n, h, w, 3, 3, c), (sn, sh, sw, sh, sw, sc))


class Layer:
    """`parameters` are trained, `gradients` has the same keys after backward, `state` is not trained."""

    def __init__(self, name):
        self.name = name
        self.parameters, self.gradients, self.state = {}, {}, {}

    def layers(self):
        yield self


class Conv(Layer):
    """A 3x3 (same padding) or 1x1 convolution without bias, which the following normalization has."""

    def __init__(self, name, rng, inputs, outputs, kernel=3):
        super().__init__(name)
        self.kernel = kernel
        fan_in = kernel * kernel * inputs
        self.parameters["weight"] = rng.normal(0, np.sqrt(2 / fan_in), (kernel, kernel, inputs, outputs))

    def _multiply(self, x, weight):
        rows = patches(x) if self.kernel == 3 else x
        matrix = weight.reshape(-1, weight.shape[-1])
        rows = rows.reshape(-1, len(matrix))
        return rows, (rows @ matrix).reshape(*x.shape[:3], -1)

    def forward(self, x, training):
        self.rows, y = self._multiply(x, self.parameters["weight"])
        return y

    def backward(self, dy):
        weight = self.parameters["weight"]
        self.gradients["weight"] = (self.rows.T @ dy.reshape(-1, dy.shape[-1])).reshape(weight.shape)
        # The gradient of a same-padded convolution is a convolution with the kernel rotated by 180 degrees.
        return self._multiply(dy, weight[::-1, ::-1].swapaxes(2, 3))[1]

    def export(self, graph, x):
        weight = graph.tensor(f"{self.name}.weight", self.parameters["weight"].transpose(3, 2, 0, 1))
        pad = self.kernel // 2
        return graph.node("Conv", self.name, [x, weight], kernel_shape=[self.kernel] * 2, pads=[pad] * 4)


class Depthwise(Layer):
    """A depthwise 3x3 convolution."""

    def __init__(self, name, rng, channels):
        super().__init__(name)
        self.parameters["weight"] = rng.normal(0, np.sqrt(2 / 9), (3, 3, channels))

    def forward(self, x, training):
        self.x = patches(x)
        return self._sum(self.x, self.parameters["weight"])

    def _sum(self, windows, weight):
        return sum(windows[:, :, :, i, j] * weight[i, j] for i in range(3) for j in range(3))

    def backward(self, dy):
        weight = self.parameters["weight"]
        self.gradients["weight"] = np.stack(
            [[(self.x[:, :, :, i, j] * dy).sum((0, 1, 2)) for j in range(3)] for i in range(3)])
        return self._sum(patches(dy), weight[::-1, ::-1])

    def export(self, graph, x):
        values = self.parameters["weight"].transpose(2, 0, 1)[:, None]
        weight = graph.tensor(f"{self.name}.weight", values)
        return graph.node("Conv", self.name, [x, weight], kernel_shape=[3, 3], pads=[1] * 4, group=len(values))


class BatchNorm(Layer):
    def __init__(self, name, channels):
        super().__init__(name)
        self.parameters["scale"], self.parameters["bias"] = np.ones(channels), np.zeros(channels)
        self.state["mean"], self.state["variance"] = np.zeros(channels), np.ones(channels)

    def forward(self, x, training):
        if training:
            flat = x.reshape(-1, x.shape[-1])
            mean = flat.mean(0)
            centred = flat - mean
            variance = np.einsum("ij,ij->j", centred, centred) / len(flat)
            for key, value in (("mean", mean), ("variance", variance)):
                self.state[key] = MOMENTUM * self.state[key] + (1 - MOMENTUM) * value
        else:
            centred, variance = x.reshape(-1, x.shape[-1]) - self.state["mean"], self.state["variance"]
        self.inverse = 1 / np.sqrt(variance + EPSILON)
        self.normalized = centred * self.inverse
        return (self.normalized * self.parameters["scale"] + self.parameters["bias"]).reshape(x.shape)

    def backward(self, dy):
        flat = dy.reshape(-1, dy.shape[-1])
        bias = flat.sum(0)
        scale = np.einsum("ij,ij->j", flat, self.normalized)
        self.gradients["scale"], self.gradients["bias"] = scale, bias
        dx = flat - self.normalized * (scale / len(flat)) - bias / len(flat)
        return (dx * (self.parameters["scale"] * self.inverse)).reshape(dy.shape)

    def export(self, graph, x):
        tensors = [graph.tensor(f"{self.name}.{key}", value) for key, value in
                   (*self.parameters.items(), *self.state.items())]
        return graph.node("BatchNormalization", self.name, [x, *tensors], epsilon=EPSILON, momentum=MOMENTUM)


class Relu(Layer):
    def forward(self, x, training):
        self.y = np.maximum(x, 0)
        return self.y

    def backward(self, dy):
        return dy * (self.y > 0)

    def export(self, graph, x):
        return graph.node("Relu", self.name, [x])


class MaxPool(Layer):
    """2x2, stride 2. All equal maxima get the gradient: after a Relu that only happens at 0, where the gradient is zero."""

    def forward(self, x, training):
        self.corners = [x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]
        self.y = np.maximum(np.maximum(*self.corners[:2]), np.maximum(*self.corners[2:]))
        return self.y

    def backward(self, dy):
        n, h, w, c = dy.shape
        dx = np.empty((n, 2 * h, 2 * w, c), dy.dtype)
        for k, corner in enumerate(self.corners):
            dx[:, k // 2::2, k % 2::2] = dy * (corner == self.y)
        return dx

    def export(self, graph, x):
        return graph.node("MaxPool", self.name, [x], kernel_shape=[2, 2], strides=[2, 2])


class GlobalAverage(Layer):
    def forward(self, x, training):
        self.shape = x.shape
        return x.mean((1, 2))

    def backward(self, dy):
        _, h, w, _ = self.shape
        return np.broadcast_to((dy / (h * w))[:, None, None], self.shape).copy()

    def export(self, graph, x):
        pooled = graph.node("GlobalAveragePool", f"{self.name}/pool", [x])
        return graph.node("Flatten", f"{self.name}/flatten", [pooled])


class Linear(Layer):
    def __init__(self, name, rng, inputs, outputs):
        super().__init__(name)
        self.parameters["weight"] = rng.normal(0, np.sqrt(1 / inputs), (outputs, inputs))
        self.parameters["bias"] = np.zeros(outputs)

    def forward(self, x, training):
        self.x = x
        return x @ self.parameters["weight"].T + self.parameters["bias"]

    def backward(self, dy):
        self.gradients["weight"], self.gradients["bias"] = dy.T @ self.x, dy.sum(0)
        return dy @ self.parameters["weight"]

    def export(self, graph, x):
        tensors = [graph.tensor(f"{self.name}.{key}", value) for key, value in self.parameters.items()]
        return graph.node("Gemm", self.name, [x, *tensors], transB=1)


class Chain(Layer):
    def __init__(self, name, *parts):
        super().__init__(name)
        self.parts = parts

    def layers(self):
        for part in self.parts:
            yield from part.layers()

    def forward(self, x, training):
        for part in self.parts:
            x = part.forward(x, training)
        return x

    def backward(self, dy):
        for part in reversed(self.parts):
            dy = part.backward(dy)
        return dy

    def export(self, graph, x):
        for part in self.parts:
            x = part.export(graph, x)
        return x


class Residual(Chain):
    """x + chain(x)."""

    def forward(self, x, training):
        return x + super().forward(x, training)

    def backward(self, dy):
        return dy + super().backward(dy)

    def export(self, graph, x):
        return graph.node("Add", f"{self.name}/add", [x, super().export(graph, x)])
