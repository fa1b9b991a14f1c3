"""Generated C compared with anybit's runtime on one thread: small and real models, float32 and int8.

    python bench/bench_codegen.py [--seconds S] [--only TEXT] [--write docs/speed.md]

Compiled with gcc -std=c99 -O3 -march=native. Both run in turns; the best of many runs counts. A ratio below 1: the C
code is faster. The columns `compile-time` are for the preference of that name, which gives plain loops.
"""
import argparse
import ctypes
import math
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from support import generating
from support.executing import Executor

PREFERENCES = {"default": 0, "performance": 1, "memory": 2, "compile-time": 3}
NETS = {"digits": (ROOT / "examples/digits/digits.onnx", (1, 1, 28, 28)), "cifar": (ROOT / "examples/cifar/cifar.onnx", (1, 3, 32, 32)),
        "PP-OCR classifier": (ROOT / "build/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", (1, 3, 48, 192)),
        "PP-OCRv4 recogniser": (ROOT / "build/models/ch_PP-OCRv4_rec_infer.onnx", (1, 3, 48, 320))}


def models(name, folder):
    """The model in float32 and int8, with a fixed input shape."""
    path, shape = NETS[name]
    model = onnx.load(path)
    dims = model.graph.input[0].type.tensor_type.shape
    del dims.dim[:]
    for size in shape:
        dims.dim.add(dim_value=size)
    onnx.save(model, folder / "float.onnx")
    np.save(folder / "sample.npy", np.random.default_rng(0).normal(size=shape).astype(np.float32))
    subprocess.run([generating.BUILD / "bin/anybit", "quantize", folder / "float.onnx", "-o", folder / "int8.onnx", "--recipe", "int8",
                    "--calib", folder / "sample.npy"], check=True, capture_output=True)
    return {"float32": model, "int8": onnx.load(folder / "int8.onnx")}, np.load(folder / "sample.npy")


class Generated:
    """A model as C, with a timer around its entry point."""

    def __init__(self, model, folder, preference, arrays):
        name = f"net{len(list(folder.glob('*.c')))}"
        generating.generate(model, folder / f"{name}.c", preference)
        arguments = ", ".join(f"arrays[{i}]" for i in range(len(arrays)))
        (folder / f"{name}_clock.c").write_text(
            f'#include <time.h>\n#include "{name}.h"\nlong clock_run(void **arrays) {{\n  struct timespec a, b;\n'
            f"  clock_gettime(CLOCK_MONOTONIC, &a);\n  {name}_run({arguments});\n  clock_gettime(CLOCK_MONOTONIC, &b);\n"
            "  return (b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec;\n}\n")
        sources = [f"{name}.c", f"{name}_clock.c", *(path.name for path in folder.glob(f"{name}.S"))]
        begin = time.perf_counter()
        subprocess.run(["gcc", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O3", "-march=native", "-shared", "-fPIC", *sources, "-o",
                        f"{name}.so", "-lm"], cwd=folder, check=True)
        self.compile_seconds = time.perf_counter() - begin
        self.clock = ctypes.CDLL(str(folder / f"{name}.so")).clock_run
        self.clock.restype = ctypes.c_long
        self.arrays = arrays
        self.pointers = (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
        header = (folder / f"{name}.h").read_text()
        self.arena, self.constants = (int(re.search(rf"#define \w*_{word}_BYTES (\d+)", header).group(1)) for word in ("ARENA", "CONSTANT"))

    def __call__(self):
        return self.clock(self.pointers) * 1e-9


def measure(runs, seconds):
    """Best times of runs in turns."""
    best = dict.fromkeys(runs, math.inf)
    end = time.perf_counter() + seconds
    rounds = 0
    while time.perf_counter() < end or rounds < 3:
        rounds += 1
        for name, run in runs.items():
            for _ in range(3 if rounds > 1 or name != "compile-time" else 1):
                best[name] = min(best[name], run())
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    lines = ["| | type | runtime ms | default ms | performance ms | ratio | memory ms | compile-time ms | arena KB: default, memory | constants KB | compile s: performance, compile-time |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    print("\n".join(lines), flush=True)
    for name in NETS:
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            kinds, sample = models(name, folder)
            for kind, model in kinds.items():
                executor = Executor(model, threads=1)
                port = model.graph.input[0].name
                right = executor.run({port: sample})
                runs = {word: Generated(model, folder, number, [sample, *(np.zeros_like(x) for x in right)])
                        for word, number in PREFERENCES.items()}
                best = measure({"runtime": executor.timer({port: sample}), **runs}, options.seconds)
                for word, run in runs.items():
                    error = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(run.arrays[1:], right))
                    assert error <= (0 if kind == "int8" and name in ("digits", "cifar") else 1e-4), f"{name} {kind} {word}: {error}"
                ms = {word: f"{seconds * 1e3:.3f}" for word, seconds in best.items()}
                lines.append(f"| {name} | {kind} | {ms['runtime']} | {ms['default']} | {ms['performance']} | "
                             f"{best['performance'] / best['runtime']:.2f} | {ms['memory']} | {ms['compile-time']} | "
                             f"{runs['default'].arena / 1e3:.0f}, {runs['memory'].arena / 1e3:.0f} | {runs['default'].constants / 1e3:.0f} | "
                             f"{runs['performance'].compile_seconds:.1f}, {runs['compile-time'].compile_seconds:.1f} |")
                print(lines[-1], flush=True)
    if options.write:
        document.put(options.write, "codegen", lines)


if __name__ == "__main__":
    main()
