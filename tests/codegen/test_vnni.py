"""c-gen: integer convolutions and GEMMs by dot4 instructions (AVX-512 VNNI) are bit-identical to the runtime."""
import subprocess

import numpy as np
import pytest
from onnx import helper
from support.executing import Executor
from support.generating import DEFAULT, HAS_VNNI, MICROSOFT, PERFORMANCE, VNNI, Program, compile_shared, compiled, generate, model_of, random_integers

SEED = 20261117

# channels, outputs, groups, kernel, height and width, strides: full and partial tiles, all remainders of the depth, rows
# of all lengths, blocks of one tile and of many.
SHAPES = [(4, 8, 1, (3, 3), (9, 16), (1, 1)), (3, 10, 1, (3, 3), (11, 21), (1, 1)), (1, 16, 1, (3, 3), (28, 28), (1, 1)),
          (5, 7, 1, (1, 1), (6, 7), (1, 1)), (16, 24, 1, (1, 1), (8, 8), (1, 1)), (34, 9, 1, (1, 1), (5, 37), (1, 1)),
          (6, 12, 2, (3, 2), (7, 9), (1, 1)), (8, 20, 4, (1, 5), (3, 40), (1, 1)), (7, 3, 1, (3, 3), (12, 17), (2, 2)),
          (2, 1, 1, (2, 2), (5, 4), (1, 1)), (40, 17, 1, (3, 3), (6, 5), (1, 2)), (64, 33, 1, (3, 3), (14, 14), (1, 1)),
          (300, 6, 1, (3, 3), (3, 9), (1, 1)), (1, 2, 1, (1, 1), (4, 4), (1, 1))]


def case(number):
    random = np.random.default_rng([SEED, number])
    channels, outputs, groups, kernel, size, strides = SHAPES[number % len(SHAPES)]
    x_kind, y_kind = (np.dtype([np.uint8, np.int8][bit]) for bit in random.integers(0, 2, 2))
    shape = (outputs, channels // groups, *kernel)
    # Weights minus zero points fit 8 bits for all weight types and zero points.
    zeros = random.integers(-20, 21, outputs) if number % 3 else np.zeros(outputs, int)
    weights = random.integers(-128, 128, shape)
    if number % 4 == 3:
        w_kind, zeros = np.uint8, zeros + 128
        weights = np.clip(weights + zeros.reshape(-1, 1, 1, 1), 0, 255)
    else:
        w_kind = np.int8
        weights = np.clip(weights + zeros.reshape(-1, 1, 1, 1), -128, 127)
    constants = {
        "xs": np.float32(0.02), "xz": random_integers(random, x_kind), "w": weights.astype(w_kind), "wz": zeros.astype(w_kind),
        "ws": random.uniform(0.0005, 0.02, outputs).astype(np.float32), "ys": np.float32(0.5), "yz": random_integers(random, y_kind),
        "b": random.integers(-30000, 30000, outputs).astype(np.int32)}
    pads = [0] * 4 if kernel == (1, 1) else random.integers(0, 3, 4).tolist()
    x = random_integers(random, x_kind, (2, channels, *size))
    x.flat[:3], x[0, -1] = np.iinfo(x_kind).max, np.iinfo(x_kind).min
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], group=groups, pads=pads,
                            strides=strides, dilations=[1, 1 + number // len(SHAPES) % 2] if kernel[1] > 1 else [1, 1])
    return model_of([node], {"x": x}, constants), x


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """{name: (input, output of the runtime)}, and the folder with the C files."""
    folder, made = tmp_path_factory.mktemp("dot4_groups"), {}
    for number in range(2 * len(SHAPES)):
        model, x = case(number)
        expected = Executor(model, threads=1).run({"x": x})
        generate(model, folder / f"conv_{number}.c", (DEFAULT, PERFORMANCE)[(number + number // len(SHAPES)) % 2])
        made[f"conv_{number}"] = x, expected
    return folder, made


@pytest.mark.parametrize("options", [["-O0"], ["-O1", "-mavx2", "-mfma"], ["-O0", *VNNI], ["-O2", *VNNI]], ids=" ".join)
def test_dot4_convolutions_are_bit_identical_to_the_runtime(cases, options):
    folder, made = cases
    assert sum("dot4_tile(dot4_groups" in (folder / f"{name}.c").read_text() for name in made) > 0.9 * len(made)
    programs = compiled(list(made), folder, *options)
    for name, (x, expected) in made.items() if HAS_VNNI or VNNI[-1] not in options else ():
        np.testing.assert_array_equal(programs[name].run([x], expected)[0], expected[0], err_msg=name)


SIZES = [(1, 64, 10), (1, 1, 1), (7, 33, 20), (8, 30, 16), (13, 16, 17), (2, 3, 40), (15, 6, 33), (3, 130, 100)]


def gemm(number):
    random = np.random.default_rng([SEED, 1, number])
    m, k, n = SIZES[number % len(SIZES)]
    a_kind, y_kind = (np.dtype([np.uint8, np.int8][bit]) for bit in random.integers(0, 2, 2))
    a, b = random_integers(random, a_kind, (2, m, k)), random_integers(random, np.int8, (k, n))
    a.flat[0], b[:, 0] = np.iinfo(a_kind).max, -128
    constants = {"as": np.float32(0.02), "az": random_integers(random, a_kind), "bs": random.uniform(0.001, 0.02, n).astype(np.float32),
                 "bz": random_integers(random, np.int8, n) if number % 2 else np.zeros(n, np.int8), "ys": np.float32(0.3), "yz": random_integers(random, y_kind),
                 "b": b, "c": random.integers(-30000, 30000, n).astype(np.int32)}
    kind = number % 5
    if kind == 0:
        return model_of([helper.make_node("QGemm", ["a", "as", "az", "b", "bs", "bz", "c", "ys", "yz"], ["y"], domain=MICROSOFT)],
                        {"a": a[0]}, constants), a[0]
    if kind == 1:
        real = random.normal(size=a.shape).astype(np.float32)
        return model_of([helper.make_node("DynamicQuantizeMatMul", ["a", "b", "bs", "bz"], ["y"], domain=MICROSOFT)], {"a": real},
                        constants), real
    op, names = [("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"]), ("MatMulInteger", ["a", "b", "az", "bz"]),
                 ("MatMulIntegerToFloat", ["a", "b", "as", "bs", "az", "bz"])][kind - 2]
    return model_of([helper.make_node(op, names, ["y"], domain=MICROSOFT if op.endswith("Float") else "")], {"a": a}, constants), a


def test_dot4_gemms_are_bit_identical_to_the_runtime(tmp_path):
    made = {}
    for number in range(5 * len(SIZES)):
        model, a = gemm(number)
        generate(model, tmp_path / f"matmul_{number}.c", (DEFAULT, PERFORMANCE)[number // 5 % 2])
        assert "dot4_panel(c" in (tmp_path / f"matmul_{number}.c").read_text()
        made[f"matmul_{number}"] = a, Executor(model, threads=1).run({"a": a})
    for options in ["-O0"], ["-O0", "-mavx2", "-mfma"], ["-O1", *VNNI]:
        programs = compiled(list(made), tmp_path, *options)
        for name, (a, expected) in made.items() if HAS_VNNI or VNNI[-1] not in options else ():
            np.testing.assert_array_equal(programs[name].run([a], expected)[0], expected[0], err_msg=name)


def test_dot4_is_used_if_the_compiler_has_it(cases):
    folder, _ = cases
    for options, wanted in (VNNI, True), (VNNI[:2], False):
        compile_shared(folder / "conv_0.c", folder / "one.so", "-O1", *options)
        code = subprocess.run(["objdump", "-d", folder / "one.so"], check=True, capture_output=True, text=True).stdout
        assert ("vpdpbusd" in code) == wanted


@pytest.mark.parametrize("weights, bias", [(255, 0), (127, 2**31 - 2**20)], ids=["9 bits", "a large bias"])
def test_operands_beyond_8_bits_are_bit_identical_to_the_runtime(tmp_path, weights, bias):
    """Weights minus zero points beyond 8 bits, and sums that exceed 32 bits before the zero-point correction."""
    random = np.random.default_rng(SEED)
    x = random.integers(240, 256, (1, 8, 9, 9)).astype(np.uint8)
    constants = {"xs": np.float32(0.02), "xz": np.uint8(250), "w": np.full((8, 8, 3, 3), weights, np.uint8),
                 "wz": np.uint8(0), "ws": np.float32(1e-6), "ys": np.float32(0.5), "yz": np.uint8(100), "b": np.full(8, bias, np.int32)}
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], pads=[1] * 4)
    model = model_of([node], {"x": x}, constants)
    expected = Executor(model, threads=1).run({"x": x})
    generate(model, tmp_path / "net.c", PERFORMANCE)
    assert "dot4_tile" not in (tmp_path / "net.c").read_text()
    for options in [[], ["-mavx2"], *([VNNI] if HAS_VNNI else [])]:
        program = Program(compile_shared(tmp_path / "net.c", tmp_path / f"{len(options)}.so", *options), "net")
        np.testing.assert_array_equal(program.run([x], expected)[0], expected[0])
