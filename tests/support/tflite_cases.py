"""One small file for each of TFLite's operators that anybit reads, with inputs: CASES by name, the operator first. A case returns the
file, its inputs, and by how many steps quantized results may differ."""
import zlib

import numpy as np
from support.tflite_files import CODES, File, schema

CASES = {}
FUSED = schema.ActivationFunctionType


def case(*names, **settings):
    """Adds the function under these names; it gets a random generator and the operator."""
    def add(make):
        for name in names:
            def made(name=name):
                return make(np.random.default_rng(zlib.crc32(name.encode())), name.split()[0], **settings)
            assert name not in CASES and name.split()[0] in CODES, name
            CASES[name] = made
        return make
    return add


def one(inputs, out, code, options=None, constants=(), steps=0, outputs=None, quantized=None, **values):
    """A file of one operator. `inputs`: arrays; those in `constants` are constants. `out`: shape and type of the output, or a list of
    them. `quantized`: for inputs and then outputs, scale and zero point or None."""
    file = File()
    graph = file.graph
    outs = [out] if isinstance(out, tuple) else out
    scales = list(quantized or [None] * (len(inputs) + len(outs)))
    numbers, ports, given = [], [], []
    for i, x in enumerate(inputs):
        if x is None:
            numbers.append(-1)
            continue
        scale = scales[i] or ()
        numbers.append(graph.tensor(x.shape, str(x.dtype), x if i in constants else None, **dict(zip(("scale", "zero", "axis"), scale))))
        if i not in constants:
            ports.append(numbers[-1])
            given.append(x)
    results = [graph.tensor(shape, dtype, **dict(zip(("scale", "zero", "axis"), scale or ())))
               for (shape, dtype), scale in zip(outs, scales[len(inputs):])]
    graph.op(code, numbers, results, options, **values)
    graph.ports(ports, results)
    return file.bytes(), given, steps


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def i32(*values):
    return np.array(values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values, np.int32)


def bytes_(rng, *shape, dtype=np.int8):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape, dtype)


# Functions of elements

@case("RELU", "RELU6", "RELU_N1_TO_1", "ABS", "NEG", "EXP", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "SIGN", "SQUARE",
      "ELU", "HARD_SWISH", "LOGISTIC", "TANH", "RELU_0_TO_1")
def map_elements(rng, code):
    return one([floats(rng, 2, 3, 5, 4) * 4], ((2, 3, 5, 4), "float32"), code)


@case("LOG", "SQRT", "RSQRT")
def map_positive(rng, code):
    return one([np.abs(floats(rng, 3, 7)) + 0.1], ((3, 7), "float32"), code)


@case("RELU int8", "RELU6 int8", "LEAKY_RELU int8", "HARD_SWISH int8")
def map_bytes(rng, code):
    options = {"options": "LeakyRelu", "alpha": 0.1} if code == "LEAKY_RELU" else {}
    return one([bytes_(rng, 2, 3, 5, 4)], ((2, 3, 5, 4), "int8"), code, steps=1, quantized=[(0.05, 3), (0.04, -20)], **options)


@case("LOGISTIC int8", "TANH int8", "SOFTMAX int8")
def fixed_outputs(rng, code):
    options = {"options": "Softmax", "beta": 1.0} if code == "SOFTMAX" else {}
    scale = (1 / 128, 0) if code == "TANH" else (1 / 256, -128)
    return one([bytes_(rng, 5, 6)], ((5, 6), "int8"), code, steps=1, quantized=[(0.05, 3), scale], **options)


@case("LEAKY_RELU")
def leaky_relu(rng, code):
    return one([floats(rng, 4, 5)], ((4, 5), "float32"), code, "LeakyRelu", alpha=0.2)


@case("GELU")
def gelu(rng, code, approximate=False):
    return one([floats(rng, 4, 5)], ((4, 5), "float32"), code, "Gelu", approximate=approximate)


case("GELU tanh", approximate=True)(gelu)


@case("SOFTMAX")
def softmax(rng, code):
    return one([floats(rng, 4, 5)], ((4, 5), "float32"), code, "Softmax", beta=0.7)


@case("LOG_SOFTMAX")
def log_softmax(rng, code):
    return one([floats(rng, 4, 5)], ((4, 5), "float32"), code)


@case("LOGICAL_NOT")
def logical_not(rng, code):
    return one([rng.random((3, 4)) < 0.5], ((3, 4), "bool"), code)


@case("ZEROS_LIKE")
def zeros_like(rng, code):
    return one([floats(rng, 2, 3)], ((2, 3), "float32"), code)


# Two or more inputs

@case("ADD", "SUB", "MUL", "DIV")
def arithmetic(rng, code):
    return one([floats(rng, 2, 3, 4, 5), floats(rng, 4, 1)], ((2, 3, 4, 5), "float32"), code, code.title(),
               fusedActivationFunction=FUSED.RELU6)


@case("ADD int8", "SUB int8", "MUL int8")
def arithmetic_bytes(rng, code):
    return one([bytes_(rng, 2, 3, 4, 5), bytes_(rng, 1, 3, 4, 5)], ((2, 3, 4, 5), "int8"), code, code.title(), steps=1,
               quantized=[(0.05, 3), (0.02, -10), (0.06, 5)])


@case("ADD uint8")
def add_uint8(rng, code):
    return one([bytes_(rng, 2, 5, dtype=np.uint8), bytes_(rng, 2, 5, dtype=np.uint8)], ((2, 5), "uint8"), code, "Add", steps=1,
               quantized=[(0.05, 130), (0.02, 110), (0.06, 128)])


@case("ADD int16")
def add_int16(rng, code):
    return one([bytes_(rng, 2, 5, dtype=np.int16), bytes_(rng, 2, 5, dtype=np.int16)], ((2, 5), "int16"), code, "Add", steps=1,
               quantized=[(1e-4, 0), (2e-4, 0), (3e-4, 0)], potScaleInt16=False)


@case("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "FLOOR_DIV", "FLOOR_MOD", "PRELU")
def pairs(rng, code):
    second = floats(rng, 1, 1, 5) if code == "PRELU" else floats(rng, 5)
    return one([floats(rng, 2, 3, 4, 5), second], ((2, 3, 4, 5), "float32"), code, constants=(1,) if code == "PRELU" else ())


@case("FLOOR_DIV int32", "FLOOR_MOD int32")
def floor_pairs(rng, code):
    y = rng.integers(1, 5, (3, 4)).astype(np.int32) * np.where(rng.random((3, 4)) < 0.5, 1, -1).astype(np.int32)
    return one([rng.integers(-20, 20, (3, 4)).astype(np.int32), y], ((3, 4), "int32"), code)


@case("POW")
def power(rng, code):
    return one([np.abs(floats(rng, 3, 4)) + 0.1, floats(rng, 3, 4)], ((3, 4), "float32"), code)


@case("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL")
def comparisons(rng, code):
    return one([rng.integers(-2, 3, (3, 4)).astype(np.float32), rng.integers(-2, 3, (4,)).astype(np.float32)], ((3, 4), "bool"), code)


@case("LOGICAL_AND", "LOGICAL_OR")
def logical(rng, code):
    return one([rng.random((3, 4)) < 0.5, rng.random((3, 4)) < 0.5], ((3, 4), "bool"), code)


@case("BITWISE_XOR")
def bitwise(rng, code):
    return one([rng.integers(-9, 9, (3, 4)).astype(np.int32), rng.integers(-9, 9, (3, 4)).astype(np.int32)], ((3, 4), "int32"), code)


@case("ADD_N")
def add_n(rng, code):
    return one([floats(rng, 3, 4) for _ in range(3)], ((3, 4), "float32"), code)


@case("SELECT", "SELECT_V2")
def select(rng, code):
    return one([rng.random((3, 4)) < 0.5, floats(rng, 3, 4), floats(rng, 3, 4)], ((3, 4), "float32"), code)


@case("SELECT rows")
def select_rows(rng, code):
    return one([rng.random((3,)) < 0.5, floats(rng, 3, 4), floats(rng, 3, 4)], ((3, 4), "float32"), code)


# Convolutions, pooling, products

def conv_case(rng, code, padding=0, strides=(1, 1), dilations=(1, 1), kernel=(3, 3), fused=FUSED.NONE, bias=True, size=(7, 9), groups=1):
    if code == "CONV_2D":
        weights, options, more = floats(rng, 6, *kernel, 4 // groups), "Conv2D", {}
    else:
        weights, options, more = floats(rng, 1, *kernel, 8), "DepthwiseConv2D", {"depthMultiplier": 2}
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    out = [-(-n // s) if padding == 0 else (n - e) // s + 1 for n, s, e in zip(size, strides, extent)]
    channels = weights.shape[0] if code == "CONV_2D" else 8
    return one([floats(rng, 2, *size, 4), weights, *[floats(rng, channels)] * bias], ((2, *out, channels), "float32"), code, options,
               constants=(1, 2), padding=padding, strideH=strides[0], strideW=strides[1], dilationHFactor=dilations[0],
               dilationWFactor=dilations[1], fusedActivationFunction=fused, **more)


CONVOLUTIONS = {
    "": {}, " valid": {"padding": 1}, " strides": {"strides": (2, 3)}, " dilated": {"dilations": (2, 1)},
    " relu6": {"fused": FUSED.RELU6}, " no bias": {"bias": False}, " even kernel": {"kernel": (2, 4), "strides": (2, 2)},
    " relu_n1_to_1": {"fused": FUSED.RELU_N1_TO_1},
}
for suffix, settings in CONVOLUTIONS.items():
    if suffix != " no bias":  # that LiteRT refuses
        case("CONV_2D" + suffix, **settings)(conv_case)
    case("DEPTHWISE_CONV_2D" + suffix, **settings)(conv_case)
case("CONV_2D groups", groups=2)(conv_case)


@case("CONV_2D int8", "DEPTHWISE_CONV_2D int8")
def conv_int8(rng, code, per_channel=True):
    conv = code == "CONV_2D"
    weights = bytes_(rng, 6, 3, 3, 4) if conv else bytes_(rng, 1, 3, 3, 8)
    channels = 6 if conv else 8
    weights[weights == -128] = -127
    scales = rng.uniform(0.001, 0.01, channels).astype(np.float32)
    bias = rng.integers(-2000, 2000, channels).astype(np.int32)
    more = {} if conv else {"depthMultiplier": 2}
    return one([bytes_(rng, 2, 7, 9, 4), weights, bias], ((2, 7, 9, channels), "int8"), code, "Conv2D" if conv else "DepthwiseConv2D",
               constants=(1, 2), steps=1, strideH=1, strideW=1, fusedActivationFunction=FUSED.RELU,
               quantized=[(0.02, 5), (scales, 0, 0 if conv else 3), (np.float32(0.02) * scales, 0, 0), (0.05, -30)], **more)


@case("CONV_2D uint8")
def conv_uint8(rng, code):
    return one([bytes_(rng, 2, 7, 9, 4, dtype=np.uint8), bytes_(rng, 6, 3, 3, 4, dtype=np.uint8),
                rng.integers(-2000, 2000, 6).astype(np.int32)], ((2, 7, 9, 6), "uint8"), code, "Conv2D", constants=(1, 2), steps=1,
               strideH=1, strideW=1, quantized=[(0.02, 120), (0.004, 131), (0.02 * 0.004, 0), (0.1, 110)])


@case("CONV_2D int16")
def conv_int16(rng, code):
    scales = rng.uniform(0.001, 0.01, 6).astype(np.float32)
    weights = np.maximum(bytes_(rng, 6, 3, 3, 4), -127)
    return one([bytes_(rng, 2, 7, 9, 4, dtype=np.int16), weights, rng.integers(-9000, 9000, 6).astype(np.int64)],
               ((2, 7, 9, 6), "int16"), code, "Conv2D", constants=(1, 2), steps=1, strideH=1, strideW=1,
               quantized=[(1e-4, 0), (scales, 0, 0), (np.float32(1e-4) * scales, 0, 0), (3e-4, 0)])


@case("CONV_3D")
def conv_3d(rng, code):
    return one([floats(rng, 1, 4, 5, 6, 2), floats(rng, 2, 3, 3, 2, 5), floats(rng, 5)], ((1, 4, 5, 6, 5), "float32"), code, "Conv3D",
               constants=(1, 2), strideD=1, strideH=1, strideW=1)


@case("TRANSPOSE_CONV")
def transpose_conv(rng, code, padding=0, stride=2, kernel=3, out=(8, 10)):
    size = [-(-n // stride) if padding == 0 else (n - kernel) // stride + 1 for n in out]
    return one([i32(2, *out, 5), floats(rng, 5, kernel, kernel, 4), floats(rng, 2, *size, 4)], ((2, *out, 5), "float32"), code,
               "TransposeConv", constants=(0, 1), padding=padding, strideH=stride, strideW=stride)


case("TRANSPOSE_CONV valid", padding=1, out=(9, 11))(transpose_conv)
case("TRANSPOSE_CONV wide", padding=1, out=(10, 12))(transpose_conv)
case("TRANSPOSE_CONV odd", out=(7, 9))(transpose_conv)


@case("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
def pool(rng, code):
    return one([floats(rng, 2, 7, 9, 4)], ((2, 4, 5, 4), "float32"), code, "Pool2D", strideH=2, strideW=2, filterHeight=3, filterWidth=2,
               fusedActivationFunction=FUSED.RELU)


@case("AVERAGE_POOL_2D int8", "MAX_POOL_2D int8")
def pool_bytes(rng, code):
    return one([bytes_(rng, 2, 7, 9, 4)], ((2, 4, 5, 4), "int8"), code, "Pool2D", strideH=2, strideW=2, filterHeight=3, filterWidth=2,
               steps=1, quantized=[(0.05, 3), (0.05, 3)])


@case("FULLY_CONNECTED")
def fully_connected(rng, code, keep=False):
    return one([floats(rng, 2, 3, 4), floats(rng, 5, 4), floats(rng, 5)], ((2, 3, 5) if keep else (6, 5), "float32"), code,
               "FullyConnected", constants=(1, 2), keepNumDims=keep, fusedActivationFunction=FUSED.RELU)


case("FULLY_CONNECTED keep", keep=True)(fully_connected)


@case("FULLY_CONNECTED int8")
def fully_connected_int8(rng, code):
    return one([bytes_(rng, 3, 16), np.maximum(bytes_(rng, 5, 16), -127), rng.integers(-900, 900, 5).astype(np.int32)], ((3, 5), "int8"),
               code, "FullyConnected", constants=(1, 2), steps=1, quantized=[(0.03, 4), (0.02, 0), (0.03 * 0.02, 0), (0.2, 7)])


@case("FULLY_CONNECTED of activations")
def fully_connected_of_activations(rng, code):
    return one([floats(rng, 3, 4), floats(rng, 5, 4)], ((3, 5), "float32"), code, "FullyConnected")


@case("BATCH_MATMUL")
def batch_matmul(rng, code, adj_x=False, adj_y=False):
    x = floats(rng, 2, 4, 3) if adj_x else floats(rng, 2, 3, 4)
    y = floats(rng, 2, 5, 4) if adj_y else floats(rng, 2, 4, 5)
    return one([x, y], ((2, 3, 5), "float32"), code, "BatchMatMul", adjX=adj_x, adjY=adj_y)


case("BATCH_MATMUL x", adj_x=True)(batch_matmul)
case("BATCH_MATMUL y", adj_y=True)(batch_matmul)


# Shapes and moves

@case("RESHAPE")
def reshape(rng, code):
    return one([floats(rng, 2, 3, 4), i32(4, -1)], ((4, 6), "float32"), code, constants=(1,))


@case("RESHAPE option")
def reshape_option(rng, code):
    return one([floats(rng, 2, 3, 4)], ((4, 6), "float32"), code, "Reshape", newShape=[4, 6])


@case("SQUEEZE")
def squeeze(rng, code, axes=()):
    return one([floats(rng, 1, 3, 1, 4)], ((3, 4), "float32"), code, "Squeeze", squeezeDims=list(axes))


case("SQUEEZE some", axes=(0, -2))(squeeze)


@case("EXPAND_DIMS")
def expand_dims(rng, code):
    return one([floats(rng, 3, 4), i32([-1])], ((3, 4, 1), "float32"), code, constants=(1,))


@case("SHAPE")
def shape(rng, code):
    return one([floats(rng, 3, 4)], ((2,), "int32"), code, "Shape", outType=schema.TensorType.INT32)


@case("RANK")
def rank(rng, code):
    return one([floats(rng, 3, 4)], ((), "int32"), code)


@case("BROADCAST_TO")
def broadcast_to(rng, code):
    return one([floats(rng, 3, 1), i32(2, 3, 4)], ((2, 3, 4), "float32"), code, constants=(1,), version=2)


@case("TILE")
def tile(rng, code):
    return one([floats(rng, 3, 2), i32(2, 3)], ((6, 6), "float32"), code, constants=(1,))


@case("FILL")
def fill(rng, code):
    return one([i32(2, 3), np.float32(1.5).reshape(())], ((2, 3), "float32"), code, constants=(0,))


@case("TRANSPOSE")
def transpose(rng, code):
    return one([floats(rng, 2, 3, 4, 5), i32(0, 3, 2, 1)], ((2, 5, 4, 3), "float32"), code, constants=(1,))


@case("TRANSPOSE to channels last")
def transpose_last(rng, code):
    return one([floats(rng, 2, 3, 4, 5), i32(0, 2, 3, 1)], ((2, 4, 5, 3), "float32"), code, constants=(1,))


@case("REVERSE_SEQUENCE")
def reverse_sequence(rng, code):
    return one([floats(rng, 3, 5, 2), i32(1, 5, 3)], ((3, 5, 2), "float32"), code, "ReverseSequence", seqDim=1, batchDim=0)


@case("REVERSE_V2")
def reverse(rng, code):
    return one([floats(rng, 3, 4), i32([1])], ((3, 4), "float32"), code, constants=(1,))


@case("CONCATENATION")
def concatenation(rng, code):
    return one([floats(rng, 2, 3, 4), floats(rng, 2, 5, 4)], ((2, 8, 4), "float32"), code, "Concatenation", axis=-2)


@case("CONCATENATION int8")
def concatenation_int8(rng, code):
    return one([bytes_(rng, 2, 3), bytes_(rng, 2, 5)], ((2, 8), "int8"), code, "Concatenation", axis=1,
               quantized=[(0.1, 3), (0.1, 3), (0.1, 3)])


@case("PACK")
def pack(rng, code):
    return one([floats(rng, 2, 3) for _ in range(3)], ((2, 3, 3), "float32"), code, "Pack", valuesCount=3, axis=1)


@case("UNPACK")
def unpack(rng, code):
    return one([floats(rng, 2, 3, 4)], [((2, 4), "float32")] * 3, code, "Unpack", num=3, axis=1)


@case("SPLIT")
def split(rng, code):
    return one([i32([1]).reshape(()), floats(rng, 2, 6)], [((2, 2), "float32")] * 3, code, "Split", constants=(0,), numSplits=3)


@case("SPLIT_V")
def split_v(rng, code):
    return one([floats(rng, 2, 6), i32(1, -1, 2), i32([1]).reshape(())], [((2, n), "float32") for n in (1, 3, 2)], code, "SplitV",
               constants=(1, 2), numSplits=3)


@case("PAD", "PADV2")
def pad(rng, code):
    inputs = [floats(rng, 2, 3, 4), i32([[1, 0], [0, 2], [1, 1]])]
    if code == "PADV2":
        inputs.append(np.float32(-1.5).reshape(1))
    return one(inputs, ((3, 5, 6), "float32"), code, constants=(1, 2))


@case("MIRROR_PAD")
def mirror_pad(rng, code, mode=0):
    return one([floats(rng, 3, 4), i32([[1, 2], [2, 0]])], ((6, 6), "float32"), code, "MirrorPad", constants=(1,), mode=mode)


case("MIRROR_PAD symmetric", mode=1)(mirror_pad)


@case("SLICE")
def slices(rng, code):
    return one([floats(rng, 4, 5, 6), i32(1, 0, 2), i32(2, -1, 3)], ((2, 5, 3), "float32"), code, constants=(1, 2))


@case("SLICE computed")
def slices_computed(rng, code):
    return one([floats(rng, 4, 5), i32(1, 2), i32(2, -1)], ((2, 3), "float32"), code)


@case("STRIDED_SLICE")
def strided_slice(rng, code, begin=(1, 4, 0), end=(3, 0, 6), strides=(1, -2, 3), out=(2, 2, 2), **masks):
    return one([floats(rng, 4, 5, 6), i32(*begin), i32(*end), i32(*strides)], (out, "float32"), code, "StridedSlice", constants=(1, 2, 3),
               **masks)


case("STRIDED_SLICE masks", out=(3, 3, 2), begin=(0, 4, 0), end=(3, 0, 0), beginMask=1, endMask=6)(strided_slice)
case("STRIDED_SLICE shrink", out=(5, 6), begin=(-1, 0, 0), end=(0, 5, 6), strides=(1, 1, 1), shrinkAxisMask=1)(strided_slice)
case("STRIDED_SLICE ellipsis", out=(4, 5, 3), begin=(0, 1), end=(0, 4), strides=(1, 1), ellipsisMask=1)(strided_slice)
case("STRIDED_SLICE new axis", out=(2, 1, 5, 6), begin=(1, 0, 0), end=(3, 0, 5), strides=(1, 1, 1), newAxisMask=2)(strided_slice)


@case("GATHER")
def gather(rng, code):
    return one([floats(rng, 3, 5, 2), i32([4, 0, 2, 2])], ((3, 4, 2), "float32"), code, "Gather", axis=1)


@case("GATHER batch")
def gather_batch(rng, code):
    return one([floats(rng, 3, 5, 2), i32([[4, 0], [2, 2], [1, 3]])], ((3, 2, 2), "float32"), code, "Gather", axis=1, batchDims=1)


@case("GATHER_ND")
def gather_nd(rng, code):
    return one([floats(rng, 3, 5, 2), i32([[2, 4], [0, 1]])], ((2, 2), "float32"), code)


@case("SCATTER_ND")
def scatter_nd(rng, code):
    return one([i32([[1], [3], [1]]), floats(rng, 3, 2), i32(5, 2)], ((5, 2), "float32"), code, constants=(2,))


@case("EMBEDDING_LOOKUP")
def embedding_lookup(rng, code):
    return one([i32([2, 0, 1]), floats(rng, 4, 5)], ((3, 5), "float32"), code, constants=(1,))


@case("ONE_HOT")
def one_hot(rng, code):
    return one([i32([2, 0, 1]), i32([4]).reshape(()), np.float32(2).reshape(()), np.float32(-1).reshape(())], ((3, 4), "float32"), code,
               "OneHot", constants=(1, 2, 3), axis=-1)


@case("TOPK_V2")
def topk(rng, code):
    return one([floats(rng, 3, 6), i32([2]).reshape(())], [((3, 2), "float32"), ((3, 2), "int32")], code, constants=(1,))


@case("WHERE")
def where(rng, code):
    return one([np.array([[True, False, True], [False, False, True]])], ((3, 2), "int64"), code)


@case("RANGE")
def range_(rng, code):
    return one([i32([2]).reshape(()), i32([11]).reshape(()), i32([3]).reshape(())], ((3,), "int32"), code)


@case("CUMSUM")
def cumsum(rng, code):
    return one([floats(rng, 3, 4), i32([1]).reshape(())], ((3, 4), "float32"), code, "Cumsum", constants=(1,), exclusive=True, reverse=True)


# Reductions

@case("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN")
def reductions(rng, code):
    return one([floats(rng, 2, 3, 4, 5), i32(1, -1)], ((2, 4), "float32"), code, "Reducer", constants=(1,))


@case("MEAN spatial", "SUM spatial", "REDUCE_MAX spatial")
def spatial(rng, code, keep=False):
    return one([floats(rng, 2, 3, 4, 5), i32(1, 2)], ((2, 1, 1, 5) if keep else (2, 5), "float32"), code, "Reducer", constants=(1,), keepDims=keep)


case("MEAN spatial keep", "SUM spatial keep", keep=True)(spatial)


@case("MEAN int8")
def mean_int8(rng, code):
    return one([bytes_(rng, 2, 3, 4, 5), i32(1, 2)], ((2, 5), "int8"), code, "Reducer", constants=(1,), steps=1,
               quantized=[(0.05, 3), None, (0.03, -4)])


@case("REDUCE_ANY", "REDUCE_ALL")
def bools(rng, code):
    return one([rng.random((4, 5)) < 0.6, i32([1])], ((4,), "bool"), code, "Reducer", constants=(1,))


@case("ARG_MAX", "ARG_MIN")
def arg(rng, code):
    options = {"ARG_MAX": "ArgMax", "ARG_MIN": "ArgMin"}[code]
    return one([floats(rng, 4, 5), i32([1]).reshape(())], ((4,), "int32"), code, options, constants=(1,), outputType=schema.TensorType.INT32)


# Images

@case("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(rng, code, out=(8, 13), **values):
    options = {"RESIZE_BILINEAR": "ResizeBilinear", "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighbor"}[code]
    return one([floats(rng, 2, 5, 6, 3), i32(*out)], ((2, *out, 3), "float32"), code, options, constants=(1,), **values)


for suffix, values in {" half": {"halfPixelCenters": True}, " corners": {"alignCorners": True}, " smaller": {"out": (3, 4)}}.items():
    case("RESIZE_BILINEAR" + suffix, "RESIZE_NEAREST_NEIGHBOR" + suffix, **values)(resize)


@case("DEPTH_TO_SPACE")
def depth_to_space(rng, code):
    return one([floats(rng, 2, 3, 4, 8)], ((2, 6, 8, 2), "float32"), code, "DepthToSpace", blockSize=2)


@case("SPACE_TO_DEPTH")
def space_to_depth(rng, code):
    return one([floats(rng, 2, 4, 6, 3)], ((2, 2, 3, 12), "float32"), code, "SpaceToDepth", blockSize=2)


@case("SPACE_TO_BATCH_ND")
def space_to_batch(rng, code):
    return one([floats(rng, 2, 3, 6, 3), i32(2, 3), i32([[1, 0], [0, 0]])], ((12, 2, 2, 3), "float32"), code, constants=(1, 2))


@case("BATCH_TO_SPACE_ND")
def batch_to_space(rng, code):
    return one([floats(rng, 12, 2, 2, 3), i32(2, 3), i32([[1, 0], [0, 1]])], ((2, 3, 5, 3), "float32"), code, constants=(1, 2))


@case("L2_NORMALIZATION")
def l2_normalization(rng, code):
    return one([floats(rng, 2, 6)], ((2, 6), "float32"), code, "L2Norm")


@case("LOCAL_RESPONSE_NORMALIZATION")
def lrn(rng, code):
    return one([floats(rng, 2, 3, 4, 7)], ((2, 3, 4, 7), "float32"), code, "LocalResponseNormalization", radius=2, bias=1.5, alpha=0.3, beta=0.6)


# Types

@case("QUANTIZE")
def quantize(rng, code):
    return one([floats(rng, 3, 4)], ((3, 4), "int8"), code, quantized=[None, (0.02, 5)])


@case("QUANTIZE requantize")
def requantize(rng, code):
    return one([bytes_(rng, 3, 4)], ((3, 4), "uint8"), code, quantized=[(0.02, 5), (0.03, 100)], steps=1)


@case("DEQUANTIZE")
def dequantize(rng, code):
    return one([bytes_(rng, 3, 4)], ((3, 4), "float32"), code, quantized=[(0.02, 5), None])


@case("CAST")
def cast(rng, code):
    return one([floats(rng, 3, 4) * 5], ((3, 4), "int32"), code, "Cast", inDataType=schema.TensorType.FLOAT32,
               outDataType=schema.TensorType.INT32)


@case("FAKE_QUANT")
def fake_quant(rng, code):
    return one([floats(rng, 30, 40)], ((30, 40), "float32"), code, "FakeQuant", min=-1.3, max=2.1, numBits=8)


def through_constant(rng, code, constant, make):
    """x + the result of an operator on a constant."""
    file = File()
    graph = file.graph
    x, w, y = graph.tensor((3, 4)), graph.tensor((3, 4)), graph.tensor((3, 4))
    graph.op(code, [make(graph)], [w], constant)
    graph.op("ADD", [x, w], [y], "Add")
    graph.ports([x], [y])
    return file.bytes(), [floats(rng, 3, 4)], 0


@case("DEQUANTIZE float16")
def dequantize_half(rng, code):
    return through_constant(rng, code, None, lambda graph: graph.tensor(data=floats(rng, 3, 4).astype(np.float16)))


@case("DEQUANTIZE constant")
def dequantize_constant(rng, code):
    return through_constant(rng, code, None, lambda graph: graph.tensor(data=bytes_(rng, 3, 4), scale=0.1, zero=3))


def sparse_tensor(graph):
    """[[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0]] in compressed rows."""
    number = graph.tensor((3, 4), "float32")
    tensor = graph.made.tensors[number]
    tensor.buffer = graph.file.buffer(np.float32([1, 2, 3]))
    tensor.sparsity = schema.SparsityParametersT()
    tensor.sparsity.traversalOrder = [0, 1]
    rows, columns = schema.DimensionMetadataT(), schema.DimensionMetadataT()
    rows.format, rows.denseSize = schema.DimensionType.DENSE, 3
    columns.format = schema.DimensionType.SPARSE_CSR
    for name, values in ("arraySegments", [0, 2, 2, 3]), ("arrayIndices", [1, 3, 0]):
        vector = schema.Int32VectorT()
        vector.values = values
        setattr(columns, name, vector)
        setattr(columns, name + "Type", schema.SparseIndexVector.Int32Vector)
    tensor.sparsity.dimMetadata = [rows, columns]
    return number


@case("DENSIFY")
def densify(rng, code):
    return through_constant(rng, code, None, sparse_tensor)


# Subgraphs

@case("IF")
def if_(rng, code, taken=True):
    file = File()
    graph = file.graph
    for op in ("ADD", "MUL"):
        inner = file.subgraph()
        a, b, c = (inner.tensor((2, 3)) for _ in range(3))
        inner.op(op, [a, b], [c], op.title())
        inner.ports([a, b], [c])
    condition, x, y, z = graph.tensor((), "bool"), graph.tensor((2, 3)), graph.tensor((2, 3)), graph.tensor((2, 3))
    graph.op(code, [condition, x, y], [z], "If", thenSubgraphIndex=1, elseSubgraphIndex=2)
    graph.ports([condition, x, y], [z])
    return file.bytes(), [np.array(taken), floats(rng, 2, 3), floats(rng, 2, 3)], 0


case("IF else", taken=False)(if_)


@case("WHILE")
def while_(rng, code):
    """Doubles x until the counter reaches 4."""
    file = File()
    graph, check, step = file.graph, file.subgraph(), file.subgraph()
    i, x, go = check.tensor((), "int32"), check.tensor((2, 3)), check.tensor((), "bool")
    check.op("LESS", [i, check.tensor(data=np.int32(4).reshape(()))], [go])
    check.ports([i, x], [go])
    i, x, j, y = step.tensor((), "int32"), step.tensor((2, 3)), step.tensor((), "int32"), step.tensor((2, 3))
    step.op("ADD", [i, step.tensor(data=np.int32(1).reshape(()))], [j], "Add")
    step.op("ADD", [x, x], [y], "Add")
    step.ports([i, x], [j, y])
    i, x, j, y = graph.tensor((), "int32"), graph.tensor((2, 3)), graph.tensor((), "int32"), graph.tensor((2, 3))
    graph.op(code, [i, x], [j, y], "While", condSubgraphIndex=1, bodySubgraphIndex=2)
    graph.ports([i, x], [j, y])
    return file.bytes(), [np.int32(0).reshape(()), floats(rng, 2, 3)], 0
