"""Writes a trained network as ONNX (opset 17) and measures it with onnxruntime."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

DOCS = {
    "Conv": "3x3 or 1x1 convolution without bias; the normalization after it has one.",
    "BatchNormalization": "Kept apart from the convolution, with the statistics of the training.",
    "Add": "The residual connection: the input of the block is added to its output.",
    "Gemm": "One score for each of the ten digits.",
}


class GraphBuilder:
    def __init__(self):
        self.nodes, self.tensors = [], []

    def tensor(self, name, values):
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(values, np.float32), name))
        return name

    def node(self, op, name, inputs, **attributes):
        output = f"{name}.out"
        self.nodes.append(helper.make_node(op, inputs, [output], name, DOCS.get(op), **attributes))
        return output


def export(net, facts):
    """The model of `net`; `facts` become its metadata."""
    builder = GraphBuilder()
    net.export(builder, "image")
    builder.nodes[-1].output[0] = "logits"
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28],
                                          f"Grey images, white on black: {facts['normalization']}")
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10], "Scores before softmax")
    graph = helper.make_graph(builder.nodes, net.name, [image], [logits], builder.tensors,
                              doc_string="Handwritten digits: stem, depthwise-separable block, residual block, head.")
    model = helper.make_model(graph, producer_name="anybit examples/digits", ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)],
                              doc_string="A small convolutional network that reads handwritten digits.")
    helper.set_model_props(model, facts)
    onnx.checker.check_model(model, full_check=True)
    return onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def normalization(mean, deviation):
    """A preprocessing model of three nodes: uint8 pixels to the network's input."""
    pixels = helper.make_tensor_value_info("pixels", TensorProto.UINT8, ["batch", 1, 28, 28])
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])
    constants = [numpy_helper.from_array(np.float32(value), name)
                 for name, value in (("shift", 255 * mean), ("scale", 255 * deviation))]
    nodes = [helper.make_node("Cast", ["pixels"], ["numbers"], to=TensorProto.FLOAT),
             helper.make_node("Sub", ["numbers", "shift"], ["centred"]),
             helper.make_node("Div", ["centred", "scale"], ["image"])]
    graph = helper.make_graph(nodes, "normalize", [pixels], [image], constants)
    return helper.make_model(graph, producer_name="anybit examples/digits", ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17)])


def accuracy(model, images, labels, batch=500):
    """Top-1 accuracy on normalized images [n, 1, 28, 28]."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    right = 0
    for at in range(0, len(images), batch):
        logits, = session.run(["logits"], {"image": images[at:at + batch]})
        right += int((logits.argmax(1) == labels[at:at + batch]).sum())
    return right / len(images)
