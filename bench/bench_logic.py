"""Networks as logic: the kernel beside its function in ONNX Runtime, LUTs and time of yosys beside naive tables, and the MNIST example in
fixed point in Verilator.

    bench_logic.py [speed] [luts] [mnist]        # all by default
"""
import argparse
import pathlib
import re
import resource
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime
from support.executing import Executor
from support.logic_nets import PROGRAM, thermometer, write_verilog
from support.neurons import Layer, model_of

ROOT = pathlib.Path(__file__).resolve().parents[1]
SEED = 20261122
YOSYS = "read_verilog {0}.v; synth_xilinx -family xcup -nowidelut -nocarry -flatten -noiopad -noclkbuf -top {0}; tee -o {0}.stat stat; tee -o {0}.ltp ltp -noff"
# Inputs, tables, repeats, fan-in, bits in, bits out, rows.
LAYERS = [(2352, 1000, 1, 6, 1, 1, 1), (2352, 1000, 1, 6, 1, 1, 1000), (784, 2352, 1, 1, 8, 1, 1000), (256, 100, 1, 6, 2, 2, 1),
          (256, 100, 1, 6, 2, 2, 1000), (784, 64, 196, 6, 1, 1, 1), (784, 64, 196, 6, 1, 1, 64)]


def speed():
    print("inputs tables repeats fan-in bits  rows | anybit µs | function in ONNX Runtime µs | ratio   (one thread, best of 9, interleaved)")
    for inputs, tables, repeats, fan_in, bits, results, rows in LAYERS:
        random = np.random.default_rng(SEED)
        layer = Layer.random(random, inputs, tables, fan_in, bits, results, repeats=repeats)
        x = random.integers(0, 1 << bits, (rows, inputs)).astype(np.uint8)
        data = model_of([layer], x.shape).SerializeToString()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        theirs = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        ours = Executor(data, threads=1).timer({"x": x})
        best = [float("inf")] * 2
        for _ in range(9):
            began = time.perf_counter()
            theirs.run(None, {"x": x})
            best = [min(best[0], ours()), min(best[1], time.perf_counter() - began)]
        print(f"{inputs:6} {tables:6} {repeats:7} {fan_in:6} {bits:4} {rows:5} | {best[0] * 1e6:9.1f} | {best[1] * 1e6:9.1f} | {best[1] / best[0]:6.1f}")


def case_of(layer, n, bits):
    """Neuron `n` as a case statement; elements of x have `bits` bits."""
    taps = [f"x[{c * bits + k}]" for c in layer.connections[n, 0] for k in range(layer.input_bits)]
    target = f"y[{(n + 1) * layer.output_bits - 1}:{n * layer.output_bits}]"
    entries = " ".join(f"{len(taps)}'d{a}: {target} = {layer.output_bits}'d{e};" for a, e in enumerate(layer.entries[n]))
    return f"always @* case ({{{', '.join(reversed(taps))}}}) {entries} endcase\n"


def naive_module(layers, inputs, bits, name):
    """The same layers with a case statement for each neuron."""
    text, body, last, width = "", f"module {name}(input wire [{inputs * bits - 1}:0] x, ", "x", inputs * bits
    body += f"output wire [{layers[-1].neurons * layers[-1].output_bits - 1}:0] y);\n"
    for i, layer in enumerate(layers):
        total = layer.neurons * layer.output_bits
        text += f"module {name}_layer{i}(input wire [{width - 1}:0] x, output reg [{total - 1}:0] y);\n"
        text += "".join(case_of(layer, n, bits) for n in range(layer.neurons)) + "endmodule\n"
        body += f"wire [{total - 1}:0] b{i}; {name}_layer{i} s{i}({last}, b{i});\n"
        last, width, bits = f"b{i}", total, layer.output_bits
    return f"{text}{body}assign y = {last};\nendmodule\n"


def children():
    """CPU seconds of finished processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def synthesized(folder, name):
    """LUTs, depth and CPU seconds of yosys."""
    began = children()
    done = subprocess.run(["yosys", "-Q", "-T", "-q", "-p", YOSYS.format(name)], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"yosys: {done.stderr[-2000:]}")
    stat, path = (folder / f"{name}.stat").read_text(), (folder / f"{name}.ltp").read_text()
    luts = sum(int(count) for _, count in re.findall(r"\bLUT([1-6]) +(\d+)", stat))
    inverters = sum(int(count) for count in re.findall(r"\bINV +(\d+)", stat))
    return luts + inverters, int(re.search(r"length=(\d+)", path).group(1)), children() - began


def few_valued(random, inputs, tables, fan_in, bits):
    """Neurons that return a sum's quantized value, as trained ones do, and not all of the values."""
    layer = Layer.random(random, inputs, tables, fan_in, bits, bits)
    weights = random.normal(size=(tables, fan_in))
    digits = np.arange(1 << fan_in * bits)[:, None] >> bits * np.arange(fan_in) & ((1 << bits) - 1)
    sums = weights @ digits.T
    layer.entries = np.clip(np.round(sums / np.abs(sums).max(1, keepdims=True) * (1 << bits)), 0, (1 << bits) - 1).astype(np.int64)
    return layer


def distinct(random, layer, inputs):
    """The layer with inputs that differ within a neuron."""
    for row in layer.connections[:, 0]:
        row[:] = random.choice(inputs, len(row), replace=False)
    return layer


def luts():
    random = np.random.default_rng(SEED)
    nets = {
        "random, 12 inputs of a bit": ([distinct(random, Layer.random(random, 12, 2, 12), 12)], 12),
        "sums, 4 inputs of 3 bits": ([distinct(random, few_valued(random, 12, 6, 4, 3), 12), distinct(random, few_valued(random, 6, 4, 3, 3), 6)], 12),
        "thermometer, 6 inputs": ([thermometer(12, [60, 120, 180]), distinct(random, Layer.random(random, 36, 60, 6), 36),
                                   distinct(random, Layer.random(random, 60, 40, 6), 60)], 12)}
    print("network | verilog-gen: LUTs, depth, s of yosys | a case for each neuron: LUTs, depth, s (yosys synth_xilinx, LUT6; no registers, outputs only)")
    for title, (layers, inputs) in nets.items():
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            done = write_verilog(model_of(layers, (1, inputs)), folder, registers=0, vectors=0)
            if done.returncode:
                raise SystemExit(done.stderr)
            text = (folder / "net.v").read_text()
            # Without the index of the largest. The input has 8 bits, of which the first layer takes the lowest.
            text = text.replace("net_argmax largest(y, index);", "assign index = 0;")
            (folder / "net.v").write_text(text)
            (folder / "naive.v").write_text(naive_module(layers, inputs, 8, "naive"))
            ours, theirs = synthesized(folder, "net"), synthesized(folder, "naive")
            print(f"{title:26} | {ours[0]:6} {ours[1]:3} {ours[2]:7.1f} | {theirs[0]:6} {theirs[1]:3} {theirs[2]:7.1f}")


def mnist(images):
    """The example in the values of fixed8: the engine, and Verilator on the first test images."""
    digits = ROOT / "examples/digits"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "fixed8.yaml").write_text('global: {weights: fixed frac auto, activations: int8 full scale 0.0625 zero_point 0}\n')
        subprocess.run([PROGRAM, "quantize", digits / "digits.onnx", "-o", folder / "q.onnx", "--recipe", folder / "fixed8.yaml", "--emit", "qdq",
                        "--calib", digits / "samples"], check=True, capture_output=True)
        pixels = np.load(digits / "test_images.npy")[:images].astype(np.float32)
        np.save(folder / "x.npy", (pixels / 255 - 0.1307) / 0.3081)
        done = write_verilog(folder / "q.onnx", folder, "image=1,1,28,28", samples=folder / "x.npy", vectors=images)
        if done.returncode:
            raise SystemExit(done.stderr)
        subprocess.run(["verilator", "--binary", "--timing", "-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--top-module", "net_tb", "net.v", "net_tb.v"],
                       cwd=folder, check=True, capture_output=True)
        began = time.perf_counter()
        said = subprocess.run([folder / "obj_dir/Vnet_tb"], cwd=folder, capture_output=True, text=True).stdout
        # The index is in the highest bits of a line.
        found = [int(line, 16) >> 80 for line in (folder / "net_expected.hex").read_text().split()]
        right = np.mean(np.array(found) == np.load(digits / "test_labels.npy")[:images])
        print(f"MNIST in fixed8, {images} test images: {said.splitlines()[0]}; {100 * right:.2f} % right; {time.perf_counter() - began:.1f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help="speed, luts, mnist [all]")
    parser.add_argument("--images", type=int, default=100)
    given = parser.parse_args()
    for part in given.parts or ["speed", "luts", "mnist"]:
        {"speed": speed, "luts": luts, "mnist": lambda: mnist(given.images)}[part]()


if __name__ == "__main__":
    main()
