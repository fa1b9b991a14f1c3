"""c-gen: 16-bit integer operators, exact, compared with 64-bit sums."""
import re

import numpy as np
import onnx
import pytest
from onnx import helper
from support.executing import Executor
from support.generating import ANYBIT, COMPILE_TIME, DEFAULT, MEMORY, MICROSOFT, PERFORMANCE, SEED, compiled, generate, model_of, random_integers


def requantized(sums, factor, zero, kind):
    """Requantization of docs/formats.md: one conversion, one multiplication, one rounding."""
    info = np.iinfo(kind)
    whole = np.rint(sums.astype(np.float32) * np.asarray(factor, np.float32)).astype(np.float64) + float(zero)
    return np.clip(whole, info.min, info.max).astype(kind)


def conv_sums(x, w, groups, stride, pad):
    """Naive 2-D convolution in 64 bits."""
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    rows, columns = ((x.shape[i] - w.shape[i]) // stride + 1 for i in (2, 3))
    outputs, inputs = w.shape[0] // groups, w.shape[1]
    y = np.zeros((x.shape[0], w.shape[0], rows, columns), np.int64)
    for o in range(w.shape[0]):
        part = x[:, o // outputs * inputs:][:, :inputs]
        for k in np.ndindex(w.shape[2:]):
            piece = part[:, :, k[0]:k[0] + (rows - 1) * stride + 1:stride, k[1]:k[1] + (columns - 1) * stride + 1:stride]
            y[:, o] += np.einsum("nchw,c->nhw", piece, w[(o, slice(None), *k)])
    return y


def wide_conv_case(random, number):
    """Some with sums beyond 32 bits, by the weights or a bias; some with zero points, which exceed 16 bits."""
    channels, outputs, groups, kernel, size, stride = [
        (3, 10, 1, 3, 11, 1), (16, 24, 1, 1, 8, 1), (12, 12, 12, 3, 9, 2), (8, 6, 2, 2, 7, 2), (6, 5, 1, 7, 7, 1),
        (40, 9, 1, 3, 6, 1), (12, 24, 12, 3, 9, 1), (600, 4, 1, 1, 5, 1)][number % 8]
    x_kind, w_kind, y_kind = [(np.int16, np.int8, np.int16), (np.int16, np.int8, np.int8), (np.uint16, np.int8, np.uint16),
                              (np.int8, np.int8, np.int16), (np.int16, np.int16, np.int16)][number // 8]
    x_zero = 0 if x_kind == np.int16 and number % 3 else random_integers(random, x_kind)
    y_zero = 0 if number % 2 else random_integers(random, y_kind)
    x, w = random_integers(random, x_kind, (2, channels, size, size)), random_integers(random, w_kind, (outputs, channels // groups, kernel, kernel))
    scales = random.uniform(0.5, 2, outputs).astype(np.float32)
    bias = random.integers(-30000, 30000, outputs).astype(np.int32)
    bias[1:3] = 2147483000, -2147483000
    pad = kernel // 2 if number % 2 else 0
    sums = conv_sums(x.astype(np.int64) - int(x_zero), w.astype(np.int64), groups, stride, pad) + bias[:, None, None]
    y_scale = np.float32(np.abs(sums[:, 0]).mean() * 0.5 / np.iinfo(y_kind).max * 0.01)
    constants = {"xs": np.float32(0.01), "xz": x_kind(x_zero), "w": w, "ws": scales, "wz": np.zeros(outputs, w_kind), "ys": y_scale,
                 "yz": y_kind(y_zero), "b": bias}
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], group=groups,
                            strides=[stride] * 2, pads=[pad] * 4, domain=ANYBIT)
    factor = (np.float64(np.float32(0.01)) * scales / np.float64(y_scale)).astype(np.float32)[:, None, None]
    return [node], {"x": x}, constants, requantized(sums, factor, y_zero, y_kind)


def wide_matmul_case(random, number):
    m, k, n = [(1, 64, 10), (7, 33, 20), (13, 16, 16), (4, 900, 3)][number % 4]
    a, b = random_integers(random, np.int16, (m, k)), random_integers(random, np.int8, (k, n))
    zero = 0 if number % 3 else 77
    bias = random.integers(-30000, 30000, n).astype(np.int32)
    sums = (a.astype(np.int64) - zero) @ b.astype(np.int64) + bias
    y_scale = np.float32(np.abs(sums).mean() * 1e-4 / 10000)
    factor = np.float32(np.float64(np.float32(0.01)) * np.float64(np.float32(0.01)) / np.float64(y_scale))
    constants = {"as": np.float32(0.01), "az": np.int16(zero), "b": b, "bs": np.float32(0.01), "bz": np.int8(0), "c": bias,
                 "ys": y_scale, "yz": np.int16(-3)}
    node = helper.make_node("QGemm", ["a", "as", "az", "b", "bs", "bz", "c", "ys", "yz"], ["y"], domain=MICROSOFT)
    return [node], {"a": a}, constants, requantized(sums, factor, -3, np.int16)


def wide_element_case(random, number):
    kind = [np.int16, np.uint16][number % 2]
    x, z = random_integers(random, kind, (2, 6, 9, 7)), random_integers(random, kind, [(2, 6, 9, 7), (6, 1, 1)][number // 2 % 2])
    zeros = random_integers(random, kind, 3)
    real = [(one.astype(np.int64) - int(zero)).astype(np.float32) for one, zero in ((x, zeros[0]), (z, zeros[1]))]
    own = {"xs": np.float32(0.01), "xz": zeros[0], "zs": np.float32(0.02), "zz": zeros[1], "yz": zeros[2]}
    names = ["x", "xs", "xz", "z", "zs", "zz", "ys", "yz"]
    scale = {name: np.float64(value) for name, value in own.items() if name.endswith("s")}
    if number < 4:
        own["ys"] = np.float32(0.03)
        y = real[0] * np.float32(scale["xs"] / np.float64(own["ys"])) + real[1] * np.float32(scale["zs"] / np.float64(own["ys"]))
        return [helper.make_node("QLinearAdd", names, ["y"], domain=MICROSOFT)], {"x": x, "z": z}, own, requantized(y, 1, zeros[2], kind)
    if number < 8:
        own["ys"] = np.float32(9)
        factor = np.float32(scale["xs"] * scale["zs"] / np.float64(own["ys"]))
        y = requantized(real[0] * real[1], factor, zeros[2], kind)
        return [helper.make_node("QLinearMul", names, ["y"], domain=MICROSOFT)], {"x": x, "z": z}, own, y
    middle = kind((np.iinfo(kind).min + np.iinfo(kind).max + 1) // 2)
    own = {"xs": np.float32(0.01), "xz": zeros[0], "ys": np.float32(0.04), "yz": middle}
    sums = (x.astype(np.int64) - int(zeros[0])).sum((2, 3), keepdims=True)
    factor = np.float32(np.float64(own["xs"]) / (np.float64(own["ys"]) * 63))
    node = helper.make_node("QLinearGlobalAveragePool", ["x", "xs", "xz", "ys", "yz"], ["y"], domain=MICROSOFT)
    return [node], {"x": x}, own, requantized(sums, factor, middle, kind)


WIDE_CASES = {"conv": (wide_conv_case, 40), "matmul": (wide_matmul_case, 12), "element": (wide_element_case, 10)}


def test_operators_on_16_bits_are_exact(tmp_path):
    wanted, inputs = {}, {}
    for kind, (make, count) in WIDE_CASES.items():
        for number in range(count):
            nodes, feeds, constants, expected = make(np.random.default_rng([SEED, 16, len(kind), number]), number)
            for preference in {DEFAULT, [DEFAULT, PERFORMANCE, MEMORY, COMPILE_TIME][number % 4]}:
                name = f"{kind}_{number}_{preference}"
                generate(model_of(nodes, feeds, constants), tmp_path / f"{name}.c", preference)
                wanted[name], inputs[name] = expected, list(feeds.values())
    fast = [name for i, name in enumerate(wanted) if i % 4]
    programs = compiled(fast, tmp_path, "-mavx2", "-mfma") | compiled([name for name in wanted if name not in fast], tmp_path)
    for name, expected in wanted.items():
        assert (expected.min() < expected.max()), name
        np.testing.assert_array_equal(programs[name].run(inputs[name], [expected])[0], expected, err_msg=name)


@pytest.mark.parametrize("depth, parts", [(2, 0), (3, 2), (600, 3), (3000, 4), (9000, 0)])
def test_the_largest_16_bit_sums_use_32_bit_tiles(depth, parts, tmp_path):
    """The inputs are split into the fewest exact parts; if four are not enough, the direct loop runs."""
    x = np.where(np.arange(16 * depth) % 7, -32768, 32767).reshape(1, depth, 4, 4).astype(np.int16)
    w = np.where(np.arange(8 * depth) % 5, 32767, -32767).reshape(8, depth, 1, 1).astype(np.int16)
    sums = np.einsum("nchw,oc->nohw", x.astype(np.int64), w[:, :, 0, 0].astype(np.int64))
    scales = {"s": np.float32(1), "ys": np.float32(np.abs(sums).max() / 30000)}
    constants = scales | {"z": np.int16(0), "zs": np.zeros(8, np.int16), "w": w}
    conv = helper.make_node("QLinearConv", ["x", "s", "z", "w", "s", "zs", "ys", "z"], ["y"], domain=ANYBIT)
    gemm = helper.make_node("QGemm", ["x", "s", "z", "w", "s", "z", "", "ys", "z"], ["y"], domain=MICROSOFT, transB=1)
    rows = x.reshape(depth, 16).T.copy()
    factor = np.float32(1 / np.float64(scales["ys"]))
    cases = {"conv": (model_of([conv], {"x": x}, constants), x, sums),
             "matmul": (model_of([gemm], {"x": rows}, constants | {"w": w[:, :, 0, 0]}), rows, sums.reshape(8, 16).T)}
    for name, (model, _, _) in cases.items():
        generate(model, tmp_path / f"{name}.c")
        split = re.search(r"split_shorts\(.*, (\d), \d\);", (tmp_path / f"{name}.c").read_text())
        assert int(split.group(1) if split else 0) == parts
    for options in ([], ["-mavx2"]):
        for name, program in compiled(list(cases), tmp_path, *options).items():
            right = requantized(cases[name][2], factor, 0, np.int16)
            np.testing.assert_array_equal(program.run([cases[name][1]], [right])[0], right, err_msg=name)


@pytest.mark.parametrize("recipe", ["int16x8", "int16"])
def test_nets_are_exact_in_16_bits(recipe, digits, anybit, tmp_path):
    real, _, images = digits
    onnx.save(real, tmp_path / "float.onnx")
    np.save(tmp_path / "samples.npy", images[:10, 0])
    anybit("quantize", tmp_path / "float.onnx", "-o", tmp_path / "net.onnx", "--recipe", recipe, "--calib", tmp_path / "samples.npy")
    model = onnx.load(tmp_path / "net.onnx")
    for preference in (DEFAULT, PERFORMANCE, MEMORY):
        generate(model, tmp_path / f"net_{preference}.c", preference)
    fast, small = (compiled(names, tmp_path, *options) for names, options in (
        (["net_0", "net_1"], ["-mavx2", "-O3"]), (["net_2"], ["-O1"])))
    for image in images[:3]:
        right = Executor(model, threads=1).run({"image": image})[0]
        for name, program in (fast | small).items():
            np.testing.assert_array_equal(program.run([image], [right])[0], right, err_msg=name)
