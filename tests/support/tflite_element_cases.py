"""TFLite files of one elementwise operator."""
import numpy as np
from support.tflite_case import FUSED, bytes_, case, floats, one


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
