"""Models of one node, run by anybit and by ONNX Runtime."""
import numpy as np
import onnx
import onnxruntime
from onnx import helper
from support.executing import NUMBERS, Executor

NEWEST_IR = 10


def model_of(op_type, inputs, outputs=1, opset=22, domain="", types=None, constants=(), **attributes):
    """`inputs`: arrays, None for a missing one. `constants`: the indices of inputs that are initializers.
    `outputs`: the number of outputs, or a list of names in which "" is a missing one."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    given = [(name, np.asarray(x)) for name, x in zip(names, inputs) if name]
    outs = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(op_type, names, outs, domain=domain, name="it", **attributes)
    ports = [helper.make_tensor_value_info(name, NUMBERS[x.dtype], x.shape) for name, x in given
             if int(name[1:]) not in constants]
    kept = [onnx.numpy_helper.from_array(x, name) for name, x in given if int(name[1:]) in constants]
    kinds = types or [NUMBERS[np.asarray(inputs[0]).dtype]] * len(outs)
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(outs, kinds) if name]
    graph = helper.make_graph([node], "one", ports, results, kept)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=NEWEST_IR)


def feeds_of(inputs, constants=()):
    return {f"x{i}": np.asarray(x) for i, x in enumerate(inputs) if x is not None and i not in constants}


def ours(model, inputs, constants=(), threads=1):
    executor = Executor(model.SerializeToString(), threads=threads)
    first = executor.run(feeds_of(inputs, constants))
    second = executor.run(feeds_of(inputs, constants))  # with the memory plan of the first run
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one, other)
    return first


def theirs(model, inputs, constants=()):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds_of(inputs, constants))


def compare(op_type, inputs, rtol=1e-5, atol=1e-5, constants=(), **about):
    """Both runtimes agree."""
    model = model_of(op_type, inputs, constants=constants, **about)
    got, wanted = ours(model, inputs, constants), theirs(model, inputs, constants)
    assert len(got) == len(wanted)
    for i, (one, other) in enumerate(zip(got, wanted)):
        assert one.shape == other.shape and one.dtype == other.dtype, f"output {i}: {one.dtype}{one.shape}"
        np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol=rtol, atol=atol,
                                   err_msg=f"{op_type}: output {i}")
    return got
