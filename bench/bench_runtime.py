"""anybit compared with ONNX Runtime: real models and single kernels, float32 and int8, 1 and 2 threads.

    python bench/bench_runtime.py [--seconds S] [--only TEXT] [--write docs/speed.md]

Both runtimes run in turns in one process; the best of many runs counts. A ratio above 1: anybit is faster.
int8 models are ONNX Runtime's own QDQ files.
"""
import argparse
import math
import pathlib
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[1]

import document
from support.executing import Executor
from support.peer_models import MODELS, image, peer, quantized

IMAGES = {
    "ch_PP-OCRv4_det_infer": (1, 3, 320, 320),
    "ch_PP-OCRv4_rec_infer": (1, 3, 48, 320),
    "ch_ppocr_mobile_v2.0_cls_infer": (1, 3, 48, 192),
}
KERNELS = {  # name: (input, weight, attributes of Conv); a MatMul has no attributes
    "conv 3x3 64-64 at 56": ((1, 64, 56, 56), (64, 64, 3, 3), dict(pads=[1] * 4)),
    "conv 1x1 256-1024 at 14": ((1, 256, 14, 14), (1024, 256, 1, 1), {}),
    "depthwise 3x3 144 at 56": ((1, 144, 56, 56), (144, 1, 3, 3), dict(pads=[1] * 4, group=144)),
    "stem 7x7/2 3-64 at 224": ((1, 3, 224, 224), (64, 3, 7, 7), dict(pads=[3] * 4, strides=[2, 2])),
    "matmul 128x768x3072": ((128, 768), (768, 3072), None),
    "matvec 4096": ((1, 4096), (4096, 4096), None),
}


def kernel_model(x_shape, w_shape, attributes, int8):
    """One Conv or MatMul; in int8 between Q and DQ nodes, as quantization tools write it."""
    rng = np.random.default_rng(0)
    weight = rng.standard_normal(w_shape).astype(np.float32) / math.sqrt(np.prod(w_shape[1:]))
    op, inputs = ("MatMul", ["a", "w"]) if attributes is None else ("Conv", ["a", "w"])
    nodes, constants = [], {}
    if int8:
        scale = np.float32(np.abs(weight).max() / 127)
        constants = {"s": np.float32(0.03), "z": np.uint8(128), "ws": scale, "wz": np.int8(0),
                     "wq": np.clip(np.round(weight / scale), -127, 127).astype(np.int8)}
        nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
                 helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["a"]),
                 helper.make_node("DequantizeLinear", ["wq", "ws", "wz"], ["w"])]
    else:
        constants = {"w": weight}
        inputs[0] = "x"
    nodes.append(helper.make_node(op, inputs, ["b" if int8 else "y"], **(attributes or {})))
    if int8:
        nodes += [helper.make_node("QuantizeLinear", ["b", "s", "z"], ["yq"]),
                  helper.make_node("DequantizeLinear", ["yq", "s", "z"], ["y"])]
    graph = helper.make_graph(nodes, "kernel", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def cases(only):
    """(name, kind, path, feeds)"""
    folder = MODELS / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (x_shape, w_shape, attributes) in KERNELS.items():
        if not fits(only, name):
            continue
        for kind in ("float32", "int8"):
            path = folder / f"{name.replace(' ', '_').replace('/', '_')}.{kind}.onnx"
            onnx.save(kernel_model(x_shape, w_shape, attributes, kind == "int8"), path)
            x = np.random.default_rng(1).standard_normal(x_shape).astype(np.float32)
            yield name, kind, path, {"x": x}
    for stem, shape in IMAGES.items():
        if not fits(only, stem):
            continue
        for kind, path in (("float32", MODELS / f"{stem}.onnx"), ("int8", quantized(stem, "channel"))):
            name = onnx.load(path).graph.input[0].name
            yield stem, kind, path, {name: image(shape, 5)}
    for stem in ("silero_vad_v5", "silero_vad_v6"):
        if not fits(only, stem):
            continue
        feeds = {"input": image((1, 1, 1, 512), 5).reshape(1, 512), "sr": np.array(16000, np.int64)}
        path = MODELS / f"{stem}.onnx"
        for port in onnx.load(path).graph.input:
            if port.name not in feeds:
                feeds[port.name] = np.zeros([d.dim_value or 1 for d in port.type.tensor_type.shape.dim], np.float32)
        yield stem, "float32", path, feeds


    encoder = MODELS / "large" / "all-MiniLM-L6-v2.onnx"
    if encoder.exists() and fits(only, "all-MiniLM-L6-v2"):
        tokens = np.random.default_rng(5).integers(1000, 20000, (1, 128))
        yield "all-MiniLM-L6-v2, 128 tokens", "float32", encoder, {
            "input_ids": tokens, "token_type_ids": np.zeros_like(tokens), "attention_mask": np.ones_like(tokens)}


def fits(only, name):
    return not only or only in name


def measure(path, feeds, threads, seconds):
    """Best times of anybit and of ONNX Runtime, in turns."""
    ours = Executor(path, threads=threads).timer(feeds)
    session = peer(path, threads=threads)

    def theirs():
        begin = time.perf_counter()
        session.run(None, feeds)
        return time.perf_counter() - begin

    best = [math.inf, math.inf]
    end = time.perf_counter() + seconds
    rounds = 0
    while time.perf_counter() < end or rounds < 5:
        rounds += 1
        for _ in range(3):
            best[0] = min(best[0], ours())
        for _ in range(3):
            best[1] = min(best[1], theirs())
    return best


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    options = parser.parse_args()
    lines = ["| | type | threads | anybit ms | ONNX Runtime ms | ratio |", "|---|---|--:|--:|--:|--:|"]
    ratios, ours_by = {}, {}
    for name, kind, path, feeds in cases(options.only):
        for threads in options.threads:
            ours, theirs = measure(path, feeds, threads, options.seconds)
            ratios.setdefault((kind, threads), []).append(theirs / ours)
            ours_by[name, kind, threads] = ours
            lines.append(f"| {name} | {kind} | {threads} | {ours * 1e3:.3f} | {theirs * 1e3:.3f} | {theirs / ours:.2f} |")
            print(lines[-1], flush=True)
    summary = [f"Geometric mean, {kind}, {threads} thread{'s' * (threads > 1)}: {geometric_mean(values):.2f} ×"
               for (kind, threads), values in sorted(ratios.items())]
    gains = [ours_by[name, "float32", threads] / time_ for (name, kind, threads), time_ in ours_by.items()
             if kind == "int8" and (name in IMAGES or "conv" in name or "stem" in name) and threads == 1]
    summary.append(f"anybit's int8 compared with its float32 on convolutions, 1 thread: {geometric_mean(gains):.2f} ×")
    print("\n".join(summary))
    if options.write:
        document.put(options.write, "runtime", [*lines, "", "\n\n".join(summary)])


if __name__ == "__main__":
    main()
