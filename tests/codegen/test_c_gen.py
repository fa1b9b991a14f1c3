"""c-gen: integer operators and small nets as C, bit-identical to the runtime, for every preference."""
import ctypes
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support import generating
from support.executing import Executor
from support.generating import (COMPILE_TIME, DEFAULT, MEMORY, MICROSOFT, PERFORMANCE, SEED, NotGenerated, compile_all, compiled,
                                generate, model_of, random_integers)

ROOT = Path(__file__).resolve().parents[2]


def conv_case(random, number):
    channels, outputs, groups, kernel, size = [
        (3, 10, 1, (3, 3), 11), (16, 24, 1, (1, 1), 8), (7, 9, 1, (1, 1), 3), (12, 12, 12, (3, 3), 9), (6, 12, 6, (5, 3), 12),
        (8, 6, 2, (2, 3), 7), (5, 4, 1, (4, 4), 16), (4, 5, 1, (3,), 17), (2, 3, 1, (2, 2, 3), 6), (9, 1, 1, (7, 7), 7),
        (16, 16, 16, (5, 5), 9), (4, 6, 2, (3, 3), 8)][number]
    x_kind, w_kind, y_kind = (np.dtype([np.uint8, np.int8][bit]) for bit in random.integers(0, 2, 3))
    axes = len(kernel)
    constants = {
        "xs": np.float32(0.02), "xz": random_integers(random, x_kind), "w": random_integers(random, w_kind, (outputs, channels // groups, *kernel)),
        "ws": random.uniform(0.001, 0.02, outputs).astype(np.float32), "ys": np.float32(0.5), "yz": random_integers(random, y_kind),
        "wz": random_integers(random, w_kind, outputs) if number % 3 == 0 else np.zeros(outputs, w_kind),
        "b": random.integers(-30000, 30000, outputs).astype(np.int32)}
    if number >= 10:  # sums of two channels exceed 32 bits
        constants["b"][1:3] = 2147483000, -2147483000
        constants["ws"][1:3] = 5e-7
    attributes = dict(group=groups, pads=random.integers(0, 3, 2 * axes).tolist(), strides=random.integers(1, 3, axes).tolist(),
                      dilations=random.integers(1, 3, axes).tolist() if min(kernel) < 4 else [1] * axes)
    if kernel == (1, 1):
        attributes |= dict(pads=[0] * 4, strides=[1, 1])
    inputs = {"x": random_integers(random, x_kind, (2, channels, *[size] * axes))}
    if number % 7 == 6:
        names = ["x", "w", "xz", "wz"]
        return ([helper.make_node("ConvInteger", names, ["y"], **attributes)], inputs, {k: constants[k] for k in names[1:]})
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    return [helper.make_node("QLinearConv", names, ["y"], **attributes)], inputs, constants


def matmul_case(random, number):
    m, k, n = [(1, 64, 10), (7, 33, 20), (13, 16, 16), (4, 5, 1)][number % 4]
    kinds = [np.dtype([np.uint8, np.int8][bit]) for bit in random.integers(0, 2, 3)]
    which = ["QLinearMatMul", "MatMulInteger", "MatMulIntegerToFloat", "QGemm", "DynamicQuantizeMatMul", "batched", "wide"][number % 7]
    a, b = random_integers(random, kinds[0], (2, m, k)), random_integers(random, kinds[1], (k, n))
    scales = {"as": np.float32(0.02), "bs": random.uniform(0.001, 0.02, n).astype(np.float32), "ys": np.float32(0.3)}
    zeros = {"az": random_integers(random, kinds[0]), "bz": random_integers(random, kinds[1], n) if number % 2 else np.zeros(n, kinds[1]),
             "yz": random_integers(random, kinds[2])}
    constants = scales | zeros | {"b": b}
    inputs = {"a": a}
    if which == "QGemm":
        inputs = {"a": a[0]}
        constants |= {"b": b.T.copy(), "c": random.integers(-30000, 30000, n).astype(np.int32)}
        return ([helper.make_node("QGemm", ["a", "as", "az", "b", "bs", "bz", "c", "ys", "yz"], ["y"], domain=MICROSOFT, transB=1,
                                  alpha=1.5)], inputs, constants)
    if which == "DynamicQuantizeMatMul":
        inputs = {"a": random.normal(size=(2, m, k)).astype(np.float32)}
        constants["bias"] = random.normal(size=n).astype(np.float32)
        return [helper.make_node(which, ["a", "b", "bs", "bz", "bias"], ["y"], domain=MICROSOFT)], inputs, constants
    if which in ("MatMulInteger", "MatMulIntegerToFloat"):
        names = ["a", "b"] + (["as", "bs"] if which.endswith("Float") else []) + ["az", "bz"]
        domain = MICROSOFT if which.endswith("Float") else ""
        return [helper.make_node(which, names, ["y"], domain=domain)], inputs, constants
    if which == "batched":  # two activations
        inputs["b"] = random_integers(random, kinds[1], (2, k, n))
        constants |= {"bs": np.float32(0.01), "bz": random_integers(random, kinds[1])}
        del constants["b"]
    if which == "wide":
        inputs = {"a": random_integers(random, np.int16, (m, 3 * k))}
        constants |= {"b": random_integers(random, np.int16, (3 * k, n)), "az": np.int16(5), "bz": np.int16(-7), "yz": np.int16(3),
                      "as": np.float32(1e-3), "bs": np.float32(1e-3)}
    return [helper.make_node("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])], inputs, constants


def element_case(random, number):
    kind = np.dtype([np.uint8, np.int8][number % 2])
    zero = lambda: random_integers(random, kind)
    scale = lambda: np.float32(random.uniform(0.01, 0.1))
    x = random_integers(random, kind, (2, 6, 9, 7))
    own = {"xs": scale(), "xz": zero(), "ys": scale(), "yz": zero()}
    one = ["x", "xs", "xz", "ys", "yz"]
    node = lambda op, names, **attributes: [helper.make_node(op, names, ["y"], domain=MICROSOFT, **attributes)]
    which = number // 2 % 9
    if which in (0, 1):
        other = random_integers(random, kind, [(2, 6, 9, 7), (6, 1, 1)][which])
        return (node(["QLinearAdd", "QLinearMul"][which], ["x", "xs", "xz", "z", "zs", "zz", "ys", "yz"]), {"x": x, "z": other},
                own | {"zs": scale(), "zz": zero()})
    if which == 2:
        return (node("QLinearConcat", ["ys", "yz", "x", "xs", "xz", "z", "zs", "zz"], axis=1),
                {"x": x, "z": random_integers(random, kind, (2, 3, 9, 7))}, own | {"zs": scale(), "zz": zero()})
    if which == 3:
        return node("QLinearAveragePool", one, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1],
                    count_include_pad=number % 4 // 2, ceil_mode=number % 2), {"x": x}, own
    if which == 4:
        return node("QLinearGlobalAveragePool", one), {"x": x}, own
    if which == 5:
        return node(["QLinearSigmoid", "QLinearLeakyRelu"][number % 2], one), {"x": x}, own
    if which == 6:
        long = random_integers(random, kind, (2, 400) if number % 4 < 2 else (3, 5, 4))
        return node("QLinearSoftmax", one, axis=1, opset=13), {"x": long}, own | {"ys": np.float32(1 / 256)}
    if which == 7:
        real = random.normal(size=(3, 4, 5)).astype(np.float32)
        real.flat[:4] = [np.nan, np.inf, -np.inf, 0]
        to = [np.uint8, np.int8, np.int16, np.uint16][number % 4]
        return ([helper.make_node("QuantizeLinear", ["x", "ys", "yz"], ["q"], axis=1),
                 helper.make_node("DequantizeLinear", ["q", "ys", "yz"], ["y"], axis=1)], {"x": real},
                {"ys": random.uniform(0.01, 0.1, 4).astype(np.float32), "yz": random_integers(random, to, 4)})
    return ([helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])],
            {"x": random.normal(size=(5, 7)).astype(np.float32)}, {})


CASES = {"conv": (conv_case, 12), "matmul": (matmul_case, 14), "element": (element_case, 18)}


def test_integer_operators_are_bit_identical_to_the_runtime(tmp_path):
    wanted, inputs = {}, {}
    for kind, (make, count) in CASES.items():
        for number in range(count):
            nodes, feeds, constants = make(np.random.default_rng([SEED, len(kind), number]), number)
            model = model_of(nodes, feeds, constants)
            expected = Executor(model, threads=1).run(feeds)
            for preference in (DEFAULT, PERFORMANCE, [MEMORY, COMPILE_TIME][number % 2]):
                name = f"{kind}_{number}_{preference}"
                generate(model, tmp_path / f"{name}.c", preference)
                wanted[name], inputs[name] = expected, list(feeds.values())
    # With the hand-written AVX2 code, and without.
    fast = [name for i, name in enumerate(wanted) if name.endswith(("0", "1")) and i % 4]
    programs = compiled(fast, tmp_path, "-mavx2", "-mfma")
    programs |= compiled([name for name in wanted if name not in fast], tmp_path)
    for name, expected in wanted.items():
        for made, right in zip(programs[name].run(inputs[name], expected), expected):
            np.testing.assert_array_equal(made, right, err_msg=name)


def test_rows_of_softmax_are_close_to_the_runtime(tmp_path):
    x = 20 * np.random.default_rng(SEED).normal(size=(3, 5, 331)).astype(np.float32)
    x[0, 0, :7] = -np.inf
    x[0, 1] = -3e38
    x[1, 2, 5] = np.nan
    x[2, 4, :40] = -90
    model = model_of([helper.make_node("Softmax", ["x"], ["y"])], {"x": x}, {})
    expected = Executor(model, threads=1).run({"x": x})
    for preference in range(4):
        generate(model, tmp_path / f"softmax_{preference}.c", preference)
    for options in ([], ["-mavx2", "-mfma"]):
        for program in compiled([f"softmax_{preference}" for preference in range(4)], tmp_path, *options).values():
            made, = program.run([x], expected)
            np.testing.assert_allclose(made, expected[0], rtol=2e-6, atol=1e-37)
            assert (made[0, 0, :7] == 0).all()


@pytest.mark.parametrize("net", ["digits", "cifar"])
def test_nets_are_exact_in_int8_and_close_in_float(net, request, tmp_path):
    real, whole, images = request.getfixturevalue(net)
    executors = {"float": Executor(real, threads=1), "int8": Executor(whole, threads=1)}
    for preference in range(4):
        generate(whole, tmp_path / f"int8_{preference}.c", preference)
    generate(real, tmp_path / "float_0.c")
    widened = {preference: "static const int16_t" in (tmp_path / f"int8_{preference}.c").read_text() for preference in range(4)}
    assert widened == {DEFAULT: False, PERFORMANCE: True, MEMORY: False, COMPILE_TIME: False}
    plain = ["int8_2", "int8_3"] if net == "digits" else ["int8_2"]
    programs = compiled(["int8_0", "int8_1", "float_0"], tmp_path, "-mavx2", "-mfma", "-O1") | compiled(plain, tmp_path, "-O1")
    for image in images[:3]:
        expected = {kind: executor.run({"image": image}) for kind, executor in executors.items()}
        for name, program in programs.items():
            kind = name.split("_")[0]
            made = program.run([image], expected[kind])[0]
            if kind == "int8":
                np.testing.assert_array_equal(made, expected[kind][0], err_msg=name)
            else:
                assert np.abs(made - expected[kind][0]).max() <= 1e-4 * np.abs(expected[kind][0]).max()


def number_of(header, macro):
    return float(re.search(rf"#define \w*_{macro} (\S+)", header).group(1).rstrip("f"))


def test_the_quantized_entry_takes_integers(digits, tmp_path):
    _, whole, images = digits
    generate(whole, tmp_path / "net.c", MEMORY)
    library = generating.compile_shared(tmp_path / "net.c", tmp_path / "net.so", "-O1")
    header = (tmp_path / "net.h").read_text()
    scale, zero = np.float32(number_of(header, "IN0_SCALE")), number_of(header, "IN0_ZERO_POINT")
    taken = np.clip(np.rint(images[0] / scale) + zero, -128, 127).astype(np.int8)
    given = np.zeros(10, np.int8)
    library.net_run_quantized(ctypes.c_void_p(taken.ctypes.data), ctypes.c_void_p(given.ctypes.data))
    logits = (given.astype(np.float32) - np.float32(number_of(header, "OUT0_ZERO_POINT"))) * np.float32(number_of(header, "OUT0_SCALE"))
    np.testing.assert_array_equal(logits, Executor(whole, threads=1).run({"image": images[0]})[0].ravel())


def test_the_header_declares_the_memory_and_the_code_needs_nothing_else(digits, tmp_path):
    real, whole, _ = digits
    sizes = {}
    for preference in (DEFAULT, MEMORY):
        generate(whole, tmp_path / "net.c", preference)
        options = ["-O3", "-mavx2"] if preference == DEFAULT else ["-Os"]
        subprocess.run(["gcc", *generating.STRICT, "-pedantic", *options, "-c", "net.c"], cwd=tmp_path, check=True)
        needed = subprocess.run(["nm", "--undefined-only", "net.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert needed.split() == [], "no function of a library"
        header = (tmp_path / "net.h").read_text()
        sizes[preference] = number_of(header, "ARENA_BYTES"), number_of(header, "CONSTANT_BYTES")
        held = subprocess.run(["size", "-A", "net.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        bss = sum(int(line.split()[1]) for line in held.splitlines() if line.startswith((".bss", ".lbss")))
        assert bss == sizes[preference][0]
    weights = sum(numpy_helper.to_array(t).size for t in real.graph.initializer)
    assert sizes[MEMORY][0] < sizes[DEFAULT][0]
    assert weights < sizes[MEMORY][1] < 1.1 * weights, "a byte for each weight, and little beside"


def test_an_unsupported_node_is_named(tmp_path):
    x = np.zeros((1, 4), np.float32)
    model = model_of([helper.make_node("RandomNormalLike", ["x"], ["y"], name="dice")], {"x": x}, {})
    with pytest.raises(NotGenerated, match=r"'dice'.*RandomNormalLike"):
        generate(model, tmp_path / "net.c")
    assert not list(tmp_path.iterdir())


def test_inputs_become_constants_of_the_code(anybit, tmp_path):
    """Constants have the input's type; the text holds integers, floats, or a file name."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    nodes = [helper.make_node("Mul", ["x", "scale"], ["m"]), helper.make_node("Reshape", ["m", "shape"], ["y"])]
    model = model_of(nodes, {"x": x, "scale": np.zeros(3, np.float32)}, {})
    model.graph.input.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [2]))
    onnx.save(model, tmp_path / "net.onnx")
    np.save(tmp_path / "shape.npy", np.array([3, 2]))

    def codegen(*constants, code=0):
        words = [word for one in constants for word in ("--constant", one)]
        return anybit("codegen", tmp_path / "net.onnx", "--target", "c-gen", *words, code=code).stderr
    for shape in ("shape=3,2", f"shape={tmp_path / 'shape.npy'}"):
        codegen("scale=0.1,2,3e0", shape)
        made, = compiled(["net"], tmp_path)["net"].run([x], [np.zeros((3, 2), np.float32)])
        np.testing.assert_array_equal(made, (x * np.array([0.1, 2, 3], np.float32)).reshape(3, 2))
    for constant, message in (("shape=3,2.5", "a constant of float64"), ("shape=6", "a constant of shape []"),
                              ("shapes=3,2", "did you mean 'shape'"), ("shape", "cannot read 'shape'"),
                              ("shape=3,,2", "cannot read 'shape=3,,2'"), ("shape=", "cannot read 'shape='"),
                              ("shape=3,2x", "write it like --constant sr=16000"), ("=3,2", "cannot read '=3,2'"),
                              ("scale=1,2,4", "--constant: 'scale' is given twice")):
        assert message in codegen("scale=1,2,3", constant, code=2)
    assert "cannot open 'none.npy'" in codegen("scale=1,2,3", "shape=none.npy", code=1)


@pytest.mark.parametrize("direction, by_gate", [("forward", False), ("reverse", True), ("bidirectional", True)])
def test_an_lstm_with_8_bit_weights_is_close_to_the_runtime(direction, by_gate, tmp_path):
    random = np.random.default_rng(SEED)
    steps, size, hidden, directions = 12, 9, 16, 1 + (direction == "bidirectional")
    x = random.normal(size=(steps, 1, size)).astype(np.float32)
    count = (directions, 4 * hidden) if by_gate else (directions,)
    zeros = random_integers(random, np.int8, count) // 16 if by_gate else np.zeros(count, np.int8)
    constants = {"w": random_integers(random, np.int8, (directions, size, 4 * hidden)), "r": random_integers(random, np.int8, (directions, hidden, 4 * hidden)),
                 "b": random.normal(size=(directions, 8 * hidden)).astype(np.float32),
                 "ws": random.uniform(0.002, 0.006, count).astype(np.float32), "wz": zeros,
                 "rs": random.uniform(0.002, 0.006, count).astype(np.float32), "rz": zeros}
    node = helper.make_node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"], ["y", "h", "c"],
                            domain=MICROSOFT, hidden_size=hidden, direction=direction)
    model = model_of([node], {"x": x}, constants, ("y", "h", "c"))
    right = Executor(model, threads=1).run({"x": x})
    for preference in range(4):
        generate(model, tmp_path / f"net{preference}.c", preference)
        for made, expected in zip(compiled([f"net{preference}"], tmp_path)[f"net{preference}"].run([x], right), right):
            np.testing.assert_allclose(made, expected, atol=2e-3)
            assert np.abs(made - expected).mean() < 1e-4


def test_names_that_look_like_comments_do_not_break_the_code(tmp_path):
    x = np.zeros((1, 4), np.float32)
    names = ["in/*x", "w*/", "/*/y*/*"]
    model = model_of([helper.make_node("MatMul", names[:2], ["h"], name="*//*"), helper.make_node("Relu", ["h"], names[2:])],
                     {names[0]: x}, {names[1]: np.ones((4, 4), np.float32)}, names[2:])
    model.graph.name = "encoder/*/all"
    generate(model, tmp_path / "net.c")
    generating.compile_shared(tmp_path / "net.c", tmp_path / "net.so")


@pytest.mark.parametrize("name", ["net.h", "net.S", "net.bin", 'n"et.c', "n\\et.c", "n\net.c"])
def test_a_path_whose_files_would_overwrite_each_other_or_cannot_be_included_is_rejected(tmp_path, name):
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": np.zeros((1, 4), np.float32)}, {})
    with pytest.raises(NotGenerated, match="use a (path|name) with"):
        generate(model, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_large_constants_are_in_a_file_that_the_assembler_includes(tmp_path):
    random = np.random.default_rng(SEED)
    x, w = random.normal(size=(1, 1600)).astype(np.float32), random.normal(size=(1600, 2000)).astype(np.float32)
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": x}, {"w": w})
    generate(model, tmp_path / "net.c")
    assert (tmp_path / "net.c").stat().st_size < 20000 and (tmp_path / "net.bin").stat().st_size >= w.nbytes
    subprocess.run(["gcc", *generating.STRICT, "-O1", "-shared", "-fPIC", "net.c", "net.S", "-o", "net.so"], cwd=tmp_path, check=True)
    program = generating.Program(ctypes.CDLL(str(tmp_path / "net.so")), "net")
    right = x @ w
    np.testing.assert_allclose(program.run([x], [right])[0], right, atol=1e-3)


# Recipes, and the bytes per weight that their constants may take (including shared fields of groups).
PACKED = {"w8": 1.1, "w4": 0.8, "mxfp6-weights": 0.95, "ternary-weights": 0.4, "fp8": 1.1, "int8x4": 0.7, "dynamic-int8": 1.2}


def test_packed_weights_stay_packed(anybit, digits, tmp_path):
    real, _, images = digits
    onnx.save(real, tmp_path / "float.onnx")
    np.save(tmp_path / "sample.npy", images[0])
    weights = sum(numpy_helper.to_array(t).size for t in real.graph.initializer)
    models = {}
    for recipe in PACKED:
        name = recipe.replace("-", "_")
        anybit("quantize", tmp_path / "float.onnx", "-o", tmp_path / "net.onnx", "--recipe", recipe, "--calib", tmp_path / "sample.npy")
        models[name] = onnx.load(tmp_path / "net.onnx")
        generate(models[name], tmp_path / f"{name}.c", MEMORY)
        bytes_held = number_of((tmp_path / f"{name}.h").read_text(), "CONSTANT_BYTES")
        assert bytes_held < PACKED[recipe] * weights, recipe
    programs = compiled(list(models), tmp_path)
    for name, model in models.items():
        right = Executor(model, threads=1).run({"image": images[1]})[0]
        made = programs[name].run([images[1]], [right])[0]
        assert np.abs(made - right).max() <= 1e-4 * np.abs(right).max(), name


def stored_bytes(model):
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


def weight_only_recipes(anybit):
    names = [one["name"] for one in json.loads(anybit("recipes", "--json").stdout)]
    return [name for name in names if name.endswith("-weights") or name in ("w16", "w8", "w4", "w2")]


def test_weights_take_their_packed_width_in_every_weight_only_recipe(anybit, digits, tmp_path):
    real, _, images = digits
    onnx.save(real, tmp_path / "float.onnx")
    models = {}
    for recipe in weight_only_recipes(anybit):
        name = recipe.replace("-", "_")
        anybit("quantize", tmp_path / "float.onnx", "-o", tmp_path / "net.onnx", "--recipe", recipe)
        models[name] = onnx.load(tmp_path / "net.onnx")
        generate(models[name], tmp_path / f"{name}.c", MEMORY)
        bytes_held = number_of((tmp_path / f"{name}.h").read_text(), "CONSTANT_BYTES")
        assert bytes_held < 1.02 * stored_bytes(models[name]) + 2300, f"{recipe}: beside two tables, what the file holds"
    assert len(models) > 25
    programs = compiled(list(models), tmp_path)
    for name, model in models.items():
        right = Executor(model, threads=1).run({"image": images[1]})[0]
        made = programs[name].run([images[1]], [right])[0]
        assert np.abs(made - right).max() <= 1e-4 * np.abs(right).max(), name


# Formats without a preset: more than 8 bits, zero points, blocks of other sizes.
WIDE = ["int12 channel", "uint11 channel symmetric false", "uint5 channel symmetric false", "block_fp width 12", "block_minifloat width 12 exponent_width 5",
        "minifloat width 12 exponent_width 5", "fixed width 14 frac 9", "mx6 block_size 24", "binary_residual channel levels 3"]


def test_packed_weights_decode_bit_identically_to_the_runtime(anybit, tmp_path):
    """Multiplication by the identity gives the decoded matrix. The last blocks are partial."""
    random = np.random.default_rng(SEED)
    diagonal, w = np.eye(40, dtype=np.float32), random.normal(size=(40, 26)).astype(np.float32)
    onnx.save(model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": diagonal}, {"w": w}), tmp_path / "float.onnx")
    models = {}
    for recipe in weight_only_recipes(anybit) + WIDE:
        name = re.sub(r"\W", "_", recipe)
        if recipe in WIDE:
            (tmp_path / "recipe.yaml").write_text(f"global: {{weights: {recipe}}}")
        anybit("quantize", tmp_path / "float.onnx", "-o", tmp_path / "net.onnx", "--recipe",
               tmp_path / "recipe.yaml" if recipe in WIDE else recipe)
        models[name] = onnx.load(tmp_path / "net.onnx")
        generate(models[name], tmp_path / f"{name}.c")
        bytes_held = number_of((tmp_path / f"{name}.h").read_text(), "CONSTANT_BYTES")
        assert bytes_held < 1.02 * stored_bytes(models[name]) + 2300
    programs = compiled(list(models), tmp_path)
    for name, model in models.items():
        right = Executor(model, threads=1).run({"x": diagonal})[0]
        np.testing.assert_array_equal(programs[name].run([diagonal], [right])[0], right, err_msg=name)
        assert 0 < np.abs(right - w).mean() < 1, name


@pytest.mark.parametrize("which", ["DequantizeLinear", "Gemm", "MatMulNBits"])
def test_a_packed_matrix_is_never_decoded_as_a_whole(which, tmp_path):
    random = np.random.default_rng(SEED)
    k, n, block = 256, 192, 32
    x = random.normal(size=(3, k)).astype(np.float32)
    if which == "MatMulNBits":
        constants = {"w": random.integers(0, 256, (n, k // block, block // 2)).astype(np.uint8),
                     "s": random.uniform(0.01, 0.1, n * k // block).astype(np.float32),
                     "z": random.integers(0, 256, (n, k // block // 2)).astype(np.uint8)}
        nodes = [helper.make_node(which, ["x", "w", "s", "z"], ["y"], domain=MICROSOFT, K=k, N=n, bits=4, block_size=block)]
        model = model_of(nodes, {"x": x}, constants)
    else:
        turned = which == "Gemm"
        shape, axis = ((n, k), 1) if turned else ((k, n), 0)
        groups = [size // block if d == axis else size for d, size in enumerate(shape)]
        nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["real"], axis=axis, block_size=block),
                 helper.make_node(*(["Gemm", ["x", "real"], ["y"]] if turned else ["MatMul", ["x", "real"], ["y"]]),
                                  **({"transB": 1} if turned else {}))]
        model = model_of(nodes, {"x": x}, {"s": random.uniform(0.01, 0.1, groups).astype(np.float32)})
        packed = random.integers(0, 256, k * n // 2).astype(np.uint8).tobytes()
        model.graph.initializer.append(helper.make_tensor("w", TensorProto.INT4, shape, packed, raw=True))
    generate(model, tmp_path / "net.c")
    header = (tmp_path / "net.h").read_text()
    assert number_of(header, "ARENA_BYTES") < 8 * k and number_of(header, "CONSTANT_BYTES") < 0.7 * k * n
    right = Executor(model, threads=1).run({"x": x})[0]
    made = compiled(["net"], tmp_path)["net"].run([x], [right])[0]
    assert np.abs(made - right).max() <= 1e-5 * np.abs(right).max()


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Pow", "PRelu", "Mean"])
def test_an_operator_may_take_the_same_value_twice(op, tmp_path):
    x = np.random.default_rng(SEED).uniform(0.5, 2, (3, 8)).astype(np.float32)
    model = model_of([helper.make_node("Relu", ["x"], ["h"]), helper.make_node(op, ["h", "h"], ["y"])], {"x": x}, {})
    expected = Executor(model).run({"x": x})
    for preference in range(4):
        generate(model, tmp_path / f"net{preference}.c", preference)
        made = compile_all([f"net{preference}"], tmp_path)[f"net{preference}"].run([x], expected)[0]
        np.testing.assert_allclose(made, expected[0], rtol=1e-5)


def test_a_relu_above_the_lowest_integer_is_bit_identical_to_the_runtime(tmp_path):
    """In both, it clips the integers after the integer convolution."""
    random = np.random.default_rng(SEED)
    x = random_integers(random, np.int8, (1, 4, 6, 6))
    constants = {"s": np.float32(0.02), "z": np.int8(0), "w": random_integers(random, np.int8, (5, 4, 3, 3)), "ws": np.float32(0.01),
                 "ys": np.float32(0.05), "yz": np.int8(-20)}
    nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]),
             helper.make_node("DequantizeLinear", ["w", "ws", "z"], ["wf"]), helper.make_node("Conv", ["xf", "wf"], ["c"]),
             helper.make_node("Relu", ["c"], ["r"]), helper.make_node("QuantizeLinear", ["r", "ys", "yz"], ["y"])]
    model = model_of(nodes, {"x": x}, constants)
    expected = Executor(model).run({"x": x})
    assert expected[0].min() == -20
    generate(model, tmp_path / "net.c")
    np.testing.assert_array_equal(compiled(["net"], tmp_path)["net"].run([x], expected)[0], expected[0])
