"""A transformer's encoder of two layers, of random weights: attention with four heads, normalization, and Gelu by its error function."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, TOKENS, HIDDEN, LAYERS, CLASSES = 48, 4, 12, 96, 2, 10


class Builder:
    def __init__(self, rng):
        self.rng, self.nodes, self.constants = rng, [], []

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def op(self, kind, *inputs, name, **attributes):
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"{name}/{kind}", **attributes))
        return name

    def linear(self, x, name, rows, columns):
        weight = self.constant(f"{name}.weight", np.float32(self.rng.standard_normal((rows, columns)) / np.sqrt(rows)))
        bias = self.constant(f"{name}.bias", np.float32(self.rng.standard_normal(columns) * 0.1))
        return self.op("Add", self.op("MatMul", x, weight, name=f"{name}.product"), bias, name=name)

    def norm(self, x, name):
        scale = self.constant(f"{name}.scale", np.float32(1 + 0.1 * self.rng.standard_normal(WIDTH)))
        shift = self.constant(f"{name}.shift", np.float32(0.1 * self.rng.standard_normal(WIDTH)))
        return self.op("LayerNormalization", x, scale, shift, name=name, axis=-1)

    def heads(self, x, name, order):
        split = self.op("Reshape", x, "heads", name=f"{name}.split")
        return self.op("Transpose", split, name=name, perm=order)

    def attention(self, x, name):
        q, k, v = (self.heads(self.linear(x, f"{name}.{part}", WIDTH, WIDTH), f"{name}.{part}.heads", order)
                   for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])))
        scores = self.op("Mul", self.op("MatMul", q, k, name=f"{name}.products"), "root", name=f"{name}.scores")
        mixed = self.op("MatMul", self.op("Softmax", scores, name=f"{name}.shares", axis=-1), v, name=f"{name}.mixed")
        joined = self.op("Reshape", self.op("Transpose", mixed, name=f"{name}.turned", perm=[0, 2, 1, 3]), "joined", name=f"{name}.joined")
        return self.linear(joined, f"{name}.out", WIDTH, WIDTH)

    def gelu(self, x, name):
        erf = self.op("Erf", self.op("Div", x, "root2", name=f"{name}.scaled"), name=f"{name}.erf")
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, "one", name=f"{name}.above"), name=f"{name}.twice"), "half", name=name)

    def layer(self, x, name):
        x = self.op("Add", x, self.attention(self.norm(x, f"{name}.norm1"), f"{name}.attention"), name=f"{name}.attended")
        hidden = self.gelu(self.linear(self.norm(x, f"{name}.norm2"), f"{name}.up", WIDTH, HIDDEN), f"{name}.gelu")
        return self.op("Add", x, self.linear(hidden, f"{name}.down", HIDDEN, WIDTH), name=f"{name}.result")


def encoder(seed):
    made = Builder(np.random.default_rng(seed))
    made.constant("heads", np.int64([0, TOKENS, HEADS, WIDTH // HEADS]))
    made.constant("joined", np.int64([0, TOKENS, WIDTH]))
    for name, value in (("root", (WIDTH // HEADS) ** -0.5), ("root2", 2**0.5), ("one", 1), ("half", 0.5)):
        made.constant(name, np.float32(value))
    x = "tokens"
    for i in range(LAYERS):
        x = made.layer(x, f"layer{i}")
    made.linear(made.norm(x, "norm"), "logits", WIDTH, CLASSES)
    graph = helper.make_graph(made.nodes, "encoder", [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["n", TOKENS, WIDTH])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", TOKENS, CLASSES])], made.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model
