"""Small nets that once were much slower than in ONNX Runtime (bench/cliffs.py): the same results, by the intended steps."""

import numpy as np
import onnx
import pytest
from support.executing import Executor, ExecutorError, prepare
from support.peer_models import peer

import cliffs


def expected(model, feeds):
    return peer(model.SerializeToString(), optimized=False).run(None, feeds)


def close(got, wanted):
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert np.abs(a - b).max() <= 1e-4 * max(1, np.abs(b).max())


@pytest.mark.parametrize("name", cliffs.CLIFFS)
def test_results_are_those_of_onnx_runtime(name):
    model, feeds = cliffs.CLIFFS[name]()
    runs = Executor(model)
    for _ in range(2):  # the first run records the plan of memory, the second one uses it
        close(runs.run(feeds), expected(model, feeds))


@pytest.mark.parametrize("name, most", [
    ("initializers are inputs", 15), ("Identity after every node", 20), ("Gelu by Erf", 3), ("blocks with spelled activations", 36),
])
def test_steps_are_fused(name, most):
    model, _ = cliffs.CLIFFS[name]()
    assert len(Executor(model).steps()) <= most


def test_identity_before_a_run_costs_nothing():
    model, feeds = cliffs.identities()
    steps = Executor(model).steps()
    assert steps == ["com.microsoft:FusedConv"] * 20
    assert ":Identity" in Executor(model, fuse=False).steps()


@pytest.mark.parametrize("ir_version", [3, 8])
def test_initializers_that_are_inputs_are_constants_until_they_are_given(ir_version):
    model, feeds = cliffs.old_initializers()
    model.ir_version = ir_version
    runs = Executor(model)
    assert ":BatchNormalization" not in runs.steps()
    assert runs.inputs == (["x"] if ir_version < 4 else [one.name for one in model.graph.input])
    wanted = expected(model, feeds)
    close(runs.run(feeds), wanted)
    given = dict(feeds)
    for one in model.graph.initializer[:2]:
        given[one.name] = onnx.numpy_helper.to_array(one) * np.float32(0.5)
    model.ir_version = 8  # before version 4, ONNX Runtime takes no values for initializers
    close(runs.run(given), expected(model, given))
    assert np.abs(runs.run(given)[0] - wanted[0]).max() > 1e-3
    close(runs.run(feeds), wanted)  # values that were given hold for their run only


def test_given_initializers_are_checked():
    model, feeds = cliffs.old_initializers()
    with pytest.raises(ExecutorError, match="w0"):
        Executor(model).run({**feeds, "w0": np.zeros((1, 2), np.float32)})


def loop_of(model):
    return next(node for node in model.graph.node if node.op_type == "Loop")


def carried(gives):
    """A Loop that hands a weight on unchanged; `gives`: which results of it are outputs of the model."""
    helper = onnx.helper
    value = lambda name, shape, kind=onnx.TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, shape)
    body = helper.make_graph(
        [helper.make_node("MatMul", ["h_in", "w_in"], ["h_out"]), helper.make_node("Identity", ["go_in"], ["go_out"]),
         helper.make_node("Identity", ["w_in"], ["w_out"])], "body",
        [value("i", [], onnx.TensorProto.INT64), value("go_in", [], onnx.TensorProto.BOOL), value("w_in", [4, 4]),
         value("h_in", [1, 4])],
        [value("go_out", [], onnx.TensorProto.BOOL), value("w_out", [4, 4]), value("h_out", [1, 4])])
    weight = np.random.default_rng(2).standard_normal((4, 4)).astype(np.float32) / 2
    constants = [onnx.numpy_helper.from_array(one, name)
                 for name, one in (("w", weight), ("n", np.int64(5)), ("go", np.bool_(True)))]
    nodes = [helper.make_node("Loop", ["n", "go", "w", "x"], ["w_last", "h_last"], body=body),
             helper.make_node("MatMul", ["h_last", "w_last"], ["y"])]
    outputs = {"y": [1, 4], "w_last": [4, 4], "h_last": [1, 4]}
    graph = helper.make_graph(nodes, "g", [value("x", [1, 4])], [value(name, outputs[name]) for name in gives], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("gives", [["y"], ["h_last", "y"], ["w_last", "y"], ["w_last"]])
def test_a_value_that_a_loop_carries_unchanged_comes_from_around_it(gives):
    model = carried(gives)
    feeds = {"x": np.random.default_rng(3).standard_normal((1, 4)).astype(np.float32)}
    prepared, changes = prepare(model, only=["loop_invariants"])
    assert changes["loop_invariants"] == 1
    body = onnx.helper.get_node_attr_value(loop_of(prepared), "body")
    assert [node.input[1] for node in body.node if node.op_type == "MatMul"] == ["w"]
    assert len(loop_of(prepared).input) == (4 if "w_last" in gives else 3)
    onnx.checker.check_model(prepared, full_check=True)
    wanted = expected(model, feeds)
    close(expected(prepared, feeds), wanted)
    close(Executor(model).run(feeds), wanted)
    assert prepare(prepared, only=["loop_invariants"])[1]["loop_invariants"] == 0


def test_a_value_that_a_loop_changes_stays():
    model = carried(["y"])
    body = onnx.helper.get_node_attr_value(loop_of(model), "body")
    body.node[-1].CopyFrom(onnx.helper.make_node("Neg", ["w_in"], ["w_out"]))
    feeds = {"x": np.ones((1, 4), np.float32)}
    loop_of(model).attribute[0].g.CopyFrom(body)
    assert prepare(model, only=["loop_invariants"])[1]["loop_invariants"] == 0
    close(Executor(model).run(feeds), expected(model, feeds))


def layer_norm(squares, axes=(-1,), uses_twice=False):
    net, width = cliffs.Net(), 48
    centred = net.add("Sub", "x", net.add("ReduceMean", "x", axes=list(axes)))
    square = net.add("Mul", centred, centred) if squares else net.add("Pow", centred, net.scalar(2))
    root = net.add("Sqrt", net.add("Add", net.add("ReduceMean", square, axes=list(axes)), net.scalar(1e-5)))
    y = net.add("Add", net.add("Mul", net.add("Div", centred, root), net.weight(width)), net.weight(width))
    feeds = {"x": cliffs.random(2, 5, width) + np.float32(3)}
    return net.model(feeds, net.add("Add", y, centred) if uses_twice else y), feeds


@pytest.mark.parametrize("squares", [False, True])
def test_a_normalization_spelled_out_is_one_step(squares):
    model, feeds = layer_norm(squares)
    assert Executor(model).steps() == [":LayerNormalization"]
    close(Executor(model).run(feeds), expected(model, feeds))


@pytest.mark.parametrize("change", [dict(axes=(1,)), dict(uses_twice=True)])
def test_what_only_resembles_a_normalization_stays(change):
    model, feeds = layer_norm(False, **change)
    assert ":LayerNormalization" not in Executor(model).steps()
    close(Executor(model).run(feeds), expected(model, feeds))
