"""Every scheme on every kind of operator: a quantized model computes the same as float arithmetic on values and weights that
the format library has quantized, both in anybit and in ONNX Runtime."""
import zlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.library_codecs import Codec
from support.quantizing import Executor, in_onnxruntime, run_tool

# Name: format, its parameters for weights and activations, granularity, block size.
SCHEMES = {
    "integer": ("integer", {"width": 8, "frac": 6}, {"width": 8, "frac": 4}, "element", 0),
    "fixed": ("fixed", {"width": 6, "frac": 5}, {"width": 10, "frac": 6}, "element", 0),
    "binary": ("binary", {"scale": "mean"}, {"scale": "mean"}, "tensor", 0),
    "binary_residual": ("binary_residual", {"levels": 3}, {"levels": 2}, "tensor", 0),
    "ternary": ("ternary", {"scale": "mean"}, {"threshold": 0.5}, "tensor", 0),
    "ternary_fives": ("ternary", {"scale": "mean", "packing": "fives"}, {"packing": "fives"}, "tensor", 0),
    "minifloat_ieee": ("minifloat_ieee", {"width": 8, "exponent_width": 4}, {"width": 6, "exponent_width": 3}, "element", 0),
    "minifloat_denorm": ("minifloat_denorm", {}, {"width": 7, "exponent_width": 3}, "element", 0),
    "log": ("log", {"with_zero": True}, {}, "element", 0),
    "block_fp": ("block_fp", {"width": 8}, {"width": 6}, "block", 16),
    "block_minifloat": ("block_minifloat", {}, {"width": 6, "exponent_width": 2}, "block", 16),
    "block_log": ("block_log", {"with_zero": True}, {}, "block", 16),
    "bfp16": ("bfp16", {}, {}, "block", 8),
    "bfp_prime": ("bfp_prime", {}, {"width": 5}, "block", 16),
    "mx4": ("mx4", {}, {}, "block", 16),
    "mx6": ("mx6", {}, {}, "block", 16),
    "mx9": ("mx9", {}, {}, "block", 16),
    "nvfp4": ("nvfp4", {}, {}, "block", 16),
    **{name: (name, {}, {}, "block", 32)
       for name in ("mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8")},
    **{name: (name, {}, {}, "element", 0)
       for name in ("fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1", "float16",
                    "bfloat16")},
    "int5": ("int5", {}, {}, "tensor", 0),
    "uint3": ("uint3", {}, {}, "tensor", 0),
}

# Kind: operator, attributes, shapes of the data, {input: (shape, axis that blocks run along once it is a matrix)}.
# A weight of more than two dimensions is quantized as a matrix with its first dimension as rows.
NORM = {1: ((6,), -1), 2: ((6,), -1)}
KINDS = {
    "add": ("Add", {}, [(2, 3, 40), (2, 3, 40)], {}),
    "sub": ("Sub", {}, [(2, 3, 40), (40,)], {}),
    "mul": ("Mul", {}, [(2, 40), (2, 40)], {}),
    "matmul": ("MatMul", {}, [(3, 40), (40, 5)], {}),
    "bmm": ("MatMul", {}, [(2, 3, 40), (2, 40, 5)], {}),
    "linear": ("Gemm", {"transB": 1}, [(3, 40)], {1: ((7, 40), 1), 2: ((7,), -1)}),
    "linear_matmul": ("MatMul", {}, [(2, 3, 40)], {1: ((40, 7), 0)}),
    "conv1d": ("Conv", {"pads": [1, 1]}, [(1, 6, 9)], {1: ((4, 6, 3), 1), 2: ((4,), -1)}),
    "conv2d": ("Conv", {"strides": [2, 2]}, [(2, 6, 8, 8)], {1: ((4, 6, 3, 3), 1), 2: ((4,), -1)}),
    "depthwise": ("Conv", {"group": 6, "pads": [1, 1, 1, 1]}, [(1, 6, 5, 40)], {1: ((12, 1, 3, 3), 1), 2: ((12,), -1)}),
    "conv3d": ("Conv", {}, [(1, 3, 4, 4, 4)], {1: ((4, 3, 2, 2, 2), 1)}),
    "conv_transpose": ("ConvTranspose", {"strides": [2, 2]}, [(1, 6, 5, 5)], {1: ((6, 4, 3, 3), 0), 2: ((4,), -1)}),
    "depthwise_transpose": ("ConvTranspose", {"group": 6}, [(1, 6, 5, 40)], {1: ((6, 1, 3, 3), 1)}),
    "relu": ("Relu", {}, [(2, 3, 40)], {}),
    "batch_norm2d": ("BatchNormalization", {}, [(2, 6, 5, 5)], {**NORM, 3: ((6,), None), 4: ((6,), None)}),
    "layer_norm": ("LayerNormalization", {}, [(4, 6)], NORM),
    "group_norm": ("GroupNormalization", {"num_groups": 2}, [(2, 6, 5, 5)], NORM),
    "instance_norm2d": ("InstanceNormalization", {}, [(2, 6, 5, 5)], NORM),
    "rms_norm": ("RMSNormalization", {}, [(4, 6)], {1: ((6,), -1)}),
    **{name.lower(): (name, {}, [(2, 3, 40)], {})
       for name in ("Selu", "Tanh", "Gelu", "Softsign", "Softplus", "Softmax", "Sigmoid", "Swish")},
}
# Kinds with another name in recipes.
RULES = {"linear_matmul": "linear", "swish": "silu", "depthwise": "conv2d", "depthwise_transpose": "conv_transpose"}
# ONNX Runtime takes seconds to inline many functions. These kinds have one call of each form: along the last axis, the one
# before it, the channels; weights of linear layers, of convolutions, plain ones.
PORTABLE = ("add", "matmul", "linear", "linear_matmul", "conv2d", "depthwise", "conv_transpose", "layer_norm", "relu")
MADE = ("add", "relu")  # kinds whose outputs go through the format, too: their floats are exact


def reduction_axis(kind, input):
    op = KINDS[kind][0]
    if op in ("Conv", "ConvTranspose"):
        return -1 if "depthwise" in kind else 1
    return -2 if op == "MatMul" and input == 1 else -1


def through(scheme, x, weight, axis=-1):
    """The array in the format, by the library's codec, group by group."""
    name, weights, data, granularity, size = SCHEMES[scheme]
    parameters = dict(weights if weight else data)
    if name == "binary_residual" and not weight:
        parameters.update(gammas="0.5,0.25", clip=True)
    codec = Codec(name, **parameters)
    if granularity != "block":
        return codec.quantize(x, codec.choose(x)).reshape(x.shape)
    whole = codec.choose(x)  # of the tensor; a group keeps what all of them share
    rows = np.moveaxis(x, axis, -1)
    out = np.empty_like(rows)
    for index in np.ndindex(*rows.shape[:-1]):
        for first in range(0, rows.shape[-1], size):
            part = rows[index][first:first + size]
            words = np.zeros(codec.words(part.size), np.uint32)
            words[:min(words.size, whole.size)] = whole[:words.size]
            out[index][first:first + size] = codec.quantize(part, codec.choose_group(part, words))
    return np.moveaxis(out, -1, axis)


def weight_through(scheme, w, axis):
    if axis is None:
        return w
    matrix = w.reshape(w.shape[0], -1) if w.ndim > 2 else w
    return through(scheme, matrix, True, axis).reshape(w.shape)


def net(kinds, scheme=None, seed=0):
    """Each kind of operator beside the others, with inputs of its own. With a scheme: its constants quantized."""
    nodes, inputs, outputs, constants, feeds = [], [], [], [], {}
    for kind in kinds:
        op, attributes, data, weights = KINDS[kind]
        rng = np.random.default_rng([seed, list(KINDS).index(kind)])
        names = []
        for i, shape in enumerate(data):
            names.append(f"{kind}.x{i}")
            x = (rng.standard_normal(shape) * np.exp2(rng.integers(-3, 3, shape[-1]))).astype(np.float32)
            inputs.append(helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, shape))
            feeds[names[-1]] = through(scheme, x, False, reduction_axis(kind, i)) if scheme else x
        for i, (shape, axis) in weights.items():
            names.append(f"{kind}.w{i}")
            w = rng.standard_normal(shape).astype(np.float32) * 0.6
            if op == "BatchNormalization" and i == 4:
                w = np.abs(w) + 0.5
            constants.append(numpy_helper.from_array(weight_through(scheme, w, axis) if scheme else w, names[-1]))
        nodes.append(helper.make_node(op, names, [kind], name=kind, **attributes))
        outputs.append(helper.make_tensor_value_info(kind, TensorProto.FLOAT, None))
    model = helper.make_model(helper.make_graph(nodes, "kinds", inputs, outputs, constants),
                              opset_imports=[helper.make_opsetid("", 24)], ir_version=12)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True), feeds


def words_of(scheme, weight):
    name, weights, data, _, _ = SCHEMES[scheme]
    given = " ".join(f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in (weights if weight else data).items())
    by_itself = not weight and name.startswith(("int", "uint"))  # without samples
    return f"{name} {given} {'dynamic' if by_itself else ''}".strip()


def recipe(scheme, kinds):
    parts = f"{{data_in: {words_of(scheme, False)}, weight: {words_of(scheme, True)}, bias: {words_of(scheme, True)}}}"
    made = f"{parts[:-1]}, data_out: {words_of(scheme, False)}}}"
    names = dict.fromkeys(RULES.get(kind, kind) for kind in kinds)
    return "type:\n" + "".join(f"  {name}: {made if name in MADE else parts}\n" for name in names)


def quantized(tool, folder, scheme, kinds, seed):
    """The file in the scheme, its inputs, and the result of float arithmetic on quantized values."""
    model, feeds = net(kinds, seed=seed)
    onnx.save(model, folder / "float.onnx")
    (folder / "recipe.yaml").write_text(recipe(scheme, kinds))
    run_tool(tool, "quantize", folder / "float.onnx", "-o", folder / "q.onnx", "--recipe", folder / "recipe.yaml")
    reference, quantized_feeds = net(kinds, scheme, seed)
    expected = in_onnxruntime(reference.SerializeToString(), quantized_feeds)
    expected = [through(scheme, one, False) if kind in MADE else one for kind, one in zip(kinds, expected)]
    return folder / "q.onnx", feeds, expected


def compare(kinds, outputs, expected):
    for kind, wanted, given in zip(kinds, expected, outputs):
        assert np.abs(given - wanted).max() <= 2e-5 * max(1e-30, np.abs(wanted).max()), kind


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_on_every_operator_computes_on_values_of_the_format(tool, tmp_path, scheme):
    seed = zlib.crc32(scheme.encode())
    print("seed", seed)
    path, feeds, expected = quantized(tool, tmp_path, scheme, KINDS, seed)
    compare(KINDS, Executor(str(path)).run(feeds), expected)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_onnx_runtime_computes_the_same_from_the_file(tool, tmp_path, scheme):
    seed = zlib.crc32(scheme.encode())
    print("seed", seed)
    path, feeds, expected = quantized(tool, tmp_path, scheme, PORTABLE, seed)
    compare(PORTABLE, in_onnxruntime(path, feeds), expected)


def test_a_model_with_packed_weights_is_fused_like_the_float_model(tool, tmp_path):
    """Packed weights without a kernel are decoded before convolutions and activations are fused."""
    digits = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"
    run_tool(tool, "prepare", digits, "-o", tmp_path / "float.onnx")
    run_tool(tool, "quantize", digits, "-o", tmp_path / "q.onnx", "--recipe", "mxfp4-weights")
    assert Executor(str(tmp_path / "q.onnx")).steps() == Executor(str(tmp_path / "float.onnx")).steps()
