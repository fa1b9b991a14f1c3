"""Random calls of every operator with a gradient rule: functions of a generator that return inputs and attributes.

`constants` among the attributes are the indices of inputs that are initializers, `outputs` is their number."""
import numpy as np
import onnx
from onnx import helper
from support.executing import NUMBERS
from support.one_node import NEWEST_IR

ROUNDS = 2
# Rules without a gradient: the outputs do not change with the inputs, or only in steps.
FLAT = {"And", "Ceil", "Equal", "Floor", "Greater", "GreaterOrEqual", "Hardmax", "Less", "LessOrEqual", "Not", "Or", "Round", "Shape",
        "Sign", "Size", "Xor"}
# Rules that pass rounding as if it were none (straight-through): not the derivatives of what the operators compute.
STRAIGHT_THROUGH = {":QuantizeLinear", ":DequantizeLinear", "com.microsoft:QuantizeLinear", "com.microsoft:DequantizeLinear",
                    "ai.anybit:QuantizeDequantize", "ai.anybit.training:FakeQuantize"}


def shape(rng, least=1, most=4, largest=4):
    return tuple(int(n) for n in rng.integers(1, largest + 1, rng.integers(least, most + 1)))


def spread(rng, dims, low=-2.0, high=2.0):
    """Numbers with gaps between them and around 0, so that a small step crosses neither a tie nor a kink."""
    count = int(np.prod(dims, dtype=np.int64))
    steps = (np.arange(count) + rng.uniform(0.3, 0.7, count)) / max(count, 1) * (high - low) + low
    values = rng.permutation(steps)
    return np.where(np.abs(values) < 0.02, 0.03, values).reshape(dims)


def positive(rng, dims):
    return rng.uniform(0.3, 2.0, dims)


def inside(rng, dims):
    return rng.uniform(-0.9, 0.9, dims)


def unary(values=spread, **attributes):
    return [lambda rng: ([values(rng, shape(rng))], attributes)]


def partner(rng, dims):
    """A shape that broadcasts with `dims`: fewer axes, or some of size 1."""
    kept = dims[int(rng.integers(0, len(dims) + 1)):]
    return tuple(1 if rng.random() < 0.3 else n for n in kept)


def binary(values=spread, other=None):
    def one(rng):
        dims = shape(rng)
        return [values(rng, dims), (other or values)(rng, partner(rng, dims))], {}

    def swapped(rng):
        (a, b), _ = one(rng)
        return [b, a] if other is None else [a, b], {}

    def both(rng):
        a, b = int(rng.integers(2, 4)), int(rng.integers(2, 4))
        return [values(rng, (a, 1, b)), (other or values)(rng, (1, 3, b))], {}

    return [one, swapped, both]


def variadic(rng):
    dims = shape(rng)
    parts = int(rng.integers(1, 5))
    return [spread(rng, dims if i == 0 else partner(rng, dims)) + 0.0007 * i for i in range(parts)], {}


def reductions(values=spread):
    def axes(rng):
        dims = shape(rng, least=2)
        chosen = rng.choice(len(dims), int(rng.integers(1, len(dims) + 1)), replace=False)
        chosen = np.where(rng.random(len(chosen)) < 0.5, chosen, chosen - len(dims))
        return [values(rng, dims), np.sort(chosen).astype(np.int64)], {"keepdims": int(rng.integers(0, 2)), "constants": (1,)}

    def computed(rng):
        dims = shape(rng, least=2)
        return [values(rng, dims), np.array([int(rng.integers(0, len(dims)))])], {"keepdims": int(rng.integers(0, 2))}

    def whole(rng):
        return [values(rng, shape(rng))], {"keepdims": int(rng.integers(0, 2))}

    def nothing(rng):
        return [values(rng, shape(rng)), np.zeros(0, np.int64)], {"noop_with_empty_axes": 1, "constants": (1,)}

    return [axes, computed, whole, nothing]


def convolution(transposed):
    def make(rng):
        axes = int(rng.integers(1, 4))
        groups = int(rng.integers(1, 3))
        each_in, each_out = int(rng.integers(1, 3)), int(rng.integers(1, 3))
        kernel = [int(k) for k in rng.integers(1, 4, axes)]
        strides, dilations = ([int(k) for k in rng.integers(1, 3, axes)] for _ in range(2))
        pads = [int(k) for k in rng.integers(0, 2, 2 * axes)]
        size = [int((k - 1) * d + 1 + rng.integers(2, 5)) for k, d in zip(kernel, dilations)]
        attributes = {"group": groups, "strides": strides, "dilations": dilations, "kernel_shape": kernel, "pads": pads}
        channels = each_in * groups
        weight = (channels, each_out) if transposed else (each_out * groups, each_in)
        if transposed:
            attributes["output_padding"] = [int(rng.integers(0, s)) for s in strides]
        inputs = [spread(rng, (2, channels, *size)), spread(rng, (*weight, *kernel)), spread(rng, (each_out * groups,))]
        return inputs[: int(rng.integers(2, 4))], attributes

    def depthwise(rng):
        channels = int(rng.integers(2, 5))
        return ([spread(rng, (2, channels, 6, 5)), spread(rng, (channels, 1, 3, 3)), spread(rng, (channels,))],
                {"group": channels, "pads": [1, 1, 1, 1], "strides": [int(rng.integers(1, 3))] * 2})

    def same(rng):
        how = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
        return ([spread(rng, (1, 2, 5, 6)), spread(rng, (2, 3, 3, 2) if transposed else (3, 2, 3, 2))],
                {"auto_pad": how, "strides": [2, 2]})

    return [make, depthwise] + ([] if transposed else [same])


def pool(average):
    def make(rng):
        axes = int(rng.integers(1, 4))
        kernel = [int(k) for k in rng.integers(1, 4, axes)]
        attributes = {"kernel_shape": kernel, "strides": [int(k) for k in rng.integers(1, 3, axes)],
                      "pads": [int(min(rng.integers(0, 2), k - 1)) for k in kernel * 2], "ceil_mode": int(rng.integers(0, 2))}
        if average:
            attributes["count_include_pad"] = int(rng.integers(0, 2))
        size = [int(k + rng.integers(1, 4)) for k in kernel]
        return [spread(rng, (2, int(rng.integers(1, 10)), *size))], attributes
    return [make]


def images(rng):
    return [spread(rng, (2, 3, *shape(rng, least=1, most=3)))], {}


def batch_norm(trains):
    def make(rng):
        channels = int(rng.integers(1, 5))
        x = spread(rng, (3, channels, *shape(rng, least=0, most=2)))
        vectors = [spread(rng, (channels,)), spread(rng, (channels,)), spread(rng, (channels,)), positive(rng, (channels,))]
        attributes = {"epsilon": 0.01}
        if trains:
            attributes |= {"training_mode": 1, "outputs": 3, "constants": (3, 4)}
        return [x, *vectors], attributes
    return make


def only_y(make):
    """Through the first output alone."""
    def made(rng):
        inputs, attributes = make(rng)
        return inputs, {**attributes, "outputs": 1}
    return made


def layer_norm(rng):
    dims = shape(rng, least=2)
    axis = int(rng.integers(1, len(dims)))
    inner = dims[axis:] if rng.random() < 0.5 else dims[-1:]
    x = spread(rng, dims[:-1] + (dims[-1] + 2,))
    inner = inner[:-1] + (inner[-1] + 2,)
    return [x, spread(rng, inner), spread(rng, inner)][: int(rng.integers(2, 4))], {"axis": axis, "epsilon": 0.01}


def matrices(rng):
    m, k, n = (int(v) for v in rng.integers(1, 5, 3))
    kind = int(rng.integers(0, 6))
    a, b = [((m, k), (k, n)), ((2, 3, m, k), (k, n)), ((2, 1, m, k), (3, k, n)), ((k,), (k, n)), ((2, m, k), (k,)),
            ((k,), (k,))][kind]
    return [spread(rng, a), spread(rng, b)], {}


def gemm(rng):
    m, k, n = (int(v) for v in rng.integers(1, 5, 3))
    turns = [int(v) for v in rng.integers(0, 2, 2)]
    a, b = [(m, k), (k, m)][turns[0]], [(k, n), (n, k)][turns[1]]
    c = [(m, n), (n,), (1, n), (m, 1), ()][int(rng.integers(0, 5))]
    inputs = [spread(rng, a), spread(rng, b), spread(rng, c)][: int(rng.integers(2, 4))]
    return inputs, {"transA": turns[0], "transB": turns[1], "alpha": 0.5, "beta": float(rng.choice([1.0, 0.25]))}


def resize(rng):
    mode = str(rng.choice(["nearest", "linear", "cubic"]))
    how = str(rng.choice(["half_pixel", "asymmetric", "align_corners"]))
    scales = np.array([1, 1, *rng.choice([0.6, 1.5, 2.0], 2)], np.float32)
    return ([spread(rng, (1, 2, 4, 5)), None, scales],
            {"mode": mode, "coordinate_transformation_mode": how, "constants": (2,)})


def slices(rng):
    dims = shape(rng, least=2, largest=6)
    axes = np.sort(rng.choice(len(dims), int(rng.integers(1, len(dims) + 1)), replace=False))
    starts, ends, steps = [], [], []
    for axis in axes:
        step = int(rng.choice([1, 2, -1, -2]))
        low, high = sorted(int(v) for v in rng.integers(0, dims[axis] + 1, 2))
        starts.append(low if step > 0 else high - 1 if high else -1)
        ends.append(high if step > 0 else low - dims[axis] - 1)
        steps.append(step)
    lists = [np.array(v, np.int64) for v in (starts, ends, axes, steps)]
    return [spread(rng, dims), *lists], {"constants": (1, 2, 3, 4)}


def pad(mode):
    def make(rng):
        dims = tuple(int(n) for n in rng.integers(3, 6, int(rng.integers(1, 4))))
        low = -1 if mode == "constant" else 0
        pads = rng.integers(low, 3, 2 * len(dims)).astype(np.int64)
        inputs = [spread(rng, dims), pads] + ([np.float64(0.7)] if mode == "constant" else [])
        return inputs, {"mode": mode, "constants": (1,)}
    return make


def gather(rng):
    dims = shape(rng, least=1, largest=5)
    axis = int(rng.integers(-len(dims), len(dims)))
    indices = rng.integers(-dims[axis], dims[axis], shape(rng, least=0, most=2))
    return [spread(rng, dims), np.asarray(indices, np.int64)], {"axis": axis}


def concat(rng):
    dims = shape(rng, least=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    parts = []
    for _ in range(int(rng.integers(1, 4))):
        part = list(dims)
        part[axis] = int(rng.integers(1, 4))
        parts.append(spread(rng, part))
    return parts, {"axis": axis}


def split(rng):
    sizes = [int(n) for n in rng.integers(1, 4, int(rng.integers(2, 4)))]
    dims = [2, 3]
    axis = int(rng.integers(0, 2))
    dims[axis] = sum(sizes)
    return [spread(rng, dims), np.array(sizes)], {"axis": axis, "outputs": len(sizes), "constants": (1,)}


def likelihood(entropy):
    def make(rng):
        classes = int(rng.integers(2, 5))
        places = shape(rng, least=0, most=2)
        x = spread(rng, (3, classes, *places))
        targets = rng.integers(0, classes, (3, *places))
        targets.flat[0] = 0
        inputs = [x, targets] + ([positive(rng, (classes,))] if rng.random() < 0.5 else [])
        attributes = {"reduction": str(rng.choice(["none", "sum", "mean"])), "constants": tuple(range(1, len(inputs)))}
        if rng.random() < 0.5:
            attributes["ignore_index"] = classes - 1
        if entropy:
            attributes["outputs"] = int(rng.integers(1, 3))
        return inputs, attributes
    return [make, make]


def clip(rng):
    low, high = (np.float64(v) for v in (-0.8123, 0.9127))
    return [[spread(rng, shape(rng)), low, high], [spread(rng, shape(rng)), None, high], [spread(rng, shape(rng)), low]][
        int(rng.integers(0, 3))], {}


def softmax(rng):
    dims = shape(rng, least=1)
    return [spread(rng, dims)], {"axis": int(rng.integers(-len(dims), len(dims)))}


def moved(rng):
    dims = shape(rng, least=1)
    return [spread(rng, dims)], {"perm": [int(v) for v in rng.permutation(len(dims))]}


def instance_norm(rng):
    channels = int(rng.integers(1, 5))
    x = spread(rng, (2, channels, *shape(rng, least=1, most=2), 3))
    return [x, spread(rng, (channels,)), spread(rng, (channels,))], {"epsilon": 0.01}


def group_norm(rng):
    groups, each = (int(n) for n in rng.integers(1, 4, 2))
    x = spread(rng, (2, groups * each, *shape(rng, least=0, most=2), 3))
    return [x, spread(rng, (groups * each,)), spread(rng, (groups * each,))], {"num_groups": groups, "epsilon": 0.01}


def gather_elements(rng):
    dims = shape(rng, least=1, most=3)
    axis = int(rng.integers(-len(dims), len(dims)))
    return [spread(rng, dims), rng.integers(-dims[axis], dims[axis], dims)], {"axis": axis}


def gather_nd(rng):
    x = spread(rng, (3, 4, 2))
    return [x, np.stack([rng.integers(0, 3, (2, 2)), rng.integers(0, 4, (2, 2))], -1)], {}


def scatter_elements(how):
    def make(rng):
        indices = np.stack([rng.permutation(4)[:3] for _ in range(2)])
        return [spread(rng, (2, 4)), indices, spread(rng, (2, 3))], {"axis": 1, "reduction": how}
    return make


def scatter_nd(how):
    def make(rng):
        return [spread(rng, (4, 3)), rng.permutation(4)[:2].reshape(2, 1), spread(rng, (2, 3))], {"reduction": how}
    return make


def depth_to_space(rng):
    return [spread(rng, (2, 8, 2, 3))], {"blocksize": 2, "mode": "DCR"}


MICROSOFT = "com.microsoft"
RANDOM = {
    ":Abs": unary(), ":Acos": unary(inside), ":Acosh": unary(lambda rng, dims: rng.uniform(1.3, 3, dims)), ":Asin": unary(inside),
    ":Asinh": unary(), ":Atan": unary(), ":Atanh": unary(inside), ":Cos": unary(), ":Cosh": unary(), ":Erf": unary(),
    ":Exp": unary(), ":Identity": unary(), ":Log": unary(positive), ":Neg": unary(), ":Reciprocal": unary(positive),
    ":Sin": unary(), ":Sinh": unary(), ":Sqrt": unary(positive), ":Tan": unary(inside),
    ":Celu": unary(alpha=0.7), ":Elu": unary(alpha=0.7), ":HardSigmoid": unary(alpha=0.4, beta=0.45) + unary(),
    ":HardSwish": unary(lambda rng, dims: spread(rng, dims, -5, 5)), ":LeakyRelu": unary(alpha=0.3), ":Mish": unary(),
    ":Relu": unary(), ":Selu": unary() + unary(alpha=1.5, gamma=1.2), ":Sigmoid": unary(), ":Softplus": unary(),
    ":Softsign": unary(), ":Swish": unary() + unary(alpha=1.3), ":Tanh": unary(), ":ThresholdedRelu": unary(alpha=0.31415),
    ":Gelu": unary() + unary(approximate="tanh"), f"{MICROSOFT}:Gelu": unary(), f"{MICROSOFT}:QuickGelu": unary(),
    f"{MICROSOFT}:FastGelu": [lambda rng: ([spread(rng, (2, 3, 4)), spread(rng, (4,))],), lambda rng: ([spread(rng, (2, 3))],)],
    f"{MICROSOFT}:BiasGelu": [lambda rng: ([spread(rng, (2, 3, 4)), spread(rng, (4,))],)],
    ":Add": binary(), ":Sub": binary(), ":Mul": binary(), ":Div": binary(other=positive),
    ":Pow": binary(values=positive, other=spread) + [lambda rng: ([spread(rng, (2, 3)), np.array([1.0, 2.0, 3.0])], {"constants": (1,)})],
    ":PRelu": [lambda rng: ([spread(rng, (2, 3, 4)), positive(rng, (3, 1))],), lambda rng: ([spread(rng, (3, 4)), positive(rng, (1,))],)],
    ":Max": [variadic], ":Min": [variadic], ":Sum": [variadic], ":Mean": [variadic], ":Clip": [clip, clip, clip],
    ":Where": [lambda rng: ([rng.random((2, 1, 4)) < 0.5, spread(rng, (3, 4)), spread(rng, (2, 3, 1))],)],
    ":Cast": [lambda rng: ([spread(rng, (2, 3))], {"to": 11})], ":CastLike": [lambda rng: ([spread(rng, (2, 3)), np.float64(1)],)],
    ":Dropout": [lambda rng: ([spread(rng, (2, 3))],), lambda rng: ([spread(rng, (2, 3)), np.float64(0.4)], {"constants": (1,)})],
    ":ReduceSum": reductions(), ":ReduceMean": reductions(), ":ReduceMax": reductions(), ":ReduceMin": reductions(),
    ":ReduceL1": reductions()[:3], ":ReduceL2": reductions()[:3], ":ReduceSumSquare": reductions()[:3],
    ":ReduceLogSum": reductions(positive)[:3], ":ReduceLogSumExp": reductions()[:3],
    ":Softmax": [softmax, softmax], ":LogSoftmax": [softmax, softmax],
    ":NegativeLogLikelihoodLoss": likelihood(False), ":SoftmaxCrossEntropyLoss": likelihood(True),
    ":MatMul": [matrices] * 4, ":Gemm": [gemm] * 3,
    ":Conv": convolution(False), ":ConvTranspose": convolution(True),
    ":MaxPool": pool(False), ":AveragePool": pool(True), ":GlobalAveragePool": [images], ":GlobalMaxPool": [images],
    ":BatchNormalization": [batch_norm(False), only_y(batch_norm(True))],
    ":LayerNormalization": [layer_norm, layer_norm], f"{MICROSOFT}:LayerNormalization": [layer_norm],
    ":Resize": [resize, resize],
    ":Reshape": [lambda rng: ([spread(rng, (2, 6)), np.array([3, -1])], {"constants": (1,)})],
    ":Flatten": [lambda rng: ([spread(rng, shape(rng, least=2))], {"axis": 1})],
    ":Squeeze": [lambda rng: ([spread(rng, (2, 1, 3, 1)), np.array([1])],), lambda rng: ([spread(rng, (1, 3, 1))],)],
    ":Unsqueeze": [lambda rng: ([spread(rng, (2, 3)), np.array([0, -1])],)],
    ":Transpose": [moved, lambda rng: ([spread(rng, (2, 3, 4))],)],
    ":Concat": [concat, concat], ":Split": [split], ":Slice": [slices, slices],
    ":Pad": [pad("constant"), pad("reflect"), pad("edge"), pad("wrap")],
    ":Expand": [lambda rng: ([spread(rng, (3, 1)), np.array([2, 1, 4])],), lambda rng: ([spread(rng, (3,)), np.array([1])],)],
    ":Tile": [lambda rng: ([spread(rng, (2, 3)), np.array([2, 3])],)],
    ":Gather": [gather, gather], ":GatherElements": [gather_elements], ":GatherND": [gather_nd],
    ":ScatterElements": [scatter_elements("none"), scatter_elements("add")], ":ScatterND": [scatter_nd("none"), scatter_nd("add")],
    ":ReverseSequence": [lambda rng: ([spread(rng, (4, 3, 2)), np.array([2, 4, 1])],)],
    ":CumSum": [lambda rng: ([spread(rng, (3, 4)), np.array(1)], {"exclusive": int(rng.integers(0, 2)), "reverse": int(rng.integers(0, 2))})],
    ":Trilu": [lambda rng: ([spread(rng, (2, 3, 4)), np.array(1)], {"upper": 0}), lambda rng: ([spread(rng, (3, 3))],)],
    ":DepthToSpace": [depth_to_space], ":SpaceToDepth": [lambda rng: ([spread(rng, (2, 2, 4, 6))], {"blocksize": 2})],
    ":Shrink": unary(lambd=0.51234, bias=0.2), ":InstanceNormalization": [instance_norm], ":GroupNormalization": [group_norm],
}


def _model(operator, inputs, constants, attributes, outputs, symbolic):
    domain, op_type = operator.split(":")
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    node = helper.make_node(op_type, names, [f"y{i}" for i in range(outputs)], domain=domain, name="it", **attributes)
    given = [(i, name, x) for i, (name, x) in enumerate(zip(names, inputs)) if name]
    kept = [onnx.numpy_helper.from_array(x, name) for i, name, x in given if i in constants]
    ports = [helper.make_tensor_value_info(name, NUMBERS[x.dtype],
                                           [f"n{i}_{axis}" for axis in range(x.ndim)] if symbolic else x.shape)
             for i, name, x in given if i not in constants]
    results = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)]
    graph = helper.make_graph([node], "one", ports, results, kept)
    opsets = [helper.make_opsetid("", 24)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=NEWEST_IR)


def random_models(operator, rng, symbolic=False, in_float32=False):
    """(a description, a model of one node, its inputs by name) for each of the operator's random cases."""
    for turn in range(ROUNDS):
        for number, make in enumerate(RANDOM[operator]):
            case = make(rng)
            attributes = dict(case[1]) if len(case) > 1 else {}
            constants, outputs = attributes.pop("constants", ()), attributes.pop("outputs", 1)
            inputs = [None if x is None else np.asarray(x) for x in case[0]]
            if in_float32:
                inputs = [x.astype(np.float32) if x is not None and x.dtype == np.float64 else x for x in inputs]
            shapes = [None if x is None else x.shape for x in inputs]
            feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in constants}
            yield (f"{operator} case {number}, turn {turn}: {shapes} {attributes}",
                   _model(operator, inputs, constants, attributes, outputs, symbolic), feeds)
