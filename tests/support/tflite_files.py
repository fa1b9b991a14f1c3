"""TFLite files that tests build, with the classes that flatc makes from the published schema, and what LiteRT makes of them."""
import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

TYPES = {"float32": "FLOAT32", "float16": "FLOAT16", "int32": "INT32", "uint8": "UINT8", "int64": "INT64", "bool": "BOOL",
         "int16": "INT16", "int8": "INT8", "float64": "FLOAT64", "int4": "INT4", "uint32": "UINT32"}
NUMBERS = {name: number for name, number in vars(schema.BuiltinOperator).items() if name.isupper()}


def packed(values):
    """int4: two in a byte, the first in the low bits."""
    flat = np.asarray(values).astype(np.int8).ravel() & 15
    flat = np.append(flat, np.zeros(flat.size % 2, np.int8)).astype(np.uint8)
    return flat[::2] | flat[1::2] << 4


class Graph:
    """One subgraph."""

    def __init__(self, file):
        self.file, self.made = file, schema.SubGraphT()
        self.made.tensors, self.made.operators, self.made.inputs, self.made.outputs = [], [], [], []

    def tensor(self, shape=None, dtype="float32", data=None, *, name=None, scale=None, zero=0, axis=0, signature=None, variable=False):
        """Its number. `data` makes it a constant; `scale`: one number, or a list with one for each index of `axis`."""
        one = schema.TensorT()
        if data is not None:
            data = np.asarray(data)
            shape, dtype = (data.shape if shape is None else shape), (dtype if dtype == "int4" else str(data.dtype))
            one.buffer = self.file.buffer(packed(data) if dtype == "int4" else data)
        one.shape, one.type, one.hasRank = list(shape), getattr(schema.TensorType, TYPES[dtype]), True
        one.name = name or f"t{len(self.made.tensors)}"
        one.isVariable = variable
        if signature is not None:
            one.shapeSignature = list(signature)
        if scale is not None:
            one.quantization = schema.QuantizationParametersT()
            scales = np.atleast_1d(np.asarray(scale, np.float32))
            one.quantization.scale = scales
            one.quantization.zeroPoint = np.broadcast_to(np.asarray(zero, np.int64), scales.shape).copy()
            one.quantization.quantizedDimension = axis
        self.made.tensors.append(one)
        return len(self.made.tensors) - 1

    def op(self, code, inputs, outputs, options=None, version=1, **values):
        """`options`: the name of the options without `Options`; `values`: their fields. Returns the first output."""
        one = schema.OperatorT()
        one.opcodeIndex = self.file.code(code, version)
        one.inputs, one.outputs = list(inputs), list(outputs)
        if options:
            one.builtinOptionsType = getattr(schema.BuiltinOptions, options + "Options")
            one.builtinOptions = getattr(schema, options + "OptionsT")()
            for name, value in values.items():
                assert hasattr(one.builtinOptions, name), name
                setattr(one.builtinOptions, name, value)
        self.made.operators.append(one)

    def ports(self, inputs, outputs):
        self.made.inputs, self.made.outputs = list(inputs), list(outputs)


class File:
    """A file with one subgraph to begin with."""

    def __init__(self):
        self.made = schema.ModelT()
        self.made.version, self.made.description = 3, "made by a test"
        self.made.buffers, self.made.operatorCodes, self.made.subgraphs = [schema.BufferT()], [], []
        self.numbers = {}
        self.graph = self.subgraph()

    def subgraph(self):
        graph = Graph(self)
        self.made.subgraphs.append(graph.made)
        return graph

    def buffer(self, data):
        one = schema.BufferT()
        one.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
        self.made.buffers.append(one)
        return len(self.made.buffers) - 1

    def code(self, name, version):
        if (name, version) not in self.numbers:
            one = schema.OperatorCodeT()
            number = NUMBERS.get(name, NUMBERS["CUSTOM"])
            one.customCode = None if name in NUMBERS else name
            one.builtinCode, one.deprecatedBuiltinCode, one.version = number, min(number, 127), version
            self.made.operatorCodes.append(one)
            self.numbers[name, version] = len(self.made.operatorCodes) - 1
        return self.numbers[name, version]

    def bytes(self, identifier=b"TFL3"):
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.made.Pack(builder), identifier)
        return bytes(builder.Output())


def as_circle(content):
    """The same file as Circle: another identifier, and version 0."""
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    model.version = 0
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"CIR0")
    return bytes(builder.Output())


def litert(content, inputs, reference=True, resize=True):
    """The outputs of a file by LiteRT, by its reference kernels or its own choice, of which there are more."""
    kind = OpResolverType.BUILTIN_REF if reference else OpResolverType.BUILTIN
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=kind)
    ports = interpreter.get_input_details()
    for port, value in zip(ports, inputs, strict=True):
        if resize and tuple(port["shape"]) != np.shape(value):
            interpreter.resize_tensor_input(port["index"], np.shape(value))
    interpreter.allocate_tensors()
    for port, value in zip(ports, inputs, strict=True):
        interpreter.set_tensor(port["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(port["index"]) for port in interpreter.get_output_details()]


def ours(content, inputs, **options):
    """The outputs of a file by anybit. States have their first values, and are not among the outputs."""
    import anybit

    session = anybit.Session(anybit.load(content), **options)
    names = [port.name for port in session.inputs]
    found = session.run(dict(zip(names, inputs)))
    return [value for name, value in found.items() if name.removesuffix("_next") not in names]
