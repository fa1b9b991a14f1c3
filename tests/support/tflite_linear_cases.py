"""TFLite files of one convolution, pooling or product."""
import numpy as np
from support.tflite_case import FUSED, bytes_, case, floats, i32, one

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
