"""Random graphs of the patterns of passes, before and after preparation: the outputs are equal."""
import random

import numpy as np
import onnx
import pytest
from onnx import helper
from support.executing import Executor, prepare


class Maker:
    """A graph that grows node by node; it tracks shapes, so that new nodes are valid."""

    def __init__(self, seed):
        self.rng, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.constants, self.shapes = [], {}, {"x": (2, 4, 6, 6)}

    def values(self, *shape):
        return self.numbers.normal(size=shape).astype(np.float32)

    def constant(self, array):
        name = f"k{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def add(self, op_type, inputs, shape, **attributes):
        """A node; nothing is added after a value without a shape."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        if shape:
            self.shapes[name] = shape
        return name

    # Each appends nodes after `x` of shape `s`; those for images or matrices only say so.
    def conv(self, x, s):
        channels, size = self.rng.choice([3, 4]), self.rng.choice([1, 3])
        pad = self.rng.choice([0, 1]) if size == 3 else 0
        if min(s[2:]) + 2 * pad >= size:
            shape = (s[0], channels, *(side + 2 * pad - size + 1 for side in s[2:]))
            self.add("Conv", [x, self.constant(self.values(channels, s[1], size, size))], shape, pads=[pad] * 4)

    def conv_transpose(self, x, s):
        if max(s[2:]) < 20:
            weights = self.constant(self.values(s[1], 3, 2, 2))
            self.add("ConvTranspose", [x, weights], (s[0], 3, 2 * s[2], 2 * s[3]), strides=[2, 2])

    def by_channel(self, x, s):
        shape = self.rng.choice([(s[1], 1, 1), (1, s[1], 1, 1)])
        pair = [x, self.constant(self.values(*shape))]
        self.add(self.rng.choice(["Mul", "Add", "Sub"]), self.rng.sample(pair, 2), s)

    def matmul_add(self, x, s):
        matmul = self.add("MatMul", [x, self.constant(self.values(s[1], 5))], (s[0], 5))
        self.add("Add", self.rng.sample([matmul, self.constant(self.values(5))], 2), (s[0], 5))

    def gemm(self, x, s):
        self.add("Gemm", [x, self.constant(self.values(4, s[1])), self.constant(self.values(4))], (s[0], 4), transB=1,
                 beta=self.rng.choice([1.0, 0.5]))

    def norm(self, x, s):
        numbers = [self.constant(self.values(s[1])) for _ in range(3)] + [self.constant(np.abs(self.values(s[1])) + 0.1)]
        self.add("BatchNormalization", [x, *numbers], s)

    def nothing(self, x, s):
        kind = self.rng.randrange(5)
        if kind < 3:
            self.add(("Identity", "Dropout", "Relu")[kind], [x], s)
        elif kind == 3:
            self.add("Pad", [x, self.constant(np.zeros(2 * len(s), np.int64))], s)
        else:
            self.add("Reshape", [x, self.add("Shape", [x], None)], s)

    def number(self, x, s):
        one = self.constant(np.float32(self.rng.choice([1.0, 0.5, 2.0])))
        self.add(self.rng.choice(["Mul", "Add", "Sub", "Div"]), [x, one], s)

    def computed_number(self, x, s):
        exp = self.add("Exp", [self.constant(self.values(3))], None)
        total = self.add("ReduceSum", [exp], None, keepdims=0)
        self.add("Div", [x, total], s)

    def transpose(self, x, s):
        order = list(range(len(s)))
        if self.rng.random() < 0.6:
            self.rng.shuffle(order)
        self.add("Transpose", [x], tuple(s[i] for i in order), perm=order)

    def flatten(self, x, s):
        self.add("Reshape", [x, self.constant(np.array([s[0], -1]))], (s[0], int(np.prod(s[1:]))))

    def residual(self, x, s):
        self.add("Add", [x, self.rng.choice([name for name, shape in self.shapes.items() if shape == s])], s)

    def silu(self, x, s):
        self.add("Mul", [x, self.add("Sigmoid", [x], s)], s)

    def branch(self, x, s):
        port = helper.make_tensor_value_info("t", 1, [None] * len(s))
        bodies = {key: helper.make_graph([helper.make_node(op_type, [x], ["t"])], key, [], [port])
                  for key, op_type in (("then_branch", "Relu"), ("else_branch", "Identity"))}
        self.add("If", [self.constant(np.array(self.rng.random() < 0.5))], s, **bodies)

    def model(self):
        convolutions, matrices = [self.conv, self.conv_transpose, self.by_channel], [self.matmul_add, self.gemm]
        anything = [self.norm, self.nothing, self.number, self.computed_number, self.transpose, self.flatten, self.residual,
                    self.silu, self.branch]
        for _ in range(self.rng.randint(3, 14)):
            x = self.rng.choice(list(self.shapes)[-4:])
            s = self.shapes[x]
            self.rng.choice(anything + (convolutions * 2 if len(s) == 4 else matrices * 3))(x, s)
        names = [name for name in self.shapes if name != "x"]
        outputs = {*self.rng.sample(names, min(len(names), 2)), names[-1]} if names else {"x"}
        port = lambda name, dims: helper.make_tensor_value_info(name, 1, dims)
        batch = self.rng.choice(["n", 2])
        graph = helper.make_graph(self.nodes, "g", [port("x", [batch, 4, 6, 6])],
                                  [port(name, [None] * len(self.shapes[name])) for name in names if name in outputs],
                                  [onnx.numpy_helper.from_array(value, name) for name, value in self.constants.items()])
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_random_graphs_give_the_same(first):
    for seed in range(first, first + 50):
        maker = Maker(seed)
        model, feeds = maker.model(), {"x": maker.values(2, 4, 6, 6)}
        if not model.graph.output:
            continue
        after, changes = prepare(model)
        for one, other in zip(Executor(model).run(feeds), Executor(after).run(feeds)):
            largest = max(float(np.abs(one).max()), 1e-30)
            np.testing.assert_allclose(other, one, rtol=0, atol=2e-5 * largest, err_msg=f"seed {seed}, {changes}")
        again = prepare(after)[1]
        assert not any(again.values()), f"seed {seed}: {again}"
