"""The builder of backward graphs: fan-out, broadcasting, branches, what it refuses, memory, threads."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.differences import LOSS, check
from support.executing import Executor, ExecutorError, with_gradients
from support.one_node import NEWEST_IR

DOUBLE = TensorProto.DOUBLE


def node(op_type, inputs, outputs, **attributes):
    return helper.make_node(op_type, inputs.split(), outputs.split(), name=f"/{outputs.split()[0]}", **attributes)


def model_of(nodes, inputs, constants=None, kinds=None, shapes=None, total=None):
    """A model whose output is the sum of all elements of the value y."""
    end = helper.make_node("ReduceSum", ["y"], [LOSS], keepdims=0, name="/loss")
    kinds, shapes = kinds or {}, shapes or {}
    ports = [helper.make_tensor_value_info(name, kinds.get(name, DOUBLE), shapes.get(name, x.shape))
             for name, x in inputs.items()]
    kept = [numpy_helper.from_array(np.asarray(x), name) for name, x in (constants or {}).items()]
    single = TensorProto.FLOAT in kinds.values() and not total
    ends = [helper.make_tensor_value_info(LOSS, TensorProto.FLOAT if single else DOUBLE, [])]
    graph = helper.make_graph([*nodes, end], "net", ports, ends, kept)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=NEWEST_IR)


def run(model, feeds, threads=1):
    return Executor(model.SerializeToString(), threads=threads).run(feeds)


@pytest.fixture
def rng():
    seed = 20
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def test_gradients_of_a_value_with_many_consumers_are_added(rng):
    feeds = {"x": rng.normal(size=(2, 3)), "w": rng.normal(size=(3,))}
    nodes = [node("Mul", "x x", "a"), node("Exp", "x", "b"), node("Mul", "a b", "c"), node("Add", "c x", "d"),
             node("Mul", "d w", "e"), node("Sum", "e w a", "y")]
    check(model_of(nodes, feeds), feeds, ["x", "w"], rng)


def test_a_gradient_is_the_same_in_every_build(rng):
    feeds = {"x": rng.normal(size=(2, 3))}
    model = model_of([node("Mul", "x x", "a"), node("Sin", "a", "b"), node("Sum", "a b x", "y")], feeds)
    assert with_gradients(model, LOSS, ["x"]) == with_gradients(model, LOSS, ["x"])


def test_pads_of_a_transposed_convolution_follow_from_the_sizes_of_space(rng):
    feeds = {"x": rng.normal(size=(2, 2, 3, 4)), "w": rng.normal(size=(2, 3, 3, 3))}
    for attributes in ({"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}, {"output_shape": [8, 9]},
                       {"auto_pad": "VALID", "output_padding": [1, 0]}):
        nodes = [node("ConvTranspose", "x w", "c", strides=[2, 2], **attributes), node("Sin", "c", "y")]
        check(model_of(nodes, feeds, shapes={"x": ("n", 2, 3, 4)}), feeds, ["x", "w"], rng, about=attributes)
    with pytest.raises(ExecutorError, match="(?s)ConvTranspose.*explicit pads"):
        with_gradients(model_of([node("ConvTranspose", "x w", "c", auto_pad="SAME_UPPER"), node("Sin", "c", "y")],
                                feeds, shapes={"x": ("n", 2, "h", "w")}), LOSS, ["x"])


def test_a_cast_passes_gradients_in_the_type_of_its_input(rng):
    feeds = {"x": rng.normal(size=(2, 3)).astype(np.float32)}
    nodes = [node("Cast", "x", "d", to=DOUBLE), node("Sin", "d", "y")]
    found = run(with_gradients(model_of(nodes, feeds, kinds={"x": TensorProto.FLOAT}, total=DOUBLE), LOSS, ["x"]), feeds)[1]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.cos(feeds["x"]), rtol=1e-6)


@pytest.mark.parametrize("sizes", [("n", 3, "m"), (None, None, None), (2, "n", "n")])
def test_broadcasting_is_summed_when_sizes_are_not_known(rng, sizes):
    feeds = {"x": rng.normal(size=(2, 3, 4)), "row": rng.normal(size=(1, 3, 1)), "one": rng.normal(size=())}
    nodes = [node("Mul", "x row", "a"), node("Add", "a one", "b"), node("Tanh", "b", "y")]
    shapes = {"x": sizes, "row": ("a", "b", "c")}
    check(model_of(nodes, feeds, shapes=shapes), feeds, ["x", "row", "one"], rng)


def test_a_value_that_the_loss_does_not_depend_on_gets_zeros(rng):
    feeds = {"x": rng.normal(size=(2, 3)), "unused": rng.normal(size=(4, 1))}
    model = with_gradients(model_of([node("Sin", "x", "y")], feeds), LOSS, ["unused", "x"])
    _, unused, x = run(model, feeds)
    np.testing.assert_array_equal(unused, np.zeros((4, 1)))
    np.testing.assert_allclose(x, np.cos(feeds["x"]))


def test_values_between_nodes_and_constants_have_gradients(rng):
    feeds = {"x": rng.normal(size=(2, 3))}
    nodes = [node("Mul", "x w", "a"), node("Exp", "a", "y")]
    model = with_gradients(model_of(nodes, feeds, {"w": np.array([1.0, 2.0, 3.0])}), LOSS, ["a", "w"])
    _, a, w = run(model, feeds)
    np.testing.assert_allclose(a, np.exp(feeds["x"] * [1, 2, 3]))
    np.testing.assert_allclose(w, (a * feeds["x"]).sum(0))


def test_gradients_that_are_one_value_get_names_of_their_own(rng):
    feeds = {"a": rng.normal(size=3), "b": rng.normal(size=3)}
    model = with_gradients(model_of([node("Add", "a b", "y")], feeds), LOSS, ["a", "b", "y", LOSS])
    names = [one.name for one in model.graph.output]
    assert len(set(names)) == len(names)
    for gradient in run(model, feeds)[1:]:
        np.testing.assert_array_equal(gradient, np.ones_like(gradient))


def branch(nodes, output, kind=DOUBLE):
    return helper.make_graph(nodes, f"branch of {output}", [], [helper.make_tensor_value_info(output, kind, None)])


def choice():
    """If in If; the branches use different values of the outer graph, and one hands out a value unchanged."""
    inner = [branch([node("Mul", "t w", "i1")], "i1"), branch([node("Exp", "x", "i2"), node("Mul", "i2 t", "i3")], "i3")]
    first = branch([node("Sin", "x", "t"), node("Mul", "t t", "t1"),
                    node("If", "second", "t2", then_branch=inner[0], else_branch=inner[1]), node("Add", "t1 t2", "t3")], "t3")
    other = branch([node("Mul", "u u", "e"), node("Identity", "e", "e1")], "e1")
    return [node("Tanh", "x", "u"), node("If", "first", "c", then_branch=first, else_branch=other), node("Mul", "c u", "y")]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_if_passes_gradients_to_what_its_branches_use(rng, first, second):
    feeds = {"x": rng.normal(size=(2, 3)), "w": rng.normal(size=(3,)), "first": np.array(first), "second": np.array(second)}
    model = model_of(choice(), feeds, kinds={"first": TensorProto.BOOL, "second": TensorProto.BOOL})
    for recompute in (False, True):
        check(model, feeds, ["x", "w"], rng, recompute)


def loop(name, body_value):
    body = helper.make_graph(
        [node("Mul", f"{body_value} state", f"{name}_next"), node("Identity", "go", f"{name}_go")], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("state", DOUBLE, None)],
        [helper.make_tensor_value_info(f"{name}_go", TensorProto.BOOL, []), helper.make_tensor_value_info(f"{name}_next", DOUBLE, None)])
    return helper.make_node("Loop", ["count", "", "start"], [name], name=f"/{name}", body=body)


def test_loop_on_the_way_is_refused_by_name(rng):
    feeds = {"x": rng.normal(size=3)}
    constants = {"count": np.array(2), "start": np.ones(3)}
    model = model_of([loop("looped", "x"), node("Sin", "looped", "y")], feeds, constants)
    with pytest.raises(ExecutorError, match="(?s)/looped.*Loop.*freeze"):
        with_gradients(model, LOSS, ["x"])


def test_loop_beside_the_way_is_a_constant_of_the_gradient(rng):
    feeds = {"x": rng.normal(size=3), "z": rng.normal(size=3)}
    constants = {"count": np.array(2), "start": np.ones(3)}
    model = model_of([loop("looped", "z"), node("Mul", "looped x", "y")], feeds, constants)
    check(model, feeds, ["x"], rng)


def test_scan_on_the_way_is_refused_by_name(rng):
    body = helper.make_graph([node("Mul", "part part", "out")], "body", [helper.make_tensor_value_info("part", DOUBLE, None)],
                             [helper.make_tensor_value_info("out", DOUBLE, None)])
    feeds = {"x": rng.normal(size=(2, 3))}
    model = model_of([node("Scan", "x", "y", body=body, num_scan_inputs=1)], feeds)
    with pytest.raises(ExecutorError, match="(?s)/y.*Scan.*freeze"):
        with_gradients(model, LOSS, ["x"])


def test_an_operator_without_rule_is_named_with_a_hint(rng):
    feeds = {"x": rng.normal(size=(3, 3)), "z": rng.normal(size=(3, 3))}
    model = model_of([node("Det", "x", "d"), node("Mul", "d z", "y")], feeds)
    with pytest.raises(ExecutorError, match="(?s)node '/d' \\(Det\\).*Det has no gradient rule.*freeze.*exclude"):
        with_gradients(model, LOSS, ["x"])
    check(model, feeds, ["z"], rng)  # what lies before the node is frozen


@pytest.mark.parametrize("recompute", [False, True])
def test_the_gradient_of_dropout_is_its_mask(rng, recompute):
    feeds = {"x": rng.normal(size=(40, 30))}
    constants = {"ratio": np.array(0.3), "on": np.array(True)}
    layers = [node("Sin", f"s{i}", f"s{i + 1}") for i in range(12)]
    nodes = [node("Dropout", "x ratio on", "s0 mask", seed=3), *layers, node("Identity", "s12", "y")]
    model = model_of(nodes, feeds, constants)
    model.graph.output.append(helper.make_tensor_value_info("mask", TensorProto.BOOL, None))
    model.graph.output.append(helper.make_tensor_value_info("s0", DOUBLE, None))
    _, mask, dropped, dx = run(with_gradients(model, LOSS, ["x"], recompute), feeds)
    slope, value = np.ones_like(dropped), dropped
    for _ in layers:
        slope, value = slope * np.cos(value), np.sin(value)
    np.testing.assert_allclose(dx, np.where(mask, slope / 0.7, 0), rtol=1e-12)
    assert 0.2 < 1 - mask.mean() < 0.4


def test_dropout_in_training_without_its_mask_is_refused(rng):
    feeds = {"x": rng.normal(size=(4, 3))}
    constants = {"ratio": np.array(0.3), "on": np.array(True)}
    model = model_of([node("Dropout", "x ratio on", "y")], feeds, constants)
    with pytest.raises(ExecutorError, match="(?s)Dropout.*no mask.*training_mode false"):
        with_gradients(model, LOSS, ["x"])


def test_a_form_without_gradient_is_refused_with_its_reason(rng):
    feeds = {"x": rng.normal(size=4)}
    constants = {"i": np.array([1, 2]), "u": np.ones(2)}
    model = model_of([node("ScatterElements", "x i u", "s", reduction="max"), node("Sin", "s", "y")], feeds, constants)
    with pytest.raises(ExecutorError, match="(?s)'/s' \\(ScatterElements\\).*reduction 'max'.*none or add"):
        with_gradients(model, LOSS, ["x"])


def test_a_wrong_name_is_an_error_with_a_suggestion(rng):
    feeds = {"x": rng.normal(size=3)}
    model = model_of([node("Mul", "x weight", "y")], feeds, {"weight": np.ones(3)})
    with pytest.raises(ExecutorError, match="(?s)no value 'wieght'.*weight"):
        with_gradients(model, LOSS, ["wieght"])
    with pytest.raises(ExecutorError, match="no value 'los'"):
        with_gradients(model, "los", ["weight"])


def test_only_real_numbers_of_the_main_graph_have_gradients(rng):
    feeds = {"x": rng.normal(size=(2, 3)), "first": np.array(True), "second": np.array(True), "w": rng.normal(size=3)}
    model = model_of(choice(), feeds, kinds={"first": TensorProto.BOOL, "second": TensorProto.BOOL})
    with pytest.raises(ExecutorError, match="(?s)'first'.*is bool.*real numbers"):
        with_gradients(model, LOSS, ["first"])
    with pytest.raises(ExecutorError, match="no value 't'"):
        with_gradients(model, LOSS, ["t"])


def test_branches_nested_too_deep_are_refused(rng):
    """A gradient of If in If in If … doubles with every level."""
    value, inner = "x", branch([node("Sin", "x", "deepest")], "deepest")
    for level in range(12):
        other = branch([node("Identity", value, f"o{level}")], f"o{level}")
        inner = branch([node("If", "first", f"c{level}", then_branch=inner, else_branch=other)], f"c{level}")
    feeds = {"x": rng.normal(size=3), "first": np.array(True)}
    top = node("If", "first", "y", then_branch=inner, else_branch=branch([node("Neg", "x", "top")], "top"))
    with pytest.raises(ExecutorError, match="(?s)nested more than 8 deep.*freeze"):
        with_gradients(model_of([top], feeds, kinds={"first": TensorProto.BOOL}), LOSS, ["x"])


def test_a_loss_of_many_elements_is_refused(rng):
    feeds = {"x": rng.normal(size=3)}
    model = model_of([node("Sin", "x", "y")], feeds)
    with pytest.raises(ExecutorError, match="(?s)'y' is float64.3.*a single float32"):
        with_gradients(model, "y", ["x"])


def test_an_old_opset_is_refused_with_the_one_to_convert_to(rng):
    feeds = {"x": rng.normal(size=3)}
    model = model_of([node("Sin", "x", "y")], feeds)
    model.opset_import[0].version = 13
    with pytest.raises(ExecutorError, match="(?s)opset 13.*18 or newer"):
        with_gradients(model, LOSS, ["x"])


PAIRS, SINGLES = ("Add", "Sub", "Mul", "Max", "Min"), ("Sin", "Tanh", "Sigmoid", "Softplus", "Identity", "Neg", "Gelu")


def random_net(rng, feeds):
    """Nodes on values of different shapes that broadcast, each value used many times or never."""
    values, nodes = list(feeds), []
    for i in range(int(rng.integers(3, 25))):
        pair = rng.random() < 0.5
        inputs = rng.choice(values, 2 if pair else 1)
        nodes.append(node(str(rng.choice(PAIRS if pair else SINGLES)), " ".join(inputs), f"v{i}"))
        values.append(f"v{i}")
    return [*nodes, node("Tanh", values[-1], "y")]


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_match_central_differences_and_recomputing_gives_the_same_bits(seed):
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    feeds = {"a": rng.normal(size=(2, 3)), "b": rng.normal(size=(3,)), "c": rng.normal(size=(2, 1))}
    model = model_of(random_net(rng, feeds), feeds)
    check(model, feeds, list(feeds), rng)
    plain, again = (run(with_gradients(model, LOSS, list(feeds), recompute), feeds) for recompute in (False, True))
    for one, other in zip(plain, again):
        np.testing.assert_array_equal(one, other)


def deep_net(layers, width):
    """A chain whose activations are all needed by its backward pass."""
    nodes, value = [], "x"
    for i in range(layers):
        nodes += [node("Softplus", value, f"a{i}"), node("Mul", f"a{i} w", f"b{i}")]
        value = f"b{i}"
    feeds = {"x": np.linspace(-1, 1, width, dtype=np.float32), "w": np.full(width, 0.7, np.float32)}
    kinds = dict.fromkeys(feeds, TensorProto.FLOAT)
    return model_of([*nodes, node("Identity", value, "y")], feeds, kinds=kinds), feeds


def peak(model, feeds):
    executor = Executor(model.SerializeToString(), threads=1)
    results = executor.run(feeds)
    executor.run(feeds)  # by the plan of the first run
    return executor.peak_memory(), results


WIDTH = 1 << 18  # 1 MB; the executor keeps up to 8 MB of freed blocks


def test_recomputing_takes_less_memory_on_a_deep_net():
    layers, width = 64, WIDTH
    model, feeds = deep_net(layers, width)
    kept, results = peak(with_gradients(model, LOSS, ["x", "w"]), feeds)
    again, others = peak(with_gradients(model, LOSS, ["x", "w"], recompute=True), feeds)
    for one, other in zip(results, others):
        np.testing.assert_array_equal(one, other)
    activation = 4 * width
    assert again < kept / 2, f"{again / activation:.1f} and {kept / activation:.1f} activations"


def test_activations_are_freed_when_the_backward_pass_no_longer_needs_them():
    layers, width = 32, WIDTH
    model, feeds = deep_net(layers, width)
    with_all, _ = peak(with_gradients(model, LOSS, ["x", "w"]), feeds)
    activation = 4 * width
    # Each layer keeps the input of Softplus and that of Mul; beyond them live a few gradients and freed blocks.
    assert with_all <= (2 * layers + 20) * activation, f"{with_all / activation:.1f} activations"


@pytest.mark.parametrize("moved", ["", "Transpose", "Flatten"])
@pytest.mark.parametrize("axis", [None, 1])
def test_a_gradient_passes_quantizers_straight_through_inside_of_their_range(rng, axis, moved):
    """What trains is the model as it was quantized: rounding counts as none, and clipped values have no gradient."""
    x, w = rng.normal(0, 2, (4, 3)).astype(np.float32), rng.normal(size=(4, 3)).astype(np.float32)
    scale = np.float32(0.01) if axis is None else np.float32([0.005, 0.01, 0.02])
    zero = np.int8(3) if axis is None else np.int8([-4, 0, 9])
    nodes = [node("QuantizeLinear", "x s z", "q", **({} if axis is None else {"axis": axis}))]
    if moved:  # there and back
        nodes += [node(moved, "q", "m0"), node(moved, "m0", "m")]
    nodes += [node("DequantizeLinear", "m s z" if moved else "q s z", "d", **({} if axis is None else {"axis": axis})), node("Mul", "d w", "y")]
    model = model_of(nodes, {"x": x, "w": w}, {"s": scale, "z": zero}, dict.fromkeys(("x", "w"), TensorProto.FLOAT))
    found = run(with_gradients(model, LOSS, ["x"]), {"x": x, "w": w})[-1]
    codes = np.round(x / scale) + zero
    inside = (codes >= -128) & (codes <= 127)
    assert 0 < inside.sum() < inside.size
    np.testing.assert_array_equal(found, np.where(inside, w, 0))


def test_there_is_no_gradient_through_quantizers_of_blocks(rng):
    x = rng.normal(size=(4, 4)).astype(np.float32)
    nodes = [node("QuantizeLinear", "x s z", "q", axis=1, block_size=2), node("DequantizeLinear", "q s z", "y", axis=1, block_size=2)]
    constants = {"s": np.ones((4, 2), np.float32), "z": np.zeros((4, 2), np.int8)}
    model = model_of(nodes, {"x": x}, constants, {"x": TensorProto.FLOAT})
    with pytest.raises(ExecutorError, match="QuantizeLinear.*no gradient through blocks"):
        with_gradients(model, LOSS, ["x"])
