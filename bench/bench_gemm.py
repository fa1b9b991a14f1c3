"""GEMM compared with ONNX Runtime, in turns, the best of many runs.

Prints GMAC/s of both and their ratio. int8 is uint8 times int8 with requantization (QLinearMatMul): sums of ONNX
Runtime may saturate on CPUs without VNNI, those of anybit are exact.
"""

import argparse
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("ANYBIT_BUILD", ROOT / "build/release")) / "bin/bench_gemm"
SIZES = [(128, 768, 3072), (512, 512, 512), (1024, 1024, 1024), (196, 256, 1024), (1, 4096, 4096)]


def model_of(kind, k, n):
    random = np.random.default_rng(1)
    if kind == "float32":
        weights = [numpy_helper.from_array(random.normal(size=(k, n)).astype(np.float32), "b")]
        node, element = helper.make_node("MatMul", ["a", "b"], ["y"]), TensorProto.FLOAT
    else:
        values = {"a_scale": np.float32(0.02), "a_zero": np.uint8(7), "b": random.integers(-100, 101, (k, n)).astype(np.int8),
                  "b_scale": np.float32(0.01), "b_zero": np.int8(0), "y_scale": np.float32(2), "y_zero": np.uint8(128)}
        weights = [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()]
        node, element = helper.make_node("QLinearMatMul", ["a", *values], ["y"]), TensorProto.UINT8
    ports = [helper.make_tensor_value_info(name, element, None) for name in "ay"]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


class Peer:
    """ONNX Runtime with buffers that are bound once, so that only the kernel is timed."""

    def __init__(self, kind, m, k, n, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        self.clock = time.thread_time if threads == 1 else time.perf_counter  # as bench/gemm.cpp
        self.session = onnxruntime.InferenceSession(model_of(kind, k, n), options, providers=["CPUExecutionProvider"])
        dtype = np.float32 if kind == "float32" else np.uint8
        self.arrays = [np.ones((m, k), dtype), np.zeros((m, n), dtype)]
        self.values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in self.arrays]
        self.binding = self.session.io_binding()
        self.binding.bind_ortvalue_input("a", self.values[0])
        self.binding.bind_ortvalue_output("y", self.values[1])

    def shortest(self, budget):
        best, start = 1e30, self.clock()
        while True:
            one = self.clock()
            self.session.run_with_iobinding(self.binding)
            now = self.clock()
            best = min(best, now - one)
            if now - start > budget:
                return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.1, help="for each measurement")
    parser.add_argument("--kinds", default="float32,int8")
    parser.add_argument("--threads", default="1,2")
    arguments = parser.parse_args()
    program = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ours(kind, sizes, threads):
        print(kind, *sizes, threads, arguments.seconds, file=program.stdin, flush=True)
        return float(program.stdout.readline())

    print(f"{'':8} {'GEMM':>16} {'threads':>7} {'anybit':>8} {'peer':>8}  ratio   (GMAC/s)")
    for kind in arguments.kinds.split(","):
        for threads in map(int, arguments.threads.split(",")):
            for sizes in SIZES:
                peer = Peer(kind, *sizes, threads)
                times = [1e30, 1e30]
                for _ in range(arguments.rounds):
                    times = [min(times[0], ours(kind, sizes, threads)), min(times[1], peer.shortest(arguments.seconds))]
                macs = float(np.prod(sizes, dtype=np.float64))
                rates = [macs / one * 1e-9 for one in times]
                name = "x".join(map(str, sizes))
                print(f"{kind:8} {name:>16} {threads:7} {rates[0]:8.1f} {rates[1]:8.1f} {rates[0] / rates[1]:6.2f}", flush=True)
    program.stdin.close()
    program.wait()


if __name__ == "__main__":
    main()
