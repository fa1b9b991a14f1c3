"""ANYBIT_CPU caps the instructions that kernels use; with --reproducible files do not depend on them."""
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.quantizing import DIGITS, ROOT, net, samples

MODELS = ROOT / "build" / "models"
CAPS = ["sse4", "avx2", "avx512", ""]
# glibc's functions come with and without fused multiply-adds, too: the narrowest cap goes with those without.
WITHOUT_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-FMA4_Usable"}


def environment(cap):
    rest = {name: text for name, text in os.environ.items() if name not in ("ANYBIT_CPU", "GLIBC_TUNABLES")}
    return {**rest, "ANYBIT_CPU": cap, **(WITHOUT_FMA if cap == "sse4" else {})}


def run_capped(tool, cap, *words, code=0):
    done = subprocess.run([tool("anybit"), *map(str, words)], capture_output=True, text=True, timeout=300, env=environment(cap))
    assert done.returncode == code, f"{cap}: {words}\n{done.stdout}{done.stderr}"
    return done


def python_capped(build, cap, text, *words):
    """A program in Python under a cap, with the package on its path."""
    done = subprocess.run([sys.executable, "-c", text, *map(str, words)], capture_output=True, text=True, timeout=300, cwd=ROOT,
                          env={**environment(cap), "PYTHONPATH": str(build / "python"), "ANYBIT_BUILD": str(build)})
    assert done.returncode == 0, done.stderr
    return done.stdout


def cpu_has(flag):
    with open("/proc/cpuinfo") as file:
        return any(line.startswith("flags") and flag in line.split() for line in file)


def test_the_version_shows_the_cap(tool):
    assert "SSE4, ANYBIT_CPU=sse4)" in run_capped(tool, "sse4", "--version").stdout
    shown = run_capped(tool, "avx2", "--version").stdout
    assert "VNNI" not in shown and "ANYBIT_CPU=avx2)" in shown
    assert "ANYBIT_CPU" not in run_capped(tool, "", "--version").stdout


def test_a_cap_that_does_not_exist_is_an_error(tool, tmp_path):
    for words in (("inspect", DIGITS / "digits.onnx"), ("quantize", DIGITS / "digits.onnx", "-o", tmp_path / "q.onnx", "-r", "w8")):
        done = run_capped(tool, "avx1024", *words, code=2)
        assert "ANYBIT_CPU is 'avx1024'" in done.stderr and "sse4, avx2 or avx512" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("use", ["anybit.Session(path)", "anybit.quantize(path, 'w8')", "anybit.calibrate(path, [])"])
def test_a_cap_that_does_not_exist_is_an_error_in_python(build, use):
    text = f"""import anybit, sys
path = sys.argv[1]
try:
    {use}
except anybit.Error as error:
    print(error)
"""
    assert "ANYBIT_CPU is 'sse'" in python_capped(build, "sse", text, DIGITS / "digits.onnx")


def multiplied(build, tmp_path, cap, a, b):
    """a · b, in a process of its own."""
    model = helper.make_model(helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["y"])], "matmul", [helper.make_tensor_value_info("a", TensorProto.FLOAT, a.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(b, "b")]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "matmul.onnx")
    np.save(tmp_path / "a.npy", a)
    text = """import numpy, onnx, sys
from support.executing import Executor
numpy.save(sys.argv[3], Executor(onnx.load(sys.argv[1])).run({"a": numpy.load(sys.argv[2])})[0])"""
    python_capped(build, cap, text, tmp_path / "matmul.onnx", tmp_path / "a.npy", tmp_path / "y.npy")
    return np.load(tmp_path / "y.npy")


def test_a_cap_affects_float_gemm(build, tmp_path):
    """With SSE4 alone products are rounded before they are added; AVX2 comes with fused multiply-adds."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((20, 50)).astype(np.float32), rng.standard_normal((50, 33)).astype(np.float32)
    plain, fused = np.zeros((20, 33), np.float32), np.zeros((20, 33), np.float32)
    for k in range(50):
        plain = plain + a[:, k : k + 1] * b[k]
        fused = (fused + a[:, k : k + 1].astype(np.longdouble) * b[k]).astype(np.float32)
    np.testing.assert_array_equal(multiplied(build, tmp_path, "sse4", a, b), plain)
    if cpu_has("fma") and cpu_has("avx2"):
        np.testing.assert_array_equal(multiplied(build, tmp_path, "avx2", a, b), fused)
        assert (plain != fused).any()


INTEGERS = """import numpy as np, sys
import onnx
from support.executing import Executor
from support.one_node import model_of
rng = np.random.default_rng(7)
byte = lambda *shape: rng.integers(0, 256, shape).astype(np.uint8)
signed = lambda *shape: rng.integers(-128, 128, shape).astype(np.int8)
f, u, i = np.float32, np.uint8, np.int8
results = []
def run(op, inputs, constants=(), **more):
    feeds = {f"x{k}": x for k, x in enumerate(inputs) if x is not None and k not in constants}
    results.extend(Executor(model_of(op, inputs, constants=constants, **more)).run(feeds))
for m, k, n in ((1, 64, 100), (5, 33, 17), (40, 129, 70)):
    run("MatMulInteger", [byte(m, k), signed(k, n), u(120), i(3)], (1, 2, 3), types=[6])
    run("QLinearMatMul", [byte(m, k), f(0.02), u(121), signed(k, n), f(0.01), i(0), f(0.5), u(100)], range(1, 8), types=[2])
for channels, groups in ((16, 1), (16, 16), (5, 1)):
    x, w = byte(1, channels, 13, 11), signed(channels, channels // groups, 3, 3)
    run("ConvInteger", [x, w, u(7), i(0)], (1, 2, 3), types=[6], group=groups, pads=[1] * 4)
    run("QLinearConv", [x, f(0.02), u(9), w, f(0.01), i(0), f(0.4), u(128)], range(1, 8), types=[2], group=groups)
x = (rng.standard_normal((7, 77)) * 3).astype(f)
run("QuantizeLinear", [x, f(0.03), u(120)], (1, 2), types=[2])
run("DequantizeLinear", [byte(7, 77), f(0.03), u(120)], (1, 2), types=[1])
run("DynamicQuantizeLinear", [x], outputs=3, types=[2, 1, 2])
np.savez(sys.argv[1], *results)"""

CODECS = """import anybit, numpy as np, sys
rng = np.random.default_rng(5)
x = (rng.standard_normal((6, 160)) * 10.0 ** rng.integers(-4, 4, (6, 160))).astype(np.float32)
found = {}
for name in anybit.formats:
    packed = anybit.formats[name].pack(x)
    found[name] = np.frombuffer(packed.bytes, np.uint8)
    found[name + " back"] = packed.decode()
np.savez(sys.argv[1], **found)"""


@pytest.mark.parametrize("text", [INTEGERS, CODECS], ids=["integers", "codecs"])
def test_integers_and_codecs_are_the_same_bits_under_every_cap(build, tmp_path, text):
    results = {}
    for cap in CAPS:
        python_capped(build, cap, text, tmp_path / "out.npz")
        with np.load(tmp_path / "out.npz") as file:
            results[cap] = {name: (file[name].dtype.str, file[name].shape, file[name].tobytes()) for name in file.files}
    assert len(results[""]) >= 15
    for cap in CAPS[:-1]:
        assert results[cap].keys() == results[""].keys()
        for name, content in results[cap].items():
            assert content == results[""][name], f"{cap}: {name}"


def every_kind():
    """A model of all kinds of float arithmetic in parallel."""
    rng = np.random.default_rng(11)
    constants, nodes = [], []

    def weight(*shape, scale=0.3):
        constants.append(numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), f"w{len(constants)}"))
        return constants[-1].name

    def number(*values, kind=np.float32):
        constants.append(numpy_helper.from_array(np.array(values, kind), f"w{len(constants)}"))
        return constants[-1].name

    def node(op, *inputs, outputs=1, **attributes):
        names = [f"v{len(nodes)}_{i}" for i in range(outputs)]
        nodes.append(helper.make_node(op, list(inputs), names, name=names[0], **attributes))
        return names[0]

    for channels, kernel, more in ((16, 3, {}), (8, 1, {}), (5, 3, {"strides": [2, 2]}), (24, 5, {"pads": [2] * 4})):
        y = node("Conv", "x", weight(channels, 8, kernel, kernel), weight(channels), **more)
        for op in ("Sigmoid", "Tanh", "HardSwish", "Relu"):
            node(op, y)
    node("Conv", "x", weight(8, 1, 3, 3), group=8)
    node("Conv", "x", weight(16, 4, 3, 3), group=2)
    node("ConvTranspose", "x", weight(8, 6, 3, 3), strides=[2, 2])
    node("InstanceNormalization", "x", weight(8), weight(8))
    node("GroupNormalization", "x", weight(8), weight(8), num_groups=4)
    node("LayerNormalization", "x", weight(10), weight(10))
    node("BatchNormalization", "x", weight(8), weight(8), weight(8), number(*rng.uniform(0.5, 2, 8)))
    node("LRN", "x", size=3)
    node("AveragePool", "x", kernel_shape=[3, 3])
    node("GlobalAveragePool", "x")
    node("LpPool", "x", kernel_shape=[2, 2], p=3)
    node("Resize", "x", "", number(1, 1, 1.7, 2.3), mode="cubic")
    node("Resize", "x", "", number(1, 1, 1.7, 2.3), mode="linear")
    for op in ("Softmax", "LogSoftmax"):
        for axis in (1, 3):
            node(op, "x", axis=axis)
    for op in ("Exp", "Erf", "Gelu", "Softplus", "Mish", "Elu", "Selu", "Celu", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Asinh",
               "Atan", "Sigmoid", "Softsign"):
        node(op, "x")
    positive = node("Abs", "x")
    for op in ("Log", "Sqrt", "Reciprocal"):
        node(op, positive)
    node("Acosh", node("Add", positive, number(1)))
    small = node("Tanh", "x")
    for op in ("Asin", "Acos", "Atanh"):
        node(op, small)
    node("Pow", positive, number(0.7))
    node("Pow", positive, number(-1.5))
    for op in ("ReduceSum", "ReduceMean", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare", "ReduceL1"):
        node(op, "x", number(2, 3, kind=np.int64))
        node(op, "x", number(1, kind=np.int64))
        node(op, "x")
    node("MatMul", "x", weight(10, 33))
    node("MatMul", "x", node("Transpose", "x", perm=[0, 1, 3, 2]))
    node("Einsum", "x", "x", equation="nchw,nkhw->nck")
    rows = node("Reshape", "x", number(9, 1, 80, kind=np.int64))
    flat = node("Reshape", "x", number(9, 80, kind=np.int64))
    node("Gemm", flat, weight(80, 7), weight(7), alpha=0.3, beta=1.7)
    node("LSTM", rows, weight(1, 64, 80), weight(1, 64, 16), weight(1, 128), outputs=3, hidden_size=16)
    node("GRU", rows, weight(1, 48, 80), weight(1, 48, 16), weight(1, 96), outputs=2, hidden_size=16)
    node("RNN", rows, weight(1, 16, 80), weight(1, 16, 16), hidden_size=16, activations=["Softsign"])
    node("DFT", node("Unsqueeze", flat, number(2, kind=np.int64)), "", number(1, kind=np.int64))
    queries = node("Reshape", "x", number(1, 2, 36, 10, kind=np.int64))
    node("Attention", queries, queries, queries, softcap=2.0)
    # Quantized linear operators with a bias each.
    y = node("Relu", node("Conv", "x", weight(16, 8, 3, 3), weight(16)))
    y = node("Conv", y, weight(12, 16, 3, 3), weight(12))
    y = node("Gemm", node("Flatten", y), weight(12 * 5 * 6, 9), weight(9))
    outputs = [name for one in nodes for name in one.output]
    graph = helper.make_graph(nodes, "kinds", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 9, 10])],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def normalized_digits(folder):
    folder.mkdir()
    images = np.load(DIGITS / "calibration_images.npy")[:32].astype(np.float32)
    for i, image in enumerate((images / 255 - 0.1307) / 0.3081):
        np.save(folder / f"{i:02}.npy", image.reshape(1, 1, 28, 28).astype(np.float32))


def silero(folder):
    folder.mkdir()
    rng = np.random.default_rng(2)
    for i in range(4):
        np.savez(folder / f"{i}.npz", input=(rng.standard_normal((1, 576)) * 0.1).astype(np.float32),
                 state=(rng.standard_normal((2, 1, 128)) * 0.1).astype(np.float32), sr=np.int64(16000))


def noise(*shape, count=4):
    return lambda folder: samples(folder, count, shape)


NETS = {
    "every kind": (every_kind, noise(1, 8, 9, 10)),
    "net": (net, noise(1, 3, 16, 16, count=8)),
    "digits": (DIGITS / "digits.onnx", normalized_digits),
    "cifar": (ROOT / "examples" / "cifar" / "cifar.onnx", noise(1, 3, 32, 32)),
    "classifier": (MODELS / "ch_ppocr_mobile_v2.0_cls_infer.onnx", noise(1, 3, 48, 192)),
    "detector": (MODELS / "ch_PP-OCRv4_det_infer.onnx", noise(1, 3, 96, 96, count=2)),
    "recogniser": (MODELS / "ch_PP-OCRv4_rec_infer.onnx", noise(1, 3, 48, 64, count=2)),
    "silero": (MODELS / "silero_vad_v5.onnx", silero),
}


@pytest.mark.parametrize("name", NETS)
def test_reproducible_files_are_the_same_bytes_under_every_cap(tool, tmp_path, name):
    model, write = NETS[name]
    if callable(model):
        made, model = model(), tmp_path / "model.onnx"
        onnx.save(made, model)
    write(tmp_path / "calib")
    files = {}
    for cap in CAPS:
        ranges, quantized = tmp_path / "ranges.json", tmp_path / "quantized.onnx"
        nan = ["--allow-nan"] if name == "every kind" else []
        run_capped(tool, cap, "calibrate", model, "-o", ranges, "--data", tmp_path / "calib", "--reproducible", *nan)
        run_capped(tool, cap, "quantize", model, "-o", quantized, "--calib", tmp_path / "calib", "--refine", "means",
                   "--reproducible", *nan)
        files[cap] = ranges.read_bytes(), quantized.read_bytes()
    for cap in CAPS[:-1]:
        assert files[cap] == files[""], f"under {cap}: {[a == b for a, b in zip(files[cap], files[''])]}"


@pytest.mark.parametrize("observer", ["entropy", "mse", "percentile", "moving_average"])
def test_every_observer_chooses_the_same_under_every_cap(tool, tmp_path, observer):
    onnx.save(net(), tmp_path / "net.onnx")
    samples(tmp_path / "calib", 8)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(f"global: {{weights: int8 sym channel, activations: {{format: int8, observer: {observer}}}, refine: means}}\n")
    files = set()
    for cap in CAPS:
        run_capped(tool, cap, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--calib", tmp_path / "calib",
                   "--recipe", recipe, "--reproducible")
        files.add((tmp_path / "q.onnx").read_bytes())
    assert len(files) == 1


def test_any_number_of_threads_gives_the_same_reproducible_file(tool, tmp_path):
    onnx.save(net(), tmp_path / "net.onnx")
    samples(tmp_path / "calib", 8)
    files = set()
    for threads in (1, 3):
        run_capped(tool, "", "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--calib", tmp_path / "calib", "--threads",
                   threads, "--reproducible")
        files.add((tmp_path / "q.onnx").read_bytes())
    assert len(files) == 1


def test_python_writes_what_the_program_does(tool, build, tmp_path):
    onnx.save(net(), tmp_path / "net.onnx")
    arrays = samples(tmp_path / "calib", 8)
    run_capped(tool, "sse4", "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--calib", tmp_path / "calib", "--reproducible")
    run_capped(tool, "sse4", "calibrate", tmp_path / "net.onnx", "-o", tmp_path / "r.json", "--data", tmp_path / "calib",
               "--reproducible")
    assert len(arrays) == 8
    text = """import anybit, sys
model, data, quantized, ranges = sys.argv[1:]
anybit.quantize(model, calibration=data, reproducible=True).save(quantized)
anybit.calibrate(model, data, reproducible=True).save(ranges)"""
    python_capped(build, "", text, tmp_path / "net.onnx", tmp_path / "calib", tmp_path / "p.onnx", tmp_path / "p.json")
    assert (tmp_path / "p.onnx").read_bytes() == (tmp_path / "q.onnx").read_bytes()
    assert (tmp_path / "p.json").read_bytes() == (tmp_path / "r.json").read_bytes()
