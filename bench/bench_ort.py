"""AMD Quark's operators in ONNX Runtime: time of a node in libanybit_ort.so and in Quark's own library (`make bench-ort`).

    python bench/bench_ort.py [--rounds N] [--threads N …] [--least RATIO] [--write docs/onnxruntime-library.md]

A model is a chain of equal nodes, so that the cost of a call of the session hardly counts. Both libraries run in turns in one
process; the best of many runs counts. Fails if a ratio is below --least.
"""
import argparse
import pathlib
import sys
import time

import numpy as np
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[1]
import document
from support.ort_library import IR, OPSET, QUARK, WithLibrary
from support.quark_library import LIBRARY

MX, BFP = "MXQuantizeDequantize", "BFPQuantizeDequantize"
NODES = [(f"MX {element}", MX, dict(element_dtype=element, block_size=32, rounding_mode=2))
         for element in ("int8", "fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1")]
NODES += [("BFP16", BFP, dict(bit_width=16, block_size=8, rounding_mode=2)),
          ("BFP16, kernel of the compiler", BFP, dict(bit_width=16, block_size=8, use_compiler_version_cpu_kernel=1)),
          ("BFP16 prime", BFP, dict(bfp_method="to_bfp_prime", bit_width=16, block_size=16, sub_block_size=2, sub_block_shift_bits=1))]
SHAPES = [(1, 64), (32, 768), (1, 64, 28, 28), (8, 128, 768)]


def chain(op, attributes, length):
    names = ["x", *(f"h{i}" for i in range(length - 1)), "y"]
    nodes = [helper.make_node(op, [a], [b], domain=QUARK, **attributes) for a, b in zip(names, names[1:])]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(QUARK, 1)]
    return helper.make_model(helper.make_graph(nodes, "chain", ports[:1], ports[1:]), ir_version=IR, opset_imports=opsets)


def best(session, x, rounds):
    """Seconds of one call; a round lasts 20 ms."""
    session.run(x=x)
    fastest, spent = float("inf"), 0.0
    for _ in range(rounds):
        spent = 0.0
        while spent < 0.02:
            begin = time.perf_counter()
            session.run(x=x)
            took = time.perf_counter() - begin
            fastest, spent = min(fastest, took), spent + took
    return fastest


def measure(op, attributes, shape, threads, rounds):
    """Seconds per node, in our library and in Quark's."""
    length = 100 if np.prod(shape) < 10_000 else 10  # a call of the session costs some microseconds
    model = chain(op, dict(axis=1) | attributes, length)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    sessions = [WithLibrary(model, threads), WithLibrary(model, threads, library=str(LIBRARY))]
    times = [float("inf")] * 2
    for _ in range(rounds):
        times = [min(before, best(session, x.copy(), 1)) for before, session in zip(times, sessions)]
    return [one / length for one in times]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--least", type=float, default=5)
    parser.add_argument("--write", help="the document whose table is replaced")
    given = parser.parse_args()
    lines = ["| node | tensor | " + " | ".join(f"{n} thread{'s' * (n > 1)}: ours | Quark | ratio" for n in given.threads) + " |",
             "|---|---|" + "--:|--:|--:|" * len(given.threads)]
    slow = []
    print("\n".join(lines))
    for title, op, attributes in NODES:
        for shape in SHAPES:
            cells = []
            for threads in given.threads:
                ours, theirs = measure(op, attributes, shape, threads, given.rounds)
                cells += [f"{ours * 1e6:.1f} µs", f"{theirs * 1e6:.1f} µs", f"{theirs / ours:.1f}"]
                if theirs / ours < given.least:
                    slow.append(f"{title} {shape}, {threads} threads: {theirs / ours:.1f}")
            lines.append(f"| {title} | {'×'.join(map(str, shape))} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    if given.write:
        document.put(ROOT / given.write, "ort", lines)
    if slow:
        sys.exit(f"below {given.least}: " + "; ".join(slow))


if __name__ == "__main__":
    main()
