"""Operators of ai.anybit.training: gradients against the operators whose adjoints or derivatives they are, in float64
on random shapes; float32 against float64, also in blocked layouts; the same bits for any number of threads."""
import itertools
import os

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.executing import NUMBERS, Executor, ExecutorError
from support.one_node import model_of, ours

DOMAIN = "ai.anybit.training"
SEED = int(os.environ.get("ANYBIT_SEED", 27))
HALF = 1e-6  # of a central difference


def run(op, inputs, outputs=1, domain="", threads=1, **attributes):
    types = attributes.pop("types", None)
    return ours(model_of(op, inputs, outputs, domain=domain, types=types, **attributes), inputs, threads=threads)


def gradient(op, inputs, outputs=1, threads=1, **attributes):
    """Its outputs; also checks that three threads give the same bits."""
    kind = NUMBERS[np.asarray(next(x for x in inputs if x is not None and x.dtype.kind == "f")).dtype]
    count = outputs if isinstance(outputs, int) else len(outputs)
    found = run(op, inputs, outputs, DOMAIN, types=[kind] * count, **attributes)
    for one, other in zip(found, run(op, inputs, outputs, DOMAIN, threads=3, types=[kind] * count, **attributes)):
        np.testing.assert_array_equal(one, other)
    return found


def blocked(op, inputs, by_channel, **attributes):
    """One output in float32; the inputs `by_channel` come out of a convolution, so they are blocked by channels."""
    nodes, ports, kept, names = [], [], [], []
    for i, x in enumerate(inputs):
        name = f"x{i}" if x is not None else ""
        if x is not None:
            ports.append(helper.make_tensor_value_info(name, NUMBERS[x.dtype], x.shape))
        if i in by_channel:
            weight = np.eye(x.shape[1], dtype=np.float32).reshape(x.shape[1], x.shape[1], *[1] * (x.ndim - 2))
            kept.append(helper.make_tensor(f"w{i}", TensorProto.FLOAT, weight.shape, weight.flatten()))
            nodes.append(helper.make_node("Conv", [name, f"w{i}"], [f"c{i}"]))
            name = f"c{i}"
        names.append(name)
    nodes.append(helper.make_node(op, names, ["y"], domain=DOMAIN, **attributes))
    graph = helper.make_graph(nodes, "one", ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], kept)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22), helper.make_opsetid(DOMAIN, 1)], ir_version=10)
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    one, other = (Executor(model.SerializeToString(), threads=threads).run(feeds)[0] for threads in (1, 3))
    np.testing.assert_array_equal(one, other)
    return one


def as_float(inputs):
    return [x.astype(np.float32) if x is not None and x.dtype == np.float64 else x for x in inputs]


def close(found, wanted, relative=1e-9):
    assert found.shape == wanted.shape
    largest = max(1e-30, np.abs(wanted).max(initial=0))
    np.testing.assert_allclose(found / largest, wanted / largest, rtol=0, atol=relative)


def check_float(op, inputs, wanted, by_channel=(), **attributes):
    """float32 in every layout agrees with float64."""
    small = as_float(inputs)
    close(gradient(op, small, **attributes)[0], wanted, 3e-6)
    if by_channel:
        close(blocked(op, small, by_channel, **attributes), wanted, 3e-6)


def shape_of(x):
    return np.array(x.shape, np.int64)


# ---- Convolution

def random_conv(random, axes, number):
    kernel = [int(k) for k in random.integers(1, 4, axes)]
    attributes = {"strides": [int(s) for s in random.integers(1, 3, axes)]}
    if number % 3 == 2:
        attributes["auto_pad"] = str(random.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    else:
        attributes["pads"] = [int(random.integers(0, k)) for k in kernel] + [int(random.integers(0, k)) for k in kernel]
        attributes["dilations"] = [int(d) for d in random.integers(1, 3, axes)]
    # Few, odd, blocked, grouped, depthwise channels.
    groups, i, o = [(1, 3, 5), (1, 8, 16), (2, 3, 2), (2, 8, 16), (24, 1, 1), (4, 1, 2), (1, 32, 24), (1, 1, 8)][number]
    attributes["group"] = groups
    space = [int(s) for s in random.integers(6, 11, axes)]
    batch = int(random.integers(1, 12))
    x = random.standard_normal((batch, groups * i, *space))
    w = random.standard_normal((groups * o, i, *kernel))
    return x, w, attributes


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("number", range(8))
def test_gradients_of_convolution_are_its_adjoints(axes, number):
    random = np.random.default_rng([SEED, axes, number])
    x, w, attributes = random_conv(random, axes, number)
    print(f"seed {SEED}: x {x.shape} w {w.shape} {attributes}")
    y = run("Conv", [x, w], **attributes)[0]
    dy = random.standard_normal(y.shape)
    product = np.vdot(y, dy)
    by_input = gradient("ConvGradientInput", [dy, w, shape_of(x)], **attributes)[0]
    by_weight = gradient("ConvGradientWeight", [dy, x, shape_of(w)], **attributes)[0]
    size = np.linalg.norm(y) * np.linalg.norm(dy)
    assert abs(np.vdot(x, by_input) - product) < 1e-12 * size
    assert abs(np.vdot(w, by_weight) - product) < 1e-12 * size
    # A random direction, too: the identity above holds for the values at hand only.
    other = random.standard_normal(x.shape)
    assert abs(np.vdot(other, by_input) - np.vdot(run("Conv", [other, w], **attributes)[0], dy)) < 1e-10 * size
    other = random.standard_normal(w.shape)
    assert abs(np.vdot(other, by_weight) - np.vdot(run("Conv", [x, other], **attributes)[0], dy)) < 1e-10 * size
    check_float("ConvGradientInput", [dy, w, shape_of(x)], by_input, [0], **attributes)
    check_float("ConvGradientWeight", [dy, x, shape_of(w)], by_weight, [0, 1], **attributes)


# As many positions as batches in training have: other kernels than for few. (batch, inputs, outputs, groups, size, kernel)
LARGE = [(64, 32, 32, 1, 14, 3), (8, 16, 24, 1, 40, 3), (64, 16, 32, 1, 14, 1), (64, 16, 16, 16, 14, 3), (32, 1, 16, 1, 28, 3)]


@pytest.mark.parametrize("batch,inputs,outputs,groups,size,kernel", LARGE)
def test_gradients_of_large_batches_are_those_of_double_precision(batch, inputs, outputs, groups, size, kernel):
    random = np.random.default_rng(SEED)
    print(f"seed {SEED}")
    x, dy = random.standard_normal((batch, inputs, size, size)), random.standard_normal((batch, outputs, size, size))
    w = random.standard_normal((outputs, inputs // groups, kernel, kernel))
    attributes = {"group": groups, "pads": [kernel // 2] * 4, "kernel_shape": [kernel] * 2}
    for op, arrays in (("ConvGradientInput", (dy, w, shape_of(x))), ("ConvGradientWeight", (dy, x, shape_of(w)))):
        wanted = run(op, list(arrays), 1, DOMAIN, types=[TensorProto.DOUBLE], **attributes)[0]
        close(gradient(op, as_float(arrays), **attributes)[0], wanted.astype(np.float32), relative=2e-5)


@pytest.mark.parametrize("shape", [(0, 3, 5, 5), (2, 3, 5, 5)])
def test_gradients_of_convolution_without_elements(shape):
    x, w = np.ones(shape), np.ones((0 if shape[0] else 4, 3, 3, 3))
    dy = np.ones((shape[0], w.shape[0], 3, 3))
    assert not gradient("ConvGradientInput", [dy, w, shape_of(x)])[0].any()
    assert not gradient("ConvGradientWeight", [dy, x, shape_of(w)])[0].any()


@pytest.mark.parametrize("groups", [1, 4, 16])
def test_a_convolution_with_variable_weights_gives_what_constant_weights_give(groups):
    random = np.random.default_rng([SEED, groups])
    x = random.standard_normal((3, 16, 9, 7), np.float32)
    w = random.standard_normal((16, 16 // groups, 3, 3), np.float32)
    b = random.standard_normal(16, np.float32)
    about = {"group": groups, "pads": [1, 1, 1, 1]}
    kept = ours(model_of("Conv", [x, w, b], constants=(1, 2), **about), [x, w, b], (1, 2))[0]
    np.testing.assert_array_equal(run("Conv", [x, w, b], **about)[0], kept)
    about["strides"] = [2, 2]
    kept = ours(model_of("ConvTranspose", [x, w, None], constants=(1,), **about), [x, w, None], (1,))[0]
    np.testing.assert_array_equal(run("ConvTranspose", [x, w, None], **about)[0], kept)


# ---- Pools, resize

def random_window(random, axes):
    kernel = [int(k) for k in random.integers(1, 4, axes)]
    attributes = {"kernel_shape": kernel, "strides": [int(s) for s in random.integers(1, 4, axes)]}
    if random.integers(3) == 0:
        attributes["auto_pad"] = str(random.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    else:
        attributes["pads"] = [int(random.integers(0, k)) for k in kernel] * 2
        attributes["ceil_mode"] = int(random.integers(2))
    attributes["dilations"] = [int(d) for d in random.integers(1, 3, axes)]
    return attributes


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("number", range(6))
def test_the_gradient_of_average_pool_is_its_adjoint(axes, number):
    random = np.random.default_rng([SEED, axes, number])
    attributes = {**random_window(random, axes), "count_include_pad": int(random.integers(2))}
    x = random.standard_normal((2, int(random.choice([3, 8, 16])), *random.integers(7, 12, axes)))
    print(f"seed {SEED}: x {x.shape} {attributes}")
    y = run("AveragePool", [x], **attributes)[0]
    dy = random.standard_normal(y.shape)
    dx = gradient("AveragePoolGradient", [dy, shape_of(x)], **attributes)[0]
    assert abs(np.vdot(y, dy) - np.vdot(x, dx)) < 1e-12 * np.linalg.norm(y) * np.linalg.norm(dy)
    check_float("AveragePoolGradient", [dy, shape_of(x)], dx, [0], **attributes)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("number", range(6))
def test_the_gradient_of_max_pool_goes_to_the_first_maximum(axes, number):
    random = np.random.default_rng([SEED, axes, number])
    attributes = random_window(random, axes)
    x = random.integers(0, 4, (2, int(random.choice([3, 8, 16])), *random.integers(7, 12, axes))).astype(np.float64)
    print(f"seed {SEED}: x {x.shape} {attributes}")
    y, at = ours(model_of("MaxPool", [x], 2, types=[TensorProto.DOUBLE, TensorProto.INT64], **attributes), [x])
    dy = np.where(np.isfinite(y), random.standard_normal(y.shape), 0)
    wanted = np.zeros(x.size)
    np.add.at(wanted, at.flatten(), dy.flatten())
    close(gradient("MaxPoolGradient", [dy, x], **attributes)[0], wanted.reshape(x.shape))
    check_float("MaxPoolGradient", [dy, x], wanted.reshape(x.shape), [0, 1], **attributes)


COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]


@pytest.mark.parametrize("mode,coordinates", list(itertools.product(["nearest", "linear", "cubic"], COORDINATES)))
def test_the_gradient_of_resize_is_its_adjoint(mode, coordinates):
    random = np.random.default_rng([SEED, COORDINATES.index(coordinates), len(mode)])
    x = random.standard_normal((2, 8, *random.integers(3, 9, 2)))
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "cubic":
        attributes.update(exclude_outside=int(random.integers(2)), cubic_coeff_a=-0.5)
    if mode == "nearest":
        attributes["nearest_mode"] = str(random.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    elif random.integers(2):
        attributes["antialias"] = 1
    roi = np.array([0, 0, 0.125, -0.25, 1, 1, 0.875, 1.125]) if coordinates == "tf_crop_and_resize" else None
    for scales, sizes in ((np.array([1, 1, 2, 0.6], np.float32), None), (None, np.array([2, 8, 5, 11], np.int64))):
        print(f"seed {SEED}: x {x.shape} {attributes} {scales} {sizes}")
        y = run("Resize", [x, roi, scales, sizes], **attributes)[0]
        dy = random.standard_normal(y.shape)
        inputs = [dy, shape_of(x), roi, scales, sizes]
        dx = gradient("ResizeGradient", inputs, **attributes)[0]
        assert abs(np.vdot(y, dy) - np.vdot(x, dx)) < 1e-12 * np.linalg.norm(y) * np.linalg.norm(dy)
        check_float("ResizeGradient", inputs, dx, [0], **attributes)


# ---- Sums

@pytest.mark.parametrize("number", range(12))
def test_scatter_add_adds_slices_in_order(number):
    random = np.random.default_rng([SEED, number])
    dims = [int(d) for d in random.integers(1, 90, int(random.integers(1, 4)))]
    axis = int(random.integers(-len(dims), len(dims)))
    at = axis % len(dims)
    indices = random.integers(-dims[at], dims[at], random.integers(0, 5, int(random.integers(0, 3))))
    updates = random.standard_normal((*dims[:at], *indices.shape, *dims[at + 1:]))
    print(f"seed {SEED}: {dims} axis {axis} indices {indices.shape}")
    wanted = np.zeros(dims)
    np.add.at(wanted, (*[slice(None)] * at, indices), updates)
    inputs = [indices, updates, np.array(dims, np.int64)]
    found = gradient("ScatterAdd", inputs, axis=axis)[0]
    close(found, wanted, 1e-13)
    check_float("ScatterAdd", inputs, wanted, axis=axis)


SUMS = [((4, 5), (5,)), ((4, 5), (4, 1)), ((4, 5), ()), ((3, 1, 5), (1, 5)), ((2, 16, 7, 9), (16, 1, 1)), ((2, 16, 7, 9), (1, 16, 1, 1)),
        ((2, 16, 7, 9), (2, 1, 1, 9)), ((2, 16, 7, 9), (2, 16, 7, 9)), ((2, 16, 7, 9), (7, 9)), ((2, 16, 7, 9), (1, 1, 1, 1)),
        ((50000, 3), (3,)), ((3, 50000), (3, 1)), ((70001,), ()), ((300, 700), (700,)), ((2, 3, 2, 3, 2), (3, 1, 3, 1)), ((0, 4), (4,)),
        ((1, 1), ()), ((5, 1), (1,)), ((2, 12, 5, 5), (12, 1, 1))]


@pytest.mark.parametrize("shape,to", SUMS)
def test_sum_to_is_the_adjoint_of_broadcasting(shape, to):
    random = np.random.default_rng(SEED)
    x = random.standard_normal(shape)
    wanted = x
    for axis in range(len(shape)):
        kept = axis - len(shape) + len(to)
        if kept < 0 or to[kept] != shape[axis]:
            wanted = wanted.sum(axis, keepdims=True)
    wanted = wanted.reshape(to)
    inputs = [x, np.array(to, np.int64)]
    close(gradient("SumTo", inputs)[0], wanted, 1e-12)
    check_float("SumTo", inputs, wanted, [0] if len(shape) == 4 else ())


# ---- Derivatives

def difference(forward, x, direction):
    """The derivative of forward(x) in a direction."""
    return (forward(x + HALF * direction) - forward(x - HALF * direction)) / (2 * HALF)


# The gradient, its forward operator, whether it takes the output, and their attributes.
FUNCTIONS = [
    ("ReluGradient", "Relu", True, {}), ("HardSwishGradient", "HardSwish", False, {}),
    ("HardSigmoidGradient", "HardSigmoid", True, {"alpha": 0.3}), ("SigmoidGradient", "Sigmoid", True, {}),
    ("TanhGradient", "Tanh", True, {}), ("GeluGradient", "Gelu", False, {}),
    ("GeluGradient", "Gelu", False, {"approximate": "tanh"}), ("SoftmaxGradient", "Softmax", True, {"axis": 1}),
    ("SoftmaxGradient", "Softmax", True, {}), ("LogSoftmaxGradient", "LogSoftmax", True, {"axis": 1}),
    ("LogSoftmaxGradient", "LogSoftmax", True, {"axis": -1}),
]


@pytest.mark.parametrize("name,forward,of_output,attributes", FUNCTIONS)
@pytest.mark.parametrize("shape", [(3, 16, 5, 7), (2, 3, 37), (4, 8, 1)])
def test_gradients_of_functions_are_their_derivatives(name, forward, of_output, attributes, shape):
    random = np.random.default_rng(SEED)
    x = 3 * random.standard_normal(shape)
    x[np.abs(np.abs(x) - 3) < 1e-4] = 1  # the corners of HardSwish, Relu, HardSigmoid
    x[np.abs(x) < 1e-4] = 1
    forward_run = lambda given: run(forward, [given], **attributes)[0]
    y, direction, dy = forward_run(x), random.standard_normal(shape), random.standard_normal(shape)
    inputs = [dy, y if of_output else x]
    dx = gradient(name, inputs, **attributes)[0]
    slope = np.vdot(difference(forward_run, x, direction), dy)
    assert abs(slope - np.vdot(direction, dx)) < 1e-6 * np.linalg.norm(direction) * np.linalg.norm(dy)
    by_channel = [0, 1] if len(shape) == 4 and "Softmax" not in name else ()
    check_float(name, inputs, dx, by_channel, **attributes)
    if by_channel:
        close(blocked(name, as_float(inputs), [1], **attributes), dx, 3e-6)


@pytest.mark.parametrize("low,high", [(-0.5, 1.0), (None, 0.25), (-1.0, None), (None, None)])
def test_the_gradient_of_clip_passes_between_its_bounds(low, high):
    random = np.random.default_rng(SEED)
    x, dy = random.standard_normal((2, 8, 5, 5)), random.standard_normal((2, 8, 5, 5))
    x[0, 0, 0, :2] = -0.5, 1.0
    bounds = [None if bound is None else np.array(bound) for bound in (low, high)]
    inside = (x >= (-np.inf if low is None else low)) & (x <= (np.inf if high is None else high))
    inputs = [dy, x, *bounds]
    np.testing.assert_array_equal(gradient("ClipGradient", inputs)[0], np.where(inside, dy, 0))
    check_float("ClipGradient", inputs, np.where(inside, dy, 0), [0, 1])


@pytest.mark.parametrize("name", ["GeluGradient", "HardSwishGradient", "TanhGradient"])
def test_derivatives_far_from_zero_are_finite(name):
    x = np.array([-np.inf, -1e30, -200, 200, 1e30, np.inf, 0], np.float32)
    inputs = [np.ones_like(x), np.tanh(x) if name == "TanhGradient" else x]
    wanted = {"GeluGradient": [0, 0, 0, 1, 1, 1, 0.5], "HardSwishGradient": [0, 0, 0, 1, 1, 1, 0.5],
              "TanhGradient": [0, 0, 0, 0, 0, 0, 1]}[name]
    np.testing.assert_allclose(gradient(name, inputs)[0], wanted, atol=1e-7)


@pytest.mark.parametrize("training", [0, 1])
@pytest.mark.parametrize("shape", [(5, 16, 4, 6), (7, 3, 9), (30, 5)])
def test_the_gradient_of_batch_normalization_is_its_derivative(training, shape):
    random = np.random.default_rng(SEED)
    x = random.standard_normal(shape) * 2 + 1
    scale, shift, mean = random.standard_normal((3, shape[1]))
    variance = random.uniform(0.5, 2, shape[1])
    dy = random.standard_normal(shape)

    def forward(x, scale=scale, shift=shift):
        count = 3 if training else 1
        return run("BatchNormalization", [x, scale, shift, mean, variance], count, epsilon=1e-3, training_mode=training)[0]

    about = {"epsilon": 1e-3, "training_mode": training}
    inputs = [dy, x, scale, mean, variance]
    dx, dscale, dshift = gradient("BatchNormalizationGradient", inputs, 3, **about)
    for found, change in ((dx, lambda d: forward(x + d)), (dscale, lambda d: forward(x, scale + d)),
                          (dshift, lambda d: forward(x, scale, shift + d))):
        direction = random.standard_normal(found.shape)
        slope = np.vdot(difference(change, np.zeros(found.shape), direction), dy)
        assert abs(slope - np.vdot(direction, found)) < 1e-6 * np.linalg.norm(direction) * np.linalg.norm(dy)
    if training:
        axes = (0, *range(2, len(shape)))
        saved = [x.mean(axes), x.var(axes)]
        for one, other in zip((dx, dscale, dshift), gradient("BatchNormalizationGradient", [*inputs, *saved], 3, **about)):
            close(other, one)
    for found, wanted in zip(gradient("BatchNormalizationGradient", as_float(inputs), 3, **about), (dx, dscale, dshift)):
        close(found, wanted, 1e-5)
    if len(shape) == 4:
        close(blocked("BatchNormalizationGradient", as_float(inputs), [0, 1], **about), dx, 1e-5)
        close(blocked("BatchNormalizationGradient", as_float(inputs), [1], **about), dx, 1e-5)


# ---- Optimizers

def some_tensors(random, kinds, kind):
    shapes = [(), (3,), (40, 17), (33000,), (2, 0), (5, 4, 3)]
    return [[random.standard_normal(shape).astype(kind) for shape in shapes] for _ in range(kinds)]


@pytest.mark.parametrize("kind,accuracy", [(np.float64, 1e-12), (np.float32, 3e-6)])
def test_adamw_follows_its_formula(kind, accuracy):
    random = np.random.default_rng(SEED)
    x, g, m, v = some_tensors(random, 4, kind)
    v = [np.abs(one) for one in v]
    count = len(x)
    scales, decays = [0.5, 1.0, 1.0, 2.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    lower = [-np.inf, 0.125, -np.inf, -np.inf, 0.0, -0.25]
    beta1, beta2, epsilon, decay = 0.75, 0.9375, 2.0 ** -20, 2.0 ** -6  # float32 attributes hold them exactly
    about = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "weight_decay": decay, "rate_scales": scales, "decay_scales": decays, "lower": lower}
    rate, step = np.array(0.01, kind), np.array(3, np.int64)
    inputs = [rate, step, *x, *g, *m, *v]
    found = gradient("AdamW", inputs, 3 * count, **about)
    for t in range(count):
        m_new = beta1 * m[t] + (1 - beta1) * g[t]
        v_new = beta2 * v[t] + (1 - beta2) * g[t] ** 2
        own = 0.01 * scales[t]
        corrected = np.sqrt(v_new / (1 - beta2 ** 3)) + epsilon
        x_new = x[t] * (1 - own * decay * decays[t]) - own * m_new / (1 - beta1 ** 3) / corrected
        for k, wanted in enumerate((np.maximum(x_new, lower[t]), m_new, v_new)):
            np.testing.assert_allclose(found[k * count + t], wanted, rtol=accuracy, atol=accuracy)


@pytest.mark.parametrize("nesterov", [0, 1])
@pytest.mark.parametrize("kind,accuracy", [(np.float64, 1e-12), (np.float32, 3e-6)])
def test_sgd_with_momentum_follows_its_formula(kind, accuracy, nesterov):
    random = np.random.default_rng(SEED)
    x, g, v = some_tensors(random, 3, kind)
    count = len(x)
    inputs = [np.array(0.1, kind), *x, *g, *v]
    found = gradient("SgdMomentum", inputs, 2 * count, momentum=0.875, nesterov=nesterov, weight_decay=0.0625)
    for t in range(count):
        gradient_with_decay = g[t] + 0.0625 * x[t]
        v_new = 0.875 * v[t] + gradient_with_decay
        step = gradient_with_decay + 0.875 * v_new if nesterov else v_new
        for k, wanted in enumerate((x[t] - 0.1 * step, v_new)):
            np.testing.assert_allclose(found[k * count + t], wanted, rtol=accuracy, atol=accuracy)


@pytest.mark.parametrize("kind,accuracy", [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_an_exponential_average_follows_its_formula(kind, accuracy):
    average, x = some_tensors(np.random.default_rng(SEED), 2, kind)
    found = gradient("ExponentialAverage", [np.array(0.99, kind), *average, *x], len(x))
    for one, before, now in zip(found, average, x):
        np.testing.assert_allclose(one, 0.99 * before + 0.01 * now, rtol=accuracy, atol=accuracy)


@pytest.mark.parametrize("kind,accuracy", [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize("most", [1.5, 1e6])
def test_gradients_are_clipped_by_their_common_norm(kind, accuracy, most):
    (g,) = some_tensors(np.random.default_rng(SEED), 1, kind)
    *clipped, norm = gradient("ClipByGlobalNorm", [np.array(most, kind), *g], len(g) + 1)
    wanted = np.sqrt(sum((one.astype(np.float64) ** 2).sum() for one in g))
    np.testing.assert_allclose(norm, wanted, rtol=accuracy)
    for one, before in zip(clipped, g):
        np.testing.assert_allclose(one, before * min(1, most / wanted), rtol=accuracy, atol=accuracy)


# ---- Refusals

F, D, L = (lambda *shape: np.zeros(shape, np.float32)), (lambda *shape: np.zeros(shape)), (lambda *sizes: np.array(sizes, np.int64))
REFUSED = [
    ("ConvGradientInput", [F(1, 4, 3, 3), F(4, 2, 3, 3), L(1, 2, 6, 5)], {}, "the output's shape: [1, 4, 4, 3]"),
    ("ConvGradientInput", [F(1, 4, 3, 3), F(4, 2, 3, 3), L(1, 3, 5, 5)], {}, "groups divide"),
    ("ConvGradientInput", [F(1, 4, 3, 3), D(4, 2, 3, 3), L(1, 2, 5, 5)], {}, "input 1 is float64"),
    ("ConvGradientInput", [F(1, 4, 3, 3), F(4, 2, 3, 3), L(1, 2, -5, 5)], {}, "0 or more"),
    ("ConvGradientWeight", [F(1, 4, 3, 3), F(1, 2, 5, 5), L(4, 2, 2, 3)], {}, "the output's shape: [1, 4, 4, 3]"),
    ("ConvGradientWeight", [F(1, 4, 3, 3), F(1, 2, 5, 5), L(4, 2, 3, 3)], {"kernel_shape": [2, 2]}, "kernel_shape"),
    ("MaxPoolGradient", [F(1, 2, 3, 3), F(1, 2, 5, 5)], {"kernel_shape": [2, 2]}, "the output's shape: [1, 2, 4, 4]"),
    ("AveragePoolGradient", [F(1, 2, 4, 4), L(1, 2, 5)], {"kernel_shape": [2, 2]}, "kernel_shape"),
    ("AveragePoolGradient", [F(1, 2, 4, 4), L(1, 3, 5, 5)], {"kernel_shape": [2, 2]}, "the output's shape: [1, 3, 4, 4]"),
    ("ResizeGradient", [F(1, 1, 4, 4), L(1, 1, 2, 2), None, F(4) + 3], {}, "the output's shape: [3, 3, 6, 6]"),
    ("ResizeGradient", [F(1, 1, 4, 4), L(1, 1, 2, 2)], {}, "neither scales nor sizes"),
    ("ScatterAdd", [L(0, 5), F(2, 3), L(4, 3)], {}, "index 5 is outside an axis of size 4"),
    ("ScatterAdd", [L(0, 1), F(3, 3), L(4, 3)], {}, "shape [2, 3]"),
    ("ScatterAdd", [L(0, 1), F(2, 3), L(4, 3)], {"axis": 2}, "axis"),
    ("SumTo", [F(2, 3), L(2)], {}, "cannot be summed to [2]"),
    ("SumTo", [F(3), L(1, 3)], {}, "cannot be summed"),
    ("ReluGradient", [F(2, 3), F(3, 2)], {}, "like input 0: float32[2, 3]"),
    ("GeluGradient", [F(2), F(2)], {"approximate": "erf"}, "none or tanh"),
    ("ClipGradient", [F(2), F(2), F(2)], {}, "one number, float32"),
    ("SoftmaxGradient", [F(2, 3), F(2, 3)], {"axis": 2}, "axis"),
    ("BatchNormalizationGradient", [F(2, 3), F(2, 3), F(3), F(3), F(2)], {}, "one number for each of 3 channels"),
    ("BatchNormalizationGradient", [F(2, 3), F(2, 3), F(3), F(3), F(3), F(3)], {}, "both or none"),
    ("AdamW", [F(), L(0).reshape(()), F(2), F(2), F(2), F(2)], {}, "1 or more"),
    ("AdamW", [F(), L(1).reshape(()), F(2), F(2), F(2), F(3)], {}, "like input 2"),
    ("AdamW", [F(), L(1).reshape(()), F(2), F(2), F(2), F(2), F(2)], {}, "4 lists of equal length"),
    ("AdamW", [F(), L(1).reshape(()), F(2), F(2), F(2), F(2)], {"lower": [0.0, 1.0]}, "one for each tensor"),
    ("AdamW", [F(), L(1).reshape(()), F(2), F(2), F(2), F(2)], {"beta1": 1.0}, "below 1"),
    ("SgdMomentum", [F(2), F(2), F(2), F(2)], {}, "a single number"),
    ("ExponentialAverage", [F() + 2, F(2), F(2)], {}, "0 to 1"),
    ("ClipByGlobalNorm", [F(), F(2)], {}, "above 0"),
]


@pytest.mark.parametrize("op,inputs,attributes,words", REFUSED)
def test_what_does_not_fit_is_refused_with_the_reason(op, inputs, attributes, words):
    with pytest.raises(ExecutorError) as error:
        gradient(op, inputs, **attributes)
    assert words in str(error.value)
