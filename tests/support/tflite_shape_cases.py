"""TFLite files of one operator that moves or reduces values."""
import numpy as np
from support.tflite_case import bytes_, case, floats, i32, one
from support.tflite_files import schema


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
