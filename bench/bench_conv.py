"""Single float32 convolutions on one thread: GMAC/s of anybit, ONNX Runtime and OpenVINO, beside the peak of the core.

    python bench/bench_conv.py [--seconds S] [--only TEXT] [--accuracy] [--write docs/speed.md]

All run in turns in one process; the best of many runs counts. Times include the conversion of a plain input and output.
ANYBIT_CPU caps anybit; oneDNN inside OpenVINO is capped with it, ONNX Runtime cannot be. `--accuracy` compares whole
models with the same models in float64 instead. OpenVINO is left out if it is not installed.
"""
import argparse
import ctypes
import math
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import document
from support.executing import Executor
from support.peer_models import MODELS, image, peer

ROWS = {  # name: (input, weight, attributes)
    "3x3 64-64 at 56": ((1, 64, 56, 56), (64, 64, 3, 3), dict(pads=[1] * 4)),
    "3x3 128-128 at 28": ((1, 128, 28, 28), (128, 128, 3, 3), dict(pads=[1] * 4)),
    "3x3 256-256 at 14": ((1, 256, 14, 14), (256, 256, 3, 3), dict(pads=[1] * 4)),
    "3x3 512-512 at 7": ((1, 512, 7, 7), (512, 512, 3, 3), dict(pads=[1] * 4)),
    "3x3 24-24 at 80": ((1, 24, 80, 80), (24, 24, 3, 3), dict(pads=[1] * 4)),
    "3x3 8-8 at 64": ((1, 8, 64, 64), (8, 8, 3, 3), dict(pads=[1] * 4)),
    "3x3/2 128-128 at 56": ((1, 128, 56, 56), (128, 128, 3, 3), dict(pads=[1] * 4, strides=[2, 2])),
    "5x5 96-96 at 40": ((1, 96, 40, 40), (96, 96, 5, 5), dict(pads=[2] * 4)),
    "9x9 96-24 at 40": ((1, 96, 40, 40), (24, 96, 9, 9), dict(pads=[4] * 4)),
    "1x1 16-96 at 112": ((1, 16, 112, 112), (96, 16, 1, 1), {}),
    "1x1 96-24 at 56": ((1, 96, 56, 56), (24, 96, 1, 1), {}),
    "1x1 256-1024 at 14": ((1, 256, 14, 14), (1024, 256, 1, 1), {}),
    "stem 7x7/2 3-64 at 224": ((1, 3, 224, 224), (64, 3, 7, 7), dict(pads=[3] * 4, strides=[2, 2])),
    "stem 3x3/2 3-16 at 320": ((1, 3, 320, 320), (16, 3, 3, 3), dict(pads=[1] * 4, strides=[2, 2])),
    "depthwise 3x3 144 at 56": ((1, 144, 56, 56), (144, 1, 3, 3), dict(pads=[1] * 4, group=144)),
    "depthwise 3x3/2 96 at 112": ((1, 96, 112, 112), (96, 1, 3, 3), dict(pads=[1] * 4, group=96, strides=[2, 2])),
    "depthwise 5x5 384 at 14": ((1, 384, 14, 14), (384, 1, 5, 5), dict(pads=[2] * 4, group=384)),
    "grouped 3x3 128-128/32 at 28": ((1, 128, 28, 28), (128, 4, 3, 3), dict(pads=[1] * 4, group=32)),
    "1-D 5 256-256 at 2048": ((1, 256, 2048), (256, 256, 5), dict(pads=[2] * 2)),
    "1-D 65 64-64 at 2048": ((1, 64, 2048), (64, 64, 65), dict(pads=[32] * 2)),
    "1-D waveform 10/5 1-512 at 16000": ((1, 1, 16000), (512, 1, 10), dict(strides=[5])),
    "transposed 2x2/2 64-32 at 40": ((1, 64, 40, 40), (64, 32, 2, 2), dict(strides=[2, 2])),
    "transposed 4x4/2 128-64 at 28": ((1, 128, 28, 28), (128, 64, 4, 4), dict(pads=[1] * 4, strides=[2, 2])),
    "3x3 32-64 at 40, variable": ((1, 32, 40, 40), (64, 32, 3, 3), dict(pads=[1] * 4)),
    "depthwise 3x3 144 at 56, variable": ((1, 144, 56, 56), (144, 1, 3, 3), dict(pads=[1] * 4, group=144)),
}

PEAK = """
#include <immintrin.h>
#include <time.h>
typedef float lanes __attribute__((vector_size(WIDTH * 4)));
double peak(void) {  /* multiply-adds per second */
  struct timespec a, b;
  lanes sum[12], factor = {0};
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) sum[i] = factor;
  factor += 0.5f;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int n = 0; n < 200000; ++n)
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) {
#if WIDTH == 16
      asm volatile("vfmadd231ps %1, %1, %0" : "+v"(sum[i]) : "v"(factor));
#else
      asm volatile("vfmadd231ps %1, %1, %0" : "+x"(sum[i]) : "x"(factor));
#endif
    }
  clock_gettime(CLOCK_MONOTONIC, &b);
  return 200000.0 * 12 * WIDTH / ((b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec));
}
"""


def lanes():
    """Lanes of the widest vectors that anybit may use."""
    wide = "avx512f" in pathlib.Path("/proc/cpuinfo").read_text()
    return 16 if wide and os.environ.get("ANYBIT_CPU", "avx512") == "avx512" else 8


def peak():
    """GMAC/s of fused multiply-adds alone; the best of many short runs."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder, "peak.c"), pathlib.Path(folder, "peak.so")
        source.write_text(PEAK)
        flags = ["-mavx512f"] if lanes() == 16 else ["-mavx2", "-mfma"]
        subprocess.run(["cc", "-O2", "-funroll-loops", "-fPIC", "-shared", f"-DWIDTH={lanes()}", *flags, str(source), "-o",
                        str(library)], check=True)
        run = ctypes.CDLL(str(library)).peak
        run.restype = ctypes.c_double
        return max(run() for _ in range(60)) * 1e-9


def model_of(name):
    x_shape, w_shape, attributes = ROWS[name]
    rng = np.random.default_rng(0)
    weight = rng.standard_normal(w_shape).astype(np.float32) / math.sqrt(np.prod(w_shape[1:]))
    op = "ConvTranspose" if name.startswith("transposed") else "Conv"
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)]
    feeds = {"x": rng.standard_normal(x_shape).astype(np.float32)}
    constants = [numpy_helper.from_array(weight, "w")]
    if name.endswith("variable"):
        inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, w_shape))
        feeds["w"], constants = weight, []
    graph = helper.make_graph([helper.make_node(op, ["x", "w"], ["y"], **attributes)], "conv", inputs,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), feeds


def openvino(path, feeds):
    """A function that runs the model once and returns its time, or None without OpenVINO."""
    if lanes() == 8:
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    try:
        import openvino as package
    except ImportError:
        return None
    core = package.Core()
    model = core.read_model(path)
    model.reshape({name: list(value.shape) for name, value in feeds.items()})
    request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for name, value in feeds.items():
        request.set_tensor(name, package.Tensor(value))
    return timed(request.infer)


def timed(run):
    def once():
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin

    return once


def best_of(runs, seconds):
    """The best time of each function, in turns."""
    best = [math.inf] * len(runs)
    end, rounds = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or rounds < 5:
        rounds += 1
        for i, run in enumerate(runs):
            best[i] = min(best[i], *(run() for _ in range(3)))
    return best


def measure(path, feeds, seconds):
    session = peer(path)
    runs = [Executor(path, threads=1).timer(feeds), timed(lambda: session.run(None, feeds)), openvino(path, feeds)]
    times = iter(best_of([run for run in runs if run], seconds))
    return [next(times) if run else None for run in runs]


def speed(options):
    top = peak()
    lines = [f"Peak of the core, {lanes()} lanes: {top:.0f} GMAC/s.", "",
             "| convolution | MMAC | anybit ms | GMAC/s | of peak | ONNX Runtime | OpenVINO |", "|---|--:|--:|--:|--:|--:|--:|"]
    print("\n".join(lines), flush=True)
    ratios = ([], [])
    folder = MODELS / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (x_shape, w_shape, attributes) in ROWS.items():
        if options.only not in name:
            continue
        model, feeds = model_of(name)
        path = folder / f"single_conv_{list(ROWS).index(name)}.onnx"
        onnx.save(model, path)
        output = Executor(path, threads=1).run(feeds)[0]
        positions = np.prod(x_shape[2:]) * x_shape[1] if name.startswith("transposed") else output.size
        macs = positions * np.prod(w_shape[1:])
        times = measure(path, feeds, options.seconds)
        rate = macs / times[0] * 1e-9
        cells = [f"{time_ / times[0]:.2f} ×" if time_ else "" for time_ in times[1:]]
        for found, time_ in zip(ratios, times[1:]):
            found += [time_ / times[0]] if time_ else []
        lines.append(f"| {name} | {macs * 1e-6:.1f} | {times[0] * 1e3:.3f} | {rate:.0f} | {rate / top:.0%} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    means = [f"{math.exp(np.log(found).mean()):.2f} × {name}" for found, name in zip(ratios, ("ONNX Runtime", "OpenVINO")) if found]
    lines += ["", f"Geometric mean: {', '.join(means)}."]
    print(lines[-1])
    return lines


def in_double(model):
    """The model with all float32 tensors in float64."""
    model = onnx.ModelProto.FromString(model.SerializeToString())

    def widen(tensor):
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))

    for tensor in model.graph.initializer:
        widen(tensor)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                widen(attribute.t)
            elif node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    del model.graph.value_info[:]
    for port in (*model.graph.input, *model.graph.output):
        if port.type.tensor_type.elem_type == TensorProto.FLOAT:
            port.type.tensor_type.elem_type = TensorProto.DOUBLE
    return model


def accuracy():
    """Error against float64 of each model's first output, relative to its RMS."""
    lines = ["| model | anybit | ONNX Runtime, direct summation | ratio |", "|---|--:|--:|--:|"]
    print("\n".join(lines), flush=True)
    shapes = {"ch_PP-OCRv4_det_infer": (1, 3, 160, 160), "ch_PP-OCRv4_rec_infer": (1, 3, 48, 320),
              "ch_ppocr_mobile_v2.0_cls_infer": (1, 3, 48, 192)}
    models = [(stem, onnx.load(MODELS / f"{stem}.onnx"), image(shape, 5)) for stem, shape in shapes.items()]
    for name in ROWS:
        if "3x3 " in name and "variable" not in name and "depth" not in name and "grouped" not in name:
            model, feeds = model_of(name)
            models.append((name, model, feeds["x"]))
    for name, model, x in models:
        feed = model.graph.input[0].name
        exact = Executor(in_double(model), threads=1).run({feed: x.astype(np.float64)})[0]
        ours = Executor(model, threads=1).run({feed: x})[0]
        theirs = peer(model.SerializeToString()).run(None, {feed: x})[0]
        errors = [np.sqrt(np.mean((y - exact) ** 2) / np.mean(exact ** 2)) for y in (ours, theirs)]
        lines.append(f"| {name} | {errors[0]:.1e} | {errors[1]:.1e} | {errors[0] / errors[1]:.1f} |")
        print(lines[-1], flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--accuracy", action="store_true", help="errors against float64 instead of times")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    if options.accuracy:
        lines, mark = accuracy(), "winograd accuracy"
    else:
        lines, mark = speed(options), f"convolutions, {lanes()} lanes"
    if options.write:
        document.put(options.write, mark, lines)


if __name__ == "__main__":
    main()
