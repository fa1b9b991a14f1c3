"""GEMM with packed weights compared with anybit's float32 and ONNX Runtime's MatMulNBits, and binary GEMM; 1 and 2 threads.

    python bench/bench_packed.py [--rounds N] [--size K] [--binary K] [--write docs/speed.md]

All run in turns in one process; the best of many runs counts. Ratios above 1: the packed weight is faster.
"""
import argparse
import itertools
import pathlib
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from support.executing import Executor

BLOCK = 32
# format: bits per value
FORMATS = {"mxfp4_e2m1": 4, "nvfp4": 4, "int4": 4, "mxint8": 8, "mxfp8_e4m3": 8, "mxfp8_e5m2": 8, "bfp16": 8}
ROUNDED = ("mxfp4_e2m1", "nvfp4", "int4", "mxint8")  # also with compute: int8


def model_of(node_or_nodes, size, constants):
    nodes = node_or_nodes if isinstance(node_or_nodes, list) else [node_or_nodes]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, size])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("ai.anybit", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def float_model(size):
    weight = np.random.default_rng(1).standard_normal((size, size)).astype(np.float32)
    return model_of(helper.make_node("MatMul", ["x", "w"], ["y"]), size, {"w": weight})


def decode_model(name, size, **about):
    """A weight of random codes, packed along the reduction axis; `about`: more attributes of Decode."""
    rng, bits = np.random.default_rng(2), FORMATS[name]
    block = {"nvfp4": 16, "bfp16": 8}.get(name, BLOCK)
    codes = rng.integers(0, 256, (size, size * bits // 8)).astype(np.uint8)
    if name.startswith("mxfp8"):
        codes &= 0xBB  # no code of infinity or NaN
    grid = (size // block, size)
    fields = {"nvfp4": [np.float32(0.01), rng.integers(40, 100, grid).astype(np.uint8)],
              "int4": [rng.random(grid).astype(np.float32) + 0.1]}.get(name, [rng.integers(115, 130, grid).astype(np.uint8)])
    constants = {"codes": codes} | {f"f{i}": field for i, field in enumerate(fields)}
    text = f"{name} granularity=block axis=0 block_size={block}"
    return model_of([helper.make_node("Decode", list(constants), ["w"], domain="ai.anybit", format=text,
                                      coded=[size, size], dims=[size, size], **about),
                     helper.make_node("MatMul", ["x", "w"], ["y"])], size, constants)


def binary_model(size):
    """Binary GEMM: the input is binarized at run time."""
    rng = np.random.default_rng(5)
    constants = {"codes": rng.integers(0, 256, (size, size // 8)).astype(np.uint8),
                 "scale": (rng.random((1, size)) + 0.1).astype(np.float32)}
    return model_of([helper.make_node("QuantizeDequantize", ["x"], ["q"], domain="ai.anybit", format="binary scale=mean"),
                     helper.make_node("Decode", list(constants), ["w"], domain="ai.anybit", coded=[size, size], dims=[size, size],
                                      format="binary scale=mean granularity=channel axis=1 rank=2"),
                     helper.make_node("MatMul", ["q", "w"], ["y"])], size, constants)


def nbits_model(size, bits, level):
    rng = np.random.default_rng(3)
    constants = {"b": rng.integers(0, 256, (size, size // BLOCK, BLOCK * bits // 8)).astype(np.uint8),
                 "s": rng.random(size * size // BLOCK).astype(np.float32) + 0.1}
    return model_of(helper.make_node("MatMulNBits", ["x", "b", "s"], ["y"], domain="com.microsoft", K=size, N=size, bits=bits,
                                     block_size=BLOCK, accuracy_level=level), size, constants)


def peer(model, x, threads):
    """A function that runs ONNX Runtime once, with buffers bound in advance, and returns the seconds."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x))
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((len(x), x.shape[1]), np.float32)))

    def run():
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        return time.perf_counter() - start

    return run


def shortest(timers, rounds):
    best = {name: 1e9 for name in timers}
    for _ in range(rounds):
        for name, timer in timers.items():
            best[name] = min([best[name]] + [timer() for _ in range(5)])
    return best


def table(size, rows, threads, rounds):
    x = np.random.default_rng(4).standard_normal((rows, size)).astype(np.float32)
    timers = {"float32": Executor(float_model(size), threads).timer({"x": x})}
    timers |= {name: Executor(decode_model(name, size), threads).timer({"x": x}) for name in FORMATS}
    timers["MatMulNBits 4"] = Executor(nbits_model(size, 4, 0), threads).timer({"x": x})
    timers["MatMulNBits 8"] = Executor(nbits_model(size, 8, 0), threads).timer({"x": x})
    timers |= {f"{name}, compute int8": Executor(decode_model(name, size, compute="int8"), threads).timer({"x": x})
               for name in ROUNDED}
    timers |= {f"MatMulNBits {bits}, compute int8": Executor(nbits_model(size, bits, 4), threads).timer({"x": x})
               for bits in (4, 8)}
    timers |= {f"ORT {bits} bits, level {level}": peer(nbits_model(size, bits, level), x, threads)
               for bits, level in ((4, 0), (4, 4))}
    best = shortest(timers, rounds)
    for name, seconds in best.items():
        yield (f"| {rows} × {size}² | {name} | {threads} | {seconds * 1e3:.3f} | {best['float32'] / seconds:.2f} | "
               f"{best['ORT 4 bits, level 0'] / seconds:.2f} | {best['ORT 4 bits, level 4'] / seconds:.2f} |")


def binary_table(size, threads, rounds):
    """A square binary GEMM, and the same GEMM in float32."""
    x = np.random.default_rng(4).standard_normal((size, size)).astype(np.float32)
    best = shortest({"float32": Executor(float_model(size), threads).timer({"x": x}),
                     "binary × binary": Executor(binary_model(size), threads).timer({"x": x})}, rounds)
    for name, seconds in best.items():
        yield f"| {size} × {size}² | {name} | {threads} | {seconds * 1e3:.3f} | {best['float32'] / seconds:.2f} | | |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--binary", type=int, default=1024, help="the size of the binary GEMM")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    lines = ["| GEMM | weight | threads | ms | × our float32 | × ONNX Runtime, level 0 | × level 4 |",
             "|---|---|--:|--:|--:|--:|--:|"]
    print("\n".join(lines))
    tables = [table(options.size, rows, threads, options.rounds) for rows in options.rows for threads in options.threads]
    tables += [binary_table(options.binary, threads, options.rounds) for threads in options.threads]
    for line in itertools.chain.from_iterable(tables):
        lines.append(line)
        print(line, flush=True)
    if options.write:
        document.put(options.write, "packed", lines)


if __name__ == "__main__":
    main()
