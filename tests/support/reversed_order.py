"""A quantized model whose convolutions accumulate in another order: exact sums do not change."""
import numpy as np
import onnx
from onnx import helper, numpy_helper


def turned_round(path):
    """A mathematically equivalent model that sums over channels in reverse order."""
    model = onnx.load(path)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    nodes = []
    for node in model.graph.node:
        quantized, weights = (makers.get(name) for name in node.input[:2]) if node.op_type == "Conv" else (None, None)
        groups = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
        if groups == 1 and weights is not None and quantized is not None and quantized.op_type == "DequantizeLinear":
            tensor = constants[weights.input[0]]
            values = numpy_helper.to_array(tensor)[:, ::-1]
            tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), tensor.name))
            stem = f"turned_{len(nodes)}"
            order = np.arange(values.shape[1], dtype=np.int64)[::-1]
            model.graph.initializer.append(numpy_helper.from_array(order.copy(), stem + "_order"))
            nodes.append(helper.make_node("Gather", [quantized.input[0], stem + "_order"], [stem + "_quantized"], axis=1))
            nodes.append(helper.make_node("DequantizeLinear", [stem + "_quantized", *quantized.input[1:]], [stem]))
            node.input[0] = stem
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model.SerializeToString()
