"""Rounding between a Cast to a 16-bit float and the Cast back: done by the operator that makes the value, with the activations around it.
Everything else is float32, so the bits are those without fusion."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor

SEED = 20261119
HALF, FLOAT = TensorProto.FLOAT16, TensorProto.FLOAT
HARD = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, 65504, 65519, 65520, -65520, 6e-8, 2.0**-25, 1e-5, 1.00048828125], np.float32)


class Net:
    """Builds a model node by node; values are named by number."""

    def __init__(self):
        self.nodes, self.constants, self.count = [], [], 0

    def __call__(self, op, *inputs, **attributes):
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(op, [one if isinstance(one, str) else self.constant(one) for one in inputs], [name], **attributes))
        return name

    def constant(self, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def rounded(self, value, kind=HALF):
        return self("Cast", self("Cast", value, to=kind), to=FLOAT)

    def model(self, feeds, *outputs):
        inputs = [helper.make_tensor_value_info(name, FLOAT, value.shape) for name, value in feeds.items()]
        results = [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "g", inputs, results, self.constants)
        return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def check(net, feeds, outputs, steps):
    """`steps` remain after fusion, and the bits are those without it."""
    model = net.model(feeds, *outputs)
    fused, plain = Executor(model), Executor(model, fuse=False)
    if steps is not None:
        assert [step.split(":")[1] for step in fused.steps()] == steps
    for _ in range(2):  # the second run has planned memory
        for got, wanted in zip(fused.run(feeds), plain.run(feeds)):
            np.testing.assert_array_equal(got.view(np.uint32), wanted.view(np.uint32))


def floats(rng, *shape):
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 5, shape)).astype(np.float32)


def hard(rng, *shape):
    values = floats(rng, *shape).ravel()
    values[rng.permutation(values.size)[:len(HARD)]] = HARD[:values.size]
    return values.reshape(shape)


@pytest.mark.parametrize("kind", [HALF, TensorProto.BFLOAT16])
@pytest.mark.parametrize("channels", [5, 8, 24])
def test_a_convolution_rounds_its_results_and_applies_what_follows(kind, channels):
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": floats(rng, 2, 8, 9, 9)}
    conv = net("Conv", "x", floats(rng, channels, 8, 3, 3), floats(rng, channels))
    gate = net("HardSigmoid", net.rounded(conv, kind), alpha=0.17, beta=0.4)
    check(net, feeds, [net.rounded(net("Clip", gate, np.float32(-65504), np.float32(65504)), kind)], ["Conv"])


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("other", [(3, 40, 50), (1, 40, 1), (50,), ()])
def test_arithmetic_rounds_its_results(op, other):
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 3, 40, 50), "y": floats(rng, *other)}
    check(net, feeds, [net.rounded(net(op, "x", "y"))], [op])


def test_limits_before_rounding_belong_to_it():
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 7, 5000)}
    check(net, feeds, [net.rounded(net("Clip", "x", np.float32(-65504), np.float32(65504)))], ["Clip"])


def test_a_sum_of_many_is_rounded_once_at_the_end():
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {name: hard(rng, 4, 300) for name in "abc"}
    check(net, feeds, [net.rounded(net("Sum", "a", "b", "c"))], ["Sum"])


def test_one_input_of_a_sum_is_not_changed():
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 4, 300)}
    y = net("Neg", "x")
    check(net, feeds, [net.rounded(net("Sum", y)), net("Abs", y)], None)


def test_channels_that_fill_up_a_block_stay_zero():
    """The next convolution multiplies them by zero: 0.4 there would do no harm, infinity would."""
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": floats(rng, 1, 8, 6, 6)}
    first = net("Conv", "x", floats(rng, 5, 8, 1, 1))
    gate = net("HardSigmoid", net.rounded(net("Add", first, floats(rng, 5, 1, 1))), alpha=0.2, beta=0.5)
    check(net, feeds, [net("Conv", gate, floats(rng, 8, 5, 3, 3))], None)


@pytest.mark.parametrize("mode, last", [("nearest", "Neg"), ("linear", "Elementwise")])
def test_values_that_are_rounded_are_not_rounded_again(mode, last):
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 1, 3, 4, 4), "y": hard(rng, 1, 3, 8, 8)}
    sizes = np.array([1, 1, 2, 2], np.float32)
    grown = net("Resize", net.rounded("x"), "", sizes, mode=mode)
    both = net.rounded(net("Concat", grown, net.rounded("y"), axis=1))
    check(net, feeds, [net("Neg", both)], ["CastThrough", "Resize", "CastThrough", "Concat", last])


def test_values_of_another_type_are_rounded_again():
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 3, 20)}
    check(net, feeds, [net("Neg", net.rounded(net.rounded("x"), TensorProto.BFLOAT16))], ["CastThrough", "CastThrough", "Neg"])


def test_a_result_that_others_use_unrounded_is_not_changed():
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 3, 20)}
    total = net("Add", "x", np.float32(1))
    check(net, feeds, [net("Neg", net.rounded(total)), total], ["Add", "Elementwise"])


def limited(net, value):
    return net.rounded(net("Clip", value, np.float32(-65504), np.float32(65504)))


@pytest.mark.parametrize("channels", [1, 3, 4, 7])
@pytest.mark.parametrize("wild", [False, True])
def test_a_convolution_of_few_channels_limits_and_rounds_its_input(channels, wild):
    """Weights that are not finite are computed in another way."""
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 2, channels, 11, 90)}
    weights = floats(rng, 9, channels, 3, 5)
    weights[0, 0, 0, 0] = np.inf if wild else 1
    check(net, feeds, [net("Conv", limited(net, "x"), weights, pads=[1, 2, 1, 2])], ["Conv"])


def test_an_input_is_not_changed_in_the_padding():
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 1, 3, 8, 8)}
    gate = net.rounded(net("HardSigmoid", "x", alpha=0.2, beta=0.5))
    check(net, feeds, [net("Conv", gate, floats(rng, 8, 3, 3, 3), pads=[1, 1, 1, 1])], ["HardSigmoid", "Conv"])


def test_an_input_that_others_use_is_not_changed():
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 1, 3, 8, 8)}
    value = limited(net, "x")
    check(net, feeds, [net("Conv", value, floats(rng, 8, 3, 3, 3)), net("Neg", value)], ["Clip", "Conv", "Neg"])


def test_values_are_rounded_before_they_are_moved():
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 1, 8, 4, 4), "y": hard(rng, 1, 8, 8, 8)}
    grown = net("Resize", net("Add", "x", floats(rng, 8, 1, 1)), "", np.array([1, 1, 2, 2], np.float32), mode="nearest")
    both = net("Concat", grown, net("Mul", "y", floats(rng, 8, 1, 1)), axis=1)
    check(net, feeds, [limited(net, both)], ["Add", "Resize", "Mul", "Concat"])


@pytest.mark.parametrize("mode, users", [("linear", 1), ("nearest", 2)])
def test_values_between_others_or_that_others_use_are_not_rounded_before_they_are_moved(mode, users):
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 1, 8, 4, 4), "y": hard(rng, 1, 8, 8, 8)}
    value = net("Add", "x", floats(rng, 8, 1, 1))
    grown = net("Resize", value, "", np.array([1, 1, 2, 2], np.float32), mode=mode)
    ends = [limited(net, net("Concat", grown, net("Mul", "y", floats(rng, 8, 1, 1)), axis=1))]
    ends += [net("Neg", value)] * (users - 1)
    check(net, feeds, ends, ["Add", "Resize", "Mul", "Concat", "Clip"] + ["Neg"] * (users - 1))


@pytest.mark.parametrize("count", [2, 3, 9])
def test_sums_of_rounded_sums_are_one_pass(count):
    rng, net = np.random.default_rng(SEED), Net()
    feeds = {"x": hard(rng, 1, 8, 5, 30)} | {f"y{i}": hard(rng, 1, 8, 5, 30) for i in range(4)}
    value = "x"
    for i in range(count):
        value = net.rounded(net(["Add", "Mul"][i % 2], value, f"y{i % 4}"))
    check(net, feeds, [value], ["Elementwise"] if count < 9 else ["Add", "Elementwise"])


def random_net(seed):
    rng, net = np.random.default_rng(seed), Net()
    feeds = {"x": hard(rng, 2, int(rng.integers(1, 20)), int(rng.integers(1, 9)), int(rng.integers(1, 9)))}
    values = [("x", feeds["x"].shape[1])]
    for _ in range(int(rng.integers(3, 15))):
        value, channels = values[rng.integers(len(values))]
        kind = int(rng.integers(9))
        if kind == 0:
            wide = int(rng.integers(1, 20))
            # Unrounded, a sum behind it would be added in another order.
            value, channels = net.rounded(net("Conv", value, floats(rng, wide, channels, 1, 1))), wide
        elif kind == 1:
            value = net(str(rng.choice(["Add", "Mul", "Sub"])), value, floats(rng, channels, 1, 1))
        elif kind == 2:
            value = net("Clip", value, np.float32(-65504), np.float32(rng.choice([6, 65504])))
        elif kind == 3:
            value = net("HardSigmoid", net.rounded(value), alpha=0.3)
        elif kind == 4:
            same = [other for other, wide in values if wide == channels]
            value = net("Add", value, same[rng.integers(len(same))])
        elif kind == 5:
            value = net("Transpose", value, perm=[0, 1, 2, 3]) if rng.random() < 0.5 else net("Relu", net.rounded(value))
        elif kind == 6:
            value = net("LeakyRelu", net.rounded(value), alpha=0.1)
        elif kind == 7:
            other, wide = values[rng.integers(len(values))]
            value, channels = limited(net, net("Concat", value, other, axis=1)), channels + wide
        else:
            ones = np.array([1, 1, 1, 1], np.float32)
            value = limited(net, net("Resize", net("Mul", value, floats(rng, 1)), "", ones, mode="nearest"))
        values.append((net.rounded(value) if rng.random() < 0.6 else value, channels))
    ends = {values[i][0] for i in rng.integers(1, len(values), 2)} - {"x"}
    return net, feeds, sorted(ends | {values[-1][0]} - {"x"})


@pytest.mark.parametrize("seed", range(SEED, SEED + 60))
def test_random_networks_have_the_bits_of_the_unfused_ones(seed):
    net, feeds, ends = random_net(seed)
    check(net, feeds, ends, None)
