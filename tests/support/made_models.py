"""Models that use every feature of ONNX: each function returns one valid model; MADE lists them all."""

import numpy as np
import onnx
from onnx import TensorProto, helper

NEWEST_IR = 13
NEWEST_OPSET = 24
TYPES = [number for name, number in TensorProto.DataType.items() if name != "UNDEFINED"]

BITS = {TensorProto.FLOAT: 32, TensorProto.UINT8: 8, TensorProto.INT8: 8, TensorProto.UINT16: 16,
        TensorProto.INT16: 16, TensorProto.INT32: 32, TensorProto.INT64: 64, TensorProto.BOOL: 8,
        TensorProto.FLOAT16: 16, TensorProto.DOUBLE: 64, TensorProto.UINT32: 32, TensorProto.UINT64: 64,
        TensorProto.COMPLEX64: 64, TensorProto.COMPLEX128: 128, TensorProto.BFLOAT16: 16,
        TensorProto.FLOAT8E4M3FN: 8, TensorProto.FLOAT8E4M3FNUZ: 8, TensorProto.FLOAT8E5M2: 8,
        TensorProto.FLOAT8E5M2FNUZ: 8, TensorProto.FLOAT8E8M0: 8, TensorProto.UINT4: 4, TensorProto.INT4: 4,
        TensorProto.FLOAT4E2M1: 4, TensorProto.UINT2: 2, TensorProto.INT2: 2}


def float_info(name, shape=(2, 3)):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def identity(**more):
    return helper.make_node("Identity", ["x"], ["y"], **more)


def model(nodes=None, *, ir=NEWEST_IR, opset=NEWEST_OPSET, functions=(), domains=(), **graph_parts):
    graph = helper.make_graph(nodes or [identity()], "g", [float_info("x")], [float_info("y")], **graph_parts)
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(name, 1) for name in domains]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=ir)


def raw_tensor(name, element, count, seed=0):
    tensor = TensorProto(name=name, data_type=element, dims=[count])
    if element == TensorProto.STRING:
        tensor.string_data.extend(f"text {i}".encode() for i in range(count))
    else:
        values = np.random.default_rng(seed).integers(0, 256, (count * BITS[element] + 7) // 8, np.uint8)
        if element == TensorProto.BOOL:
            values &= 1
        if count * BITS[element] % 8:
            values[-1] &= (1 << count * BITS[element] % 8) - 1
        tensor.raw_data = values.tobytes()
    return tensor


def typed_tensor(name, element, count, seed=0):
    """The same values as raw_tensor, in the field that ONNX names for the type."""
    tensor = raw_tensor(name, element, count, seed)
    if element == TensorProto.STRING:
        return tensor
    raw = tensor.raw_data
    tensor.ClearField("raw_data")
    signed = {TensorProto.INT8: np.int8, TensorProto.INT16: np.int16, TensorProto.INT32: np.int32}
    if element in (TensorProto.FLOAT, TensorProto.COMPLEX64):
        tensor.float_data.extend(np.frombuffer(raw, np.uint8).astype(np.float32).repeat(4)[: len(raw) // 4])
    elif element in (TensorProto.DOUBLE, TensorProto.COMPLEX128):
        tensor.double_data.extend(np.frombuffer(raw, np.uint8).astype(np.float64)[: len(raw) // 8])
    elif element == TensorProto.INT64:
        tensor.int64_data.extend(np.frombuffer(raw, np.int64).tolist())
    elif element in (TensorProto.UINT32, TensorProto.UINT64):
        tensor.uint64_data.extend(np.frombuffer(raw, {32: np.uint32, 64: np.uint64}[BITS[element]]).tolist())
    elif element in signed:
        tensor.int32_data.extend(np.frombuffer(raw, signed[element]).tolist())
    else:
        tensor.int32_data.extend(np.frombuffer(raw, np.uint16 if BITS[element] == 16 else np.uint8).tolist())
    return tensor


def every_type(make):
    return model(initializer=[make(f"w{element}", element, 5, element) for element in TYPES])


def every_type_in_attributes():
    constants = [helper.make_node("Constant", [], [f"c{element}"], value=make(f"{kind}{element}", element, 3))
                 for kind, make, element in [("raw", raw_tensor, element) for element in TYPES]]
    return model([*constants, identity()])


def sparse_tensors():
    values = helper.make_tensor("sparse", TensorProto.FLOAT, [2], [1.0, 2.0])
    indices = helper.make_tensor("sparse_indices", TensorProto.INT64, [2], [1, 4])
    sparse = helper.make_sparse_tensor(values, indices, [6])
    held = onnx.SparseTensorProto.FromString(sparse.SerializeToString())
    held.values.name = "in an attribute"
    constant = helper.make_node("Constant", [], ["c"], sparse_value=held)
    return model([constant, identity()], sparse_initializer=[sparse])


def types_of_values():
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, ["batch", None, 3], ["DATA_BATCH", "", "DATA_CHANNEL"])
    no_shape = helper.make_tensor_type_proto(TensorProto.INT8, None)
    sparse = helper.make_sparse_tensor_type_proto(TensorProto.DOUBLE, [4, "n"])
    sequence = helper.make_sequence_type_proto(helper.make_optional_type_proto(tensor))
    mapping = helper.make_map_type_proto(TensorProto.STRING, helper.make_sequence_type_proto(no_shape))
    opaque = onnx.TypeProto()
    opaque.opaque_type.domain, opaque.opaque_type.name = "com.example", "thing"
    denoted = onnx.TypeProto.FromString(tensor.SerializeToString())
    denoted.denotation = "IMAGE"
    types = [tensor, no_shape, sparse, sequence, mapping, opaque, denoted]
    infos = [helper.make_value_info(f"t{i}", each, f"doc {i}") for i, each in enumerate(types)]
    made = model()
    made.graph.input.extend(infos)
    return made


def every_attribute():
    branch = helper.make_graph([helper.make_node("Identity", ["x"], ["z"])], "branch", [], [float_info("z")])
    tensor = helper.make_tensor("t", TensorProto.FLOAT, [1], [1.0])
    node = helper.make_node("Everything", ["x"], ["y"], domain="com.example")
    node.attribute.extend([
        helper.make_attribute("f", 0.0), helper.make_attribute("i", -1), helper.make_attribute("s", b"\0\xff"),
        helper.make_attribute("t", tensor), helper.make_attribute("g", branch),
        helper.make_attribute("floats", [1.0, -0.0, float("inf")]),
        helper.make_attribute("ints", [0, -(2**63), 2**63 - 1]), helper.make_attribute("strings", [b"", b"a"]),
        helper.make_attribute("tensors", [tensor, tensor]), helper.make_attribute("graphs", [branch]),
        helper.make_attribute("tp", helper.make_tensor_type_proto(TensorProto.FLOAT, [1])),
        helper.make_attribute("tps", [helper.make_tensor_type_proto(TensorProto.FLOAT, [])] * 2),
        helper.make_attribute("empty", [], attr_type=onnx.AttributeProto.INTS),
    ])
    for i, attribute in enumerate(node.attribute):
        attribute.doc_string = f"attribute {i}"
    return model([node], domains=["com.example"])


def functions():
    reference = onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    relu = helper.make_node("LeakyRelu", ["a"], ["b"], doc_string="in a function")
    relu.attribute.append(reference)
    made = []
    for overload in ("", "second"):
        function = helper.make_function(
            "com.example", "Leaky", ["a"], ["b"], [relu], [helper.make_opsetid("", NEWEST_OPSET)],
            attributes=["beta"], attribute_protos=[helper.make_attribute("alpha", 0.25)], overload=overload,
            value_info=[float_info("a")], doc_string="leaks")
        entry = function.metadata_props.add()
        entry.key, entry.value = "where", f"function {overload}"
        made.append(function)
    call = helper.make_node("Leaky", ["x"], ["y"], domain="com.example", overload="second", alpha=0.5, beta=1)
    return model([call], functions=made, domains=["com.example"])


def training():
    made = model(initializer=[helper.make_tensor("w", TensorProto.FLOAT, [1], [0.0])])
    info = made.training_info.add()
    zero = helper.make_node("Constant", [], ["zero"], value=helper.make_tensor("z", TensorProto.FLOAT, [1], [0.0]))
    info.initialization.CopyFrom(helper.make_graph([zero], "init", [], [float_info("zero", [1])]))
    one = helper.make_node("Constant", [], ["one"], value=helper.make_tensor("o", TensorProto.FLOAT, [1], [1.0]))
    info.algorithm.CopyFrom(helper.make_graph([one], "algorithm", [], [float_info("one", [1])]))
    for bindings, value in ((info.initialization_binding, "zero"), (info.update_binding, "one")):
        entry = bindings.add()
        entry.key, entry.value = "w", value
    return made


def metadata_everywhere():
    made = model([identity(name="n", doc_string="node")],
                 initializer=[helper.make_tensor("w", TensorProto.FLOAT, [1], [0.0])],
                 value_info=[float_info("v")], doc_string="graph")
    holders = [made, made.graph, made.graph.node[0], made.graph.initializer[0], made.graph.input[0],
               made.graph.output[0], made.graph.value_info[0]]
    for i, holder in enumerate(holders):
        for key in ("first", "second", ""):
            entry = holder.metadata_props.add()
            entry.key, entry.value = f"{key}{i}", f"value {i}"
    annotation = made.graph.quantization_annotation.add(tensor_name="x")
    entry = annotation.quant_parameter_tensor_names.add()
    entry.key, entry.value = "SCALE_TENSOR", "w"
    made.producer_name, made.producer_version, made.domain = "tests", "", "com.example"
    made.model_version, made.doc_string = -1, "model \N{SNOWMAN}"
    made.graph.initializer[0].doc_string = ""
    return made


def device_configurations():
    made = model([identity(name="n")])
    made.configuration.add(name="two", num_devices=2, device=["gpu0", "gpu1"])
    sharded = made.graph.node[0].device_configurations.add(configuration_id="two", pipeline_stage=1)
    spec = sharded.sharding_spec.add(tensor_name="x", device=[0, 1])
    spec.sharded_dim.add(axis=0).simple_sharding.add(dim_value=2, num_shards=2)
    spec.index_to_device_group_map.add(key=-1, value=[0, 1])
    return made


def nested(depth=10):
    def branch(level):
        if level == depth:
            nodes = [helper.make_node("Identity", ["x"], [f"b{level}"])]
        else:
            nodes = [helper.make_node("If", ["condition"], [f"b{level}"], name=f"if{level}",
                                      then_branch=branch(level + 1), else_branch=leaf(level))]
        return helper.make_graph(nodes, f"branch {level}", [], [float_info(f"b{level}")],
                                 initializer=[raw_tensor(f"inner{level}", TensorProto.FLOAT, 2000)])

    def leaf(level):
        return helper.make_graph([helper.make_node("Identity", ["x"], [f"leaf{level}"])], "leaf", [],
                                 [float_info(f"leaf{level}")])

    condition = helper.make_tensor("condition", TensorProto.BOOL, [], [True])
    top = helper.make_node("If", ["condition"], ["y"], then_branch=branch(1), else_branch=leaf(0))
    return model([top], initializer=[condition])


def of_ir(version):
    """A model of that IR version: initializers are also inputs."""
    made = model([helper.make_node("Add", ["x", "w"], ["y"])], ir=version, opset=7 if version < 8 else 13,
                 initializer=[helper.make_tensor("w", TensorProto.FLOAT, [2, 3], np.arange(6.0))])
    made.graph.input.append(float_info("w"))
    return made


def old_attributes():
    made = of_ir(3)
    made.graph.node.insert(0, helper.make_node("Unsqueeze", ["x"], ["u"], axes=[0]))
    made.graph.node[0].attribute[0].ClearField("type")
    return made


def with_unknown_fields(message, path="m"):
    """Adds a field that no version of ONNX defines to the message and to all nested messages."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            parts = value if field.is_repeated else [value]
            for i, part in enumerate(parts):
                with_unknown_fields(part, f"{path}.{field.name}{i}")
    text = path.encode()[-100:]
    message.MergeFromString(b"\xaa\xfa\x01" + bytes([len(text)]) + text)  # field 4005, length-delimited
    return message


SHAPES = {
    "every type, raw": lambda: every_type(raw_tensor),
    "every type, typed": lambda: every_type(typed_tensor),
    "every type, in attributes": every_type_in_attributes,
    "sparse tensors": sparse_tensors,
    "types of values": types_of_values,
    "every attribute": every_attribute,
    "functions": functions,
    "training": training,
    "metadata everywhere": metadata_everywhere,
    "device configurations": device_configurations,
    "ten graphs deep": nested,
    "attributes without types": old_attributes,
}
MADE = {
    **SHAPES,
    **{f"unknown fields: {name}": lambda make=make: with_unknown_fields(make()) for name, make in SHAPES.items()},
    **{f"IR {version}": lambda version=version: of_ir(version) for version in range(3, NEWEST_IR + 1)},
}
