"""Timers of the runtimes that bench_runtime.py compares: each is a function that runs a model once and returns seconds.

OpenVINO is in build/openvino (`scripts/setup openvino`, PYTHONPATH=build/openvino), so that tests do without it. ONNX Runtime and OpenVINO get their inputs and
keep their outputs bound, as programs that care for time do.
"""
import time

from support.executing import Executor
from support.peer_models import peer


def anybit(path, feeds, threads):
    return Executor(path, threads=threads).timer(feeds)


def onnx_runtime(path, feeds, threads):
    session = peer(path, threads=threads)
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for output in session.get_outputs():
        binding.bind_output(output.name)

    def bound():
        begin = time.perf_counter()
        session.run_with_iobinding(binding)
        return time.perf_counter() - begin

    def plain():
        begin = time.perf_counter()
        session.run(None, feeds)
        return time.perf_counter() - begin

    try:
        bound(), bound()
        return bound
    except RuntimeError:  # outputs of another shape than the model declares can be computed, but not bound again
        return plain


def openvino(path, feeds, threads):
    import openvino as package

    # One stream that uses all threads, float32 as the other runtimes compute it.
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": "1", "INFERENCE_PRECISION_HINT": "f32",
                "PERFORMANCE_HINT": "LATENCY"}
    core = package.Core()
    model = core.read_model(str(path))
    model.reshape({name: list(value.shape) for name, value in feeds.items()})
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    request.set_tensors({name: package.Tensor(value, shared_memory=True) for name, value in feeds.items()})

    def once():
        begin = time.perf_counter()
        request.infer()
        return time.perf_counter() - begin

    return once


PEERS = {"ONNX Runtime": onnx_runtime, "OpenVINO": openvino}
