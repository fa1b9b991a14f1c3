"""TFLite files of one operator that changes types, has subgraphs, or keeps state."""
import numpy as np
from support.tflite_case import bytes_, case, floats, one
from support.tflite_files import File, schema


@case("QUANTIZE")
def quantize(rng, code):
    return one([floats(rng, 3, 4)], ((3, 4), "int8"), code, quantized=[None, (0.02, 5)])


@case("QUANTIZE requantize")
def requantize(rng, code):
    return one([bytes_(rng, 3, 4)], ((3, 4), "uint8"), code, quantized=[(0.02, 5), (0.03, 100)], steps=1)


@case("DEQUANTIZE")
def dequantize(rng, code):
    return one([bytes_(rng, 3, 4)], ((3, 4), "float32"), code, quantized=[(0.02, 5), None])


@case("CAST")
def cast(rng, code):
    return one([floats(rng, 3, 4) * 5], ((3, 4), "int32"), code, "Cast", inDataType=schema.TensorType.FLOAT32,
               outDataType=schema.TensorType.INT32)


@case("FAKE_QUANT")
def fake_quant(rng, code):
    return one([floats(rng, 30, 40)], ((30, 40), "float32"), code, "FakeQuant", min=-1.3, max=2.1, numBits=8)


def through_constant(rng, code, constant, make):
    """x + the result of an operator on a constant."""
    file = File()
    graph = file.graph
    x, w, y = graph.tensor((3, 4)), graph.tensor((3, 4)), graph.tensor((3, 4))
    graph.op(code, [make(graph)], [w], constant)
    graph.op("ADD", [x, w], [y], "Add")
    graph.ports([x], [y])
    return file.bytes(), [floats(rng, 3, 4)], 0


@case("DEQUANTIZE float16")
def dequantize_half(rng, code):
    return through_constant(rng, code, None, lambda graph: graph.tensor(data=floats(rng, 3, 4).astype(np.float16)))


@case("DEQUANTIZE constant")
def dequantize_constant(rng, code):
    return through_constant(rng, code, None, lambda graph: graph.tensor(data=bytes_(rng, 3, 4), scale=0.1, zero=3))


def sparse_tensor(graph):
    """[[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0]] in compressed rows."""
    number = graph.tensor((3, 4), "float32")
    tensor = graph.made.tensors[number]
    tensor.buffer = graph.file.buffer(np.float32([1, 2, 3]))
    tensor.sparsity = schema.SparsityParametersT()
    tensor.sparsity.traversalOrder = [0, 1]
    rows, columns = schema.DimensionMetadataT(), schema.DimensionMetadataT()
    rows.format, rows.denseSize = schema.DimensionType.DENSE, 3
    columns.format = schema.DimensionType.SPARSE_CSR
    for name, values in ("arraySegments", [0, 2, 2, 3]), ("arrayIndices", [1, 3, 0]):
        vector = schema.Int32VectorT()
        vector.values = values
        setattr(columns, name, vector)
        setattr(columns, name + "Type", schema.SparseIndexVector.Int32Vector)
    tensor.sparsity.dimMetadata = [rows, columns]
    return number


@case("DENSIFY")
def densify(rng, code):
    return through_constant(rng, code, None, sparse_tensor)


# Subgraphs

@case("IF")
def if_(rng, code, taken=True):
    file = File()
    graph = file.graph
    for op in ("ADD", "MUL"):
        inner = file.subgraph()
        a, b, c = (inner.tensor((2, 3)) for _ in range(3))
        inner.op(op, [a, b], [c], op.title())
        inner.ports([a, b], [c])
    condition, x, y, z = graph.tensor((), "bool"), graph.tensor((2, 3)), graph.tensor((2, 3)), graph.tensor((2, 3))
    graph.op(code, [condition, x, y], [z], "If", thenSubgraphIndex=1, elseSubgraphIndex=2)
    graph.ports([condition, x, y], [z])
    return file.bytes(), [np.array(taken), floats(rng, 2, 3), floats(rng, 2, 3)], 0


case("IF else", taken=False)(if_)


@case("WHILE")
def while_(rng, code):
    """Doubles x until the counter reaches 4."""
    file = File()
    graph, check, step = file.graph, file.subgraph(), file.subgraph()
    i, x, go = check.tensor((), "int32"), check.tensor((2, 3)), check.tensor((), "bool")
    check.op("LESS", [i, check.tensor(data=np.int32(4).reshape(()))], [go])
    check.ports([i, x], [go])
    i, x, j, y = step.tensor((), "int32"), step.tensor((2, 3)), step.tensor((), "int32"), step.tensor((2, 3))
    step.op("ADD", [i, step.tensor(data=np.int32(1).reshape(()))], [j], "Add")
    step.op("ADD", [x, x], [y], "Add")
    step.ports([i, x], [j, y])
    i, x, j, y = graph.tensor((), "int32"), graph.tensor((2, 3)), graph.tensor((), "int32"), graph.tensor((2, 3))
    graph.op(code, [i, x], [j, y], "While", condSubgraphIndex=1, bodySubgraphIndex=2)
    graph.ports([i, x], [j, y])
    return file.bytes(), [np.int32(0).reshape(()), floats(rng, 2, 3)], 0


# State between runs

@case("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
def variables(rng, code):
    """y = total += x, with 10 as the first total. The second output is the next total, which LiteRT keeps to itself."""
    file = File()
    graph, first = file.graph, file.subgraph()
    handle = first.tensor((), "int32", name="total")
    first.op("VAR_HANDLE", [], [handle], "VarHandle", sharedName="total")
    first.op("ASSIGN_VARIABLE", [handle, first.tensor(data=np.float32([[10, 10]]))], [])
    handle, x, old, new = graph.tensor((), "int32", name="total"), graph.tensor((1, 2), name="x"), graph.tensor((1, 2)), graph.tensor((1, 2), name="y")
    for one in first.made.tensors[0], graph.made.tensors[handle]:
        one.type = schema.TensorType.RESOURCE
    graph.op("CALL_ONCE", [], [], "CallOnce", initSubgraphIndex=1)
    graph.op("VAR_HANDLE", [], [handle], "VarHandle", sharedName="total")
    graph.op("READ_VARIABLE", [handle], [old])
    graph.op("ADD", [old, x], [new], "Add")
    graph.op("ASSIGN_VARIABLE", [handle, new], [])
    graph.ports([x], [new])
    return file.bytes(), [floats(rng, 1, 2)], 0


@case("SVDF")
def svdf(rng, code, rank=2):
    """The state is a tensor that the operator changes."""
    file = File()
    graph = file.graph
    state = graph.tensor((2, 5 * 6), name="state", variable=True)
    x, y = graph.tensor((2, 4)), graph.tensor((2, 6 // rank))
    graph.op(code, [x, graph.tensor(data=floats(rng, 6, 4)), graph.tensor(data=floats(rng, 6, 5)), graph.tensor(data=floats(rng, 6 // rank)), state],
             [y], "SVDF", rank=rank, fusedActivationFunction=schema.ActivationFunctionType.RELU)
    graph.ports([x], [y])
    return file.bytes(), [floats(rng, 2, 4)], 0


@case("UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(rng, code, time_major=False):
    file = File()
    graph = file.graph
    shape = (5, 2) if time_major else (2, 5)
    x, y = graph.tensor((*shape, 3)), graph.tensor((*shape, 4))
    weights = [graph.tensor(data=floats(rng, 4, 3)) for _ in range(4)] + [graph.tensor(data=floats(rng, 4, 4)) for _ in range(4)]
    biases = [graph.tensor(data=floats(rng, 4)) for _ in range(4)]
    states = [graph.tensor((2, 4), name=name, variable=True) for name in ("output", "cell")]
    graph.op(code, [x, *weights, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1], [y], "UnidirectionalSequenceLSTM",
             timeMajor=time_major, fusedActivationFunction=schema.ActivationFunctionType.TANH)
    graph.ports([x], [y])
    return file.bytes(), [floats(rng, *shape, 3)], 0


case("UNIDIRECTIONAL_SEQUENCE_LSTM time major", time_major=True)(lstm)
