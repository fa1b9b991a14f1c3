"""Shared by the tests of `anybit quantize`: small models, samples, and runs of a file in both runtimes."""
import functools
import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]

from support.executing import Executor

DIGITS = ROOT / "examples" / "digits"


def run_tool(tool, *arguments, code=0):
    """`code`: 0, 2 (wrong usage), or "error" for 1 (failure) or 2."""
    done = subprocess.run([tool("anybit"), *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode in ((1, 2) if code == "error" else (code,)), done.stdout + done.stderr
    return done


def net(seed=0, opset=17, ir=8):
    """Conv, Relu, depthwise Conv, HardSwish by hand, a residual sum, pooling, Flatten, Gemm, and a MatMul after it."""
    rng = np.random.default_rng(seed)

    def weight(name, *shape):
        scale = 1.4 / np.sqrt(np.prod(shape[1:]))
        spread = rng.uniform(0.2, 2, shape[0]).reshape(-1, *[1] * (len(shape) - 1))  # channels of different ranges
        return numpy_helper.from_array((rng.standard_normal(shape) * scale * spread).astype(np.float32), name)

    constants = [weight("w1", 8, 3, 3, 3), weight("b1", 8), weight("w2", 8, 1, 3, 3), weight("w3", 8, 8, 1, 1),
                 weight("b3", 8), weight("w4", 10, 8), weight("b4", 10), weight("w5", 10, 6),
                 numpy_helper.from_array(np.float32(3), "three"), numpy_helper.from_array(np.float32(0), "zero"),
                 numpy_helper.from_array(np.float32(6), "six")]
    node = helper.make_node
    nodes = [node("Conv", ["x", "w1", "b1"], ["c1"], name="stem/conv", pads=[1] * 4),
             node("Relu", ["c1"], ["r1"], name="stem/relu"),
             node("Conv", ["r1", "w2"], ["c2"], name="body/depthwise", pads=[1] * 4, group=8),
             node("Add", ["c2", "three"], ["a2"], name="body/add3"),
             node("Clip", ["a2", "zero", "six"], ["k2"], name="body/clip"),
             node("Mul", ["c2", "k2"], ["m2"], name="body/mul"),
             node("Div", ["m2", "six"], ["h2"], name="body/div"),
             node("Conv", ["h2", "w3", "b3"], ["c3"], name="body/pointwise"),
             node("Add", ["c3", "r1"], ["s3"], name="body/residual"),
             node("MaxPool", ["s3"], ["p3"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
             node("GlobalAveragePool", ["p3"], ["g3"], name="mean"),
             node("Flatten", ["g3"], ["f3"], name="flat"),
             node("Gemm", ["f3", "w4", "b4"], ["d4"], name="head/gemm", transB=1),
             node("MatMul", ["d4", "w5"], ["y"], name="head/matmul")]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 6])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    onnx.checker.check_model(model)
    return model


def samples(folder, count=8, shape=(1, 3, 16, 16), seed=1):
    """A folder of .npy files, one for each sample."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(shape).astype(np.float32) for _ in range(count)]
    for i, array in enumerate(arrays):
        np.save(folder / f"{i:04}.npy", array)
    return arrays


def in_onnxruntime(model, feeds, threads=0, optimised=False):
    """All outputs; without graph optimizations, whose int8 kernels saturate on some CPUs. `threads`: 0 is ONNX Runtime's default."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    content = model if isinstance(model, (str, bytes)) else str(model)
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"]).run(None, feeds)


@functools.cache
def onnxruntime_saturates():
    """Whether ONNX Runtime's sums of uint8 times int8 saturate on this CPU, as they do without VNNI: adjacent products are 255 · 127."""
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "probe",
                              [helper.make_tensor_value_info("a", TensorProto.UINT8, [1, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.INT32, [1, 1])],
                              [numpy_helper.from_array(np.full((4, 1), 127, np.int8), "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    sums, = in_onnxruntime(model.SerializeToString(), {"a": np.full((1, 4), 255, np.uint8)})
    return sums.item() != 4 * 255 * 127


def in_anybit(path, feeds):
    return Executor(onnx.load(path)).run(feeds)


def decibels(reference, other):
    noise = np.sum((reference.astype(np.float64) - other) ** 2)
    return 200.0 if noise == 0 else 10 * np.log10(np.sum(reference.astype(np.float64) ** 2) / noise)


def ops(model):
    return [node.op_type for node in model.graph.node]


def report_of(done):
    return json.loads(done.stdout)
