"""Compares anybit and ONNX Runtime node by node, on the same quantized inputs."""
import numpy as np
import onnx
from onnx import helper
from support.executing import Executor
from support.peer_models import peer


def decibels(got, wanted):
    noise = np.sum((got.astype(np.float64) - wanted) ** 2)
    return np.inf if noise == 0 else 10 * np.log10(np.sum(wanted.astype(np.float64) ** 2) / noise)


def quantizers_with_values(path, x):
    """The model, and the outputs of all QuantizeLinear nodes in ONNX Runtime, without its optimized kernels, which saturate
    on CPUs without VNNI."""
    model = onnx.load(path)
    names = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    probed = onnx.ModelProto()
    probed.CopyFrom(model)
    probed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    session = peer(probed.SerializeToString(), optimized=False)
    return model, dict(zip(names, session.run(names, {session.get_inputs()[0].name: x})))


def piece_before(model, quantizer, values, makers):
    """The nodes between a QuantizeLinear and the previous ones, as a separate model."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes, inputs, tensors, open_, seen = [], [], [], [quantizer], set()
    while open_:
        node = open_.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        nodes.append(node)
        for name in node.input:
            if name in constants:
                tensors.append(name)
            elif name in values:
                inputs.append(name)
            elif name in makers:
                open_.append(makers[name])
            elif name:
                return None  # it reads the model's input
    order = {id(node): i for i, node in enumerate(model.graph.node)}
    ports = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(values[name].dtype), values[name].shape)
             for name in dict.fromkeys(inputs)]
    graph = helper.make_graph(sorted(nodes, key=lambda node: order[id(node)]), "piece", ports,
                              [onnx.ValueInfoProto(name=quantizer.output[0])],
                              [constants[name] for name in dict.fromkeys(tensors)])
    graph.output[0].type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(values[quantizer.output[0]].dtype)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def differences(path, x):
    """For every QuantizeLinear of a file: its name, the difference between both runtimes in quantization steps, and the execution steps of anybit."""
    model, values = quantizers_with_values(path, x)
    makers = {name: node for node in model.graph.node for name in node.output}
    for name in values:
        piece = piece_before(model, makers[name], values, makers)
        if piece is None:
            continue
        executor = Executor(piece)
        got, = executor.run({port.name: values[port.name] for port in piece.graph.input})
        yield name, np.abs(got.astype(int) - values[name].astype(int)), executor.steps()
