"""Malformed and hostile files: each gives an error that names the position, in bounded time and memory, and never a crash."""

import random
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from support.attack import MEMORY, around, block, nested, number, small_model, tag, varint

ROOT = Path(__file__).resolve().parents[2]
BACKEND_DATA = Path(onnx.__file__).parent / "backend/test/data"
SMALL = sorted(p for p in BACKEND_DATA.glob("*/*/model.onnx") if p.stat().st_size < 4000)
REAL = sorted((ROOT / "build/models").glob("*.onnx"))


def repeats_names(graph):
    """Nodes of a graph share a name: loading numbers them."""
    names = [node.name for node in graph.node if node.name]
    inner = [one.g for node in graph.node for one in node.attribute] + [g for node in graph.node for one in node.attribute for g in one.graphs]
    return len(set(names)) < len(names) or any(repeats_names(one) for one in inner)


def check_kept_or_refused(loader, inputs: list[bytes]):
    """Each input is rejected with its position, or survives the round trip unchanged, by protobuf's own parser."""
    outcome = loader.run(inputs)
    for i, data in enumerate(inputs):
        if i in outcome.errors:
            code, place, message = outcome.errors[i].split(": ", 2)
            assert place and message, outcome.errors[i]
            continue
        try:
            expected = onnx.ModelProto.FromString(data)
        except Exception:  # the parser of the protobuf package is stricter about strings
            continue
        if repeats_names(expected.graph) or any(repeats_names(one) for one in expected.functions):
            continue
        saved = onnx.ModelProto.FromString(loader.output(i).read_bytes())
        for model in (saved, expected):  # an overlong tag is written back in its shortest form
            model.DiscardUnknownFields()
        assert saved.SerializeToString(deterministic=True) == expected.SerializeToString(deterministic=True)
    return outcome


def test_the_small_model_is_valid(loader):
    assert loader.run([small_model().SerializeToString()]).errors == {}


def test_truncated_at_every_byte(loader):
    whole = small_model().SerializeToString()
    prefixes = [whole[:n] for n in range(len(whole))]
    outcome = check_kept_or_refused(loader, prefixes)
    assert len(outcome.errors) == len(prefixes), "the imports come last, so no prefix is a model"


def test_real_models_truncated_at_random_bytes(loader):
    assert REAL, "no real models in build/models"
    seed = random.randrange(2**32)
    print("seed", seed)
    pick = random.Random(seed)
    for path in REAL:
        whole = path.read_bytes()
        check_kept_or_refused(loader, [whole[: pick.randrange(len(whole))] for _ in range(12)])


def flipped(data: bytes, pick: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(pick.choice((1, 1, 1, 2, 8))):
        changed[pick.randrange(len(changed))] ^= 1 << pick.randrange(8)
    return bytes(changed)


def test_bits_flipped_in_small_models(loader):
    seed = random.randrange(2**32)
    print("seed", seed)
    pick = random.Random(seed)
    check_kept_or_refused(loader, [flipped(pick.choice(SMALL).read_bytes(), pick) for _ in range(2000)])


def test_bits_flipped_in_real_models(loader):
    seed = random.randrange(2**32)
    print("seed", seed)
    pick = random.Random(seed)
    for path in REAL:
        whole = path.read_bytes()
        check_kept_or_refused(loader, [flipped(whole, pick) for _ in range(10)])


def test_random_bytes(loader):
    seed = random.randrange(2**32)
    print("seed", seed)
    pick = random.Random(seed)
    outcome = check_kept_or_refused(loader, [pick.randbytes(pick.randrange(1, 4096)) for _ in range(1000)])
    assert len(outcome.errors) == 1000


def test_an_empty_file(loader):
    loader.refuse(b"", "malformed: byte 0: the file is empty")


@pytest.mark.parametrize("data, kind", [
    (b"ir_version: 8\ngraph {\n}\n", "text"),
    (b'{"irVersion": "8"}', "JSON"),
    (b"PK\x03\x04" + bytes(60), "zip"),
    (b"\x1c\0\0\0ORTM" + bytes(60), "ONNX Runtime"),
    (b"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9", "PyTorch"),
], ids=["text", "json", "zip", "ort", "pickle"])
def test_other_files_are_recognised(loader, data, kind):
    loader.refuse(data, "malformed: byte ", "looks like", kind, "anybit does not read")


def test_wrong_lengths(loader):
    name = b"\x0a\x04name"  # metadata_props' key
    for wrong, place in ((5, "metadata_props 0 > key"), (200, "metadata_props 0 > key")):
        entry = name[:1] + varint(wrong) + name[2:]
        loader.refuse(around(b"") + block(14, entry), "malformed: byte ", place)
    for wrong in (7, 2**31 - 1, 2**32 - 1, 2**35 - 1, 2**60):
        loader.refuse(around(b"") + tag(14, 2) + varint(wrong) + name, "malformed: byte ", "metadata_props 0")


def with_dims(dims: list[int]) -> bytes:
    tensor = b"".join(number(1, dim) for dim in dims) + number(2, 1) + block(8, b"w") + block(9, bytes(4))
    return around(block(5, tensor))


@pytest.mark.parametrize("dims", [[2**32, 2**32], [2**33, 2**31, 1], [2**62, 4], [0, 2**62, 2**62], [2**41]], ids=str)
def test_dimensions_whose_product_is_too_large(loader, dims):
    loader.refuse(with_dims(dims), "limit_exceeded: graph > initializer 'w': ", "elements")


def test_negative_dimensions(loader):
    loader.refuse(with_dims([-1, -1]), "invalid_model: graph > initializer 'w': negative dimension")
    shape = block(2, block(1, number(1, -2)))
    value = block(1, b"x") + block(2, block(1, number(1, 1) + shape))
    loader.refuse(around(block(11, value)), "invalid_model: graph > input 'x': dimension 0 is -2")


def test_a_rank_above_the_limit(loader):
    loader.refuse(with_dims([1] * 1_000_000), "limit_exceeded: graph > initializer 'w': rank 1000000")


def test_small_files_that_claim_much_data(loader):
    loader.refuse(tag(7, 2) + varint(2**60), "malformed: byte 0 (graph)")
    tensor = number(1, 2**60)
    loader.refuse(block(7, block(5, tensor)), "model: ")
    loader.refuse(around(block(5, tensor + number(2, 1) + block(8, b"w"))), "limit_exceeded: graph > initializer 'w'")


def function(name: str, calls: list[str]) -> onnx.FunctionProto:
    nodes = [helper.make_node(op, ["a"], [f"b{i}"], domain="dom") for i, op in enumerate(calls)]
    nodes.append(helper.make_node("Relu", ["a"], ["out"]))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("dom", 1)]
    return helper.make_function("dom", name, ["a"], ["out"], nodes, imports)


def with_functions(functions: list[onnx.FunctionProto]) -> bytes:
    model = small_model()
    model.opset_import.append(helper.make_opsetid("dom", 1))
    model.graph.node.append(helper.make_node("f0", ["x"], ["z"], "/call", domain="dom"))
    model.functions.extend(functions)
    return model.SerializeToString()


def test_recursive_functions(loader):
    cycle = [function("f0", ["f1"]), function("f1", ["f2"]), function("f2", ["f0"])]
    loader.refuse(with_functions(cycle), "invalid_model: function 'dom.f0'", "dom.f0 → dom.f1 → dom.f2 → dom.f0")
    loader.refuse(with_functions([function("f0", ["f0"])]), "calls itself: dom.f0 → dom.f0")


def test_functions_that_expand_exponentially(loader):
    doubling = [function(f"f{i}", [f"f{i + 1}"] * 2) for i in range(60)] + [function("f60", [])]
    loader.refuse(with_functions(doubling), "limit_exceeded: function 'dom.f", "nodes, with the functions it calls")


def test_a_long_chain_of_functions(loader):
    chain = [function(f"f{i}", [f"f{i + 1}"]) for i in range(20_000)] + [function("f20000", [])]
    loader.refuse(with_functions(chain), "limit_exceeded: function 'dom.f", "levels of nested graphs and calls")


def test_a_graph_with_a_cycle(loader):
    model = small_model()
    model.graph.node[0].input[0] = "y"
    loader.refuse(model.SerializeToString(), "invalid_model: graph 'main' > node '/relu' (Relu): ", "a cycle")


def test_fifty_million_empty_records(loader):
    loader.refuse(around(b"\x6a\x00" * 50_000_001), "limit_exceeded: byte ", "graph > value_info", "messages and strings")


RECORDS = 4_000_000  # the default of Limits::records


@pytest.mark.parametrize("field", [5, 15])  # initializers, sparse initializers
def test_more_records_than_the_limit(loader, field):
    loader.refuse(around(block(field, b"") * RECORDS), "limit_exceeded: byte ", "more than 4000000 messages and strings")


VALUES = bytes.fromhex("1500000000 1800 3d00000000 4000")  # an attribute's f, i, floats and ints


@pytest.mark.parametrize(
    "model, most",
    [
        (lambda n: around(block(5, b"") * n), 768),  # initializers
        (lambda n: around(block(1, block(5, b"") * n)), 768),  # attributes
        (lambda n: around(block(1, block(5, block(10, b"") * n))), 768),  # tensors of an attribute
        (lambda n: around(block(1, block(5, block(11, b"") * n))), 768),  # graphs of an attribute
        (lambda n: around(b"") + block(25, b"") * n, 768),  # functions
        (lambda n: around(block(1, block(5, VALUES) * n)), 2048),  # attributes of several values
    ],
)
def test_a_record_takes_bounded_memory(loader, model, most):
    """The bounds that SECURITY.md states."""
    count = RECORDS // 40 if loader.sanitized else RECORDS // 4
    outcome = loader.run([model(count)], None if loader.sanitized else MEMORY + count * most)
    assert "invalid_model: " in outcome.errors[0], outcome.errors[0]


def test_too_many_nodes(loader):
    loader.refuse(around(b"\x0a\x00" * 1_000_001), "limit_exceeded: byte ", "graph > node 1000000)", "1000000 nodes")


def test_graphs_nested_too_deeply(loader):
    loader.refuse(block(7, nested([1, 5, 6], 50_000)), "limit_exceeded: byte ", "graph > node 0 > attribute 0 > g")


def test_types_nested_too_deeply(loader):
    loader.refuse(around(block(11, block(2, nested([4, 1], 50_000)))), "limit_exceeded: byte ", "nested types")
    loader.refuse(around(block(11, block(2, nested([9, 1, 5, 2], 50_000)))), "limit_exceeded: byte ", "nested types")


def test_groups_nested_too_deeply(loader):
    loader.refuse(tag(50, 3) * 1_000_000, "limit_exceeded: byte 0 (unknown field 50)", "nested groups")
    deep = around(block(1, tag(50, 3) * 1_000_000))
    loader.refuse(deep, "limit_exceeded: byte ", "graph > node 0 > unknown field 50")


def test_the_deepest_allowed_graph_and_type_together(loader):
    """64 nested graphs, with 64 nested types in the innermost: within the limits, so no error."""
    attribute = block(1, b"t") + number(20, 13) + block(14, nested([4, 1], 63))
    inner = block(1, block(2, b"o0") + block(4, b"Op") + block(5, attribute))
    for i in range(1, 64):
        body = block(1, b"g") + number(20, 5) + block(6, inner)
        inner = block(1, block(2, b"o%d" % i) + block(4, b"Op") + block(5, body))
    assert loader.run([around(inner)]).errors == {}


def test_very_long_names(loader):
    """An error about a name of 20 MB does not print 20 MB."""
    model = small_model()
    model.graph.node[0].input[0] = "n" * 20_000_000
    model.graph.node[0].name = "\x1b[2J" * 1_000_000
    error = loader.refuse(model.SerializeToString(), "invalid_model: graph 'main' > node ")
    assert len(error) < 3000 and "\x1b" not in error


def test_many_values_and_one_without_a_producer(loader):
    """Linear time: half a million statements and names, then an error at the end."""
    value = b"".join(block(13, block(1, b"v%d" % (i % 1000))) for i in range(200_000))
    nodes = b"".join(block(1, block(2, b"n%d" % i) + block(4, b"Op")) for i in range(200_000))
    last = block(1, block(1, b"nn7") + block(2, b"last") + block(4, b"Op"))
    loader.refuse(around(value + nodes + last), "invalid_model: graph > node 200000 (Op): nothing produces input 0 'nn7'")


def test_a_segmented_tensor(loader):
    tensor = number(1, 4) + number(2, 1) + block(3, number(1, 0) + number(2, 4)) + block(8, b"w") + block(9, bytes(16))
    loader.refuse(around(block(5, tensor)), "unsupported: byte ", "graph > initializer 0", "segments")


@pytest.mark.parametrize("element", [27, 99, -1, 2**31 - 1])
def test_element_types_that_do_not_exist(loader, element):
    tensor = number(1, 1) + number(2, element) + block(8, b"w") + block(9, bytes(4))
    loader.refuse(around(block(5, tensor)), f"graph > initializer 'w': element type {element} does not exist")


def test_data_of_the_wrong_size(loader):
    for field, payload in ((9, bytes(15)), (9, bytes(17)), (4, bytes(12)), (4, bytes(20))):
        tensor = number(1, 4) + number(2, TensorProto.FLOAT) + block(8, b"w") + block(field, payload)
        loader.refuse(around(block(5, tensor)), "invalid_model: graph > initializer 'w': float32[4] takes 16 bytes")
