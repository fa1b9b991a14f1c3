"""Models in ONNX Runtime with libanybit_ort.so. They have an IR version and opsets that ONNX Runtime 1.17 knows."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import anybit

ANYBIT, QUARK, OLD_QUARK = "ai.anybit", "com.amd.quark", "com.vai.quantize"
IR, OPSET = 8, 18


class WithLibrary:
    """A session whose options have the library. `model`: bytes, a path or an onnx.ModelProto."""

    def __init__(self, model, threads=1, library=None):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        options.register_custom_ops_library(library or anybit.get_library_path())
        model = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, **inputs):
        return self.session.run(None, inputs)


def one_node(op, domain, inputs=("x",), constants=None, kind=TensorProto.FLOAT, **attributes):
    """y = op(…) for inputs of any shape; those among `constants` are initializers."""
    constants = constants or {}
    node = helper.make_node(op, list(inputs), ["y"], name="it", domain=domain, **attributes)
    ports = [helper.make_tensor_value_info(name, kind, None) for name in inputs if name and name not in constants]
    kept = [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph([node], "one", ports, [helper.make_tensor_value_info("y", kind, None)], kept)
    return helper.make_model(graph, ir_version=IR, opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(domain, 1)])


def as_operators(portable):
    """A portable model with anybit's operators in place of its functions."""
    model = onnx.load_from_string(portable)
    uses = {function.name: function.doc_string for function in model.functions}
    for node in model.graph.node:
        if node.op_type in uses:
            node.attribute.append(helper.make_attribute("format", uses[node.op_type]))
            node.op_type = node.op_type.split("_")[0]
    del model.functions[:]
    return model


def bits(array):
    """For comparisons bit for bit; all NaNs are equal."""
    array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.view({2: np.uint16, 4: np.uint32}[array.dtype.itemsize])


def assert_same_bits(given, wanted, what=""):
    assert given.dtype == wanted.dtype
    np.testing.assert_array_equal(bits(given), bits(wanted), err_msg=what)
