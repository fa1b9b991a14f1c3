"""Networks of neurons as truth tables (ai.anybit LookUpNeurons): random layers, models, and what they compute.

    layer = Layer.random(random, inputs=20, tables=30, fan_in=6)
    model = model_of([layer], inputs=20)
    expected = layer(x)
"""
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from support.portable_functions import neuron_function

ANYBIT = "ai.anybit"
IR = 8


@dataclass
class Layer:
    connections: np.ndarray  # int32 [tables, repeats, fan-in]; -1: the constant 0
    entries: np.ndarray  # [tables, 2^address bits]: results, not negative
    input_bits: int = 1
    output_bits: int = 1
    signed: bool = False

    @staticmethod
    def random(random, inputs, tables, fan_in, input_bits=1, output_bits=1, signed=False, repeats=1, open_ends=False):
        connections = random.integers(-1 if open_ends else 0, inputs, (tables, repeats, fan_in)).astype(np.int32)
        entries = random.integers(0, 1 << output_bits, (tables, 1 << (fan_in * input_bits)))
        return Layer(connections, entries, input_bits, output_bits, signed)

    @property
    def neurons(self):
        return self.connections.shape[0] * self.connections.shape[1]

    @property
    def tables(self):
        """The packed entries: the first in the lowest bits."""
        width = next(w for w in (1, 2, 4, 8) if w >= self.output_bits)
        bits = self.entries[:, :, None] >> np.arange(width) & 1
        return np.packbits(bits.reshape(len(self.entries), -1).astype(np.uint8), axis=1, bitorder="little")

    def __call__(self, x):
        """The definition, in numpy."""
        padded = np.concatenate([x.astype(np.int64) % (1 << self.input_bits), np.zeros((*x.shape[:-1], 1), np.int64)], axis=-1)
        taken = padded[..., self.connections]
        address = (taken << self.input_bits * np.arange(taken.shape[-1])).sum(-1)
        results = self.entries[np.arange(len(self.entries))[:, None], address].reshape(*x.shape[:-1], self.neurons)
        if not self.signed:
            return results.astype(np.uint8)
        return (results - (results >= 1 << (self.output_bits - 1)) * (1 << self.output_bits)).astype(np.int8)

    @property
    def attributes(self):
        return dict(input_bits=self.input_bits, output_bits=self.output_bits, signed=int(self.signed))


def neuron_nodes(layers, functions=True, first="x"):
    """Nodes, initializers and functions of a chain of layers; its last value is named after the number of layers."""
    nodes, constants, used = [], [], {}
    for i, layer in enumerate(layers):
        constants += [numpy_helper.from_array(layer.connections, f"c{i}"), numpy_helper.from_array(layer.tables, f"t{i}")]
        names = [first if i == 0 else f"h{i}", f"c{i}", f"t{i}"]
        op, attributes = "LookUpNeurons", layer.attributes
        if functions:
            function = neuron_function(layer.connections.shape[-1], layer.input_bits, layer.output_bits, layer.signed)
            used[function.name] = function
            op, attributes = function.name, {}
        nodes.append(helper.make_node(op, names, [f"h{i + 1}"], name=f"layer{i}", domain=ANYBIT, **attributes))
    return nodes, constants, list(used.values())


def model_of(layers, dims, functions=True, signed=False, opset=18, before=(), after=(), more=(), inputs=None, outputs=None):
    """A chain of layers on x, of these dims. `before`, `after`: nodes around it, from x to h0 and from the last value to y."""
    nodes, constants, used = neuron_nodes(layers, functions, "h0" if before else "x")
    last = layers[-1]
    if not after:
        nodes[-1].output[0] = "y"
    kind = TensorProto.INT8 if signed else TensorProto.UINT8
    inputs = inputs or [helper.make_tensor_value_info("x", kind, dims)]
    outputs = outputs or [helper.make_tensor_value_info("y", TensorProto.INT8 if last.signed else TensorProto.UINT8,
                                                        [*dims[:-1], last.neurons])]
    graph = helper.make_graph([*before, *nodes, *after], "neurons", inputs, outputs, [*constants, *more])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(ANYBIT, 1)],
                              functions=[], ir_version=IR)
    for function in used:
        function.opset_import[0].version = opset
        model.functions.append(function)
    onnx.checker.check_model(model)
    return model
