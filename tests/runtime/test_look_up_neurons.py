"""LookUpNeurons: anybit's kernels, its portable function in ONNX Runtime and numpy give the same bits."""
import time

import numpy as np
import onnx
import onnxruntime
import pytest
from support.executing import Executor, ExecutorError
from support.neurons import Layer, model_of

SEED = 20261119
SHAPES = [  # inputs, tables, repeats, fan-in, bits in, bits out, signed
    (9, 7, 1, 6, 1, 1, False), (40, 70, 1, 6, 1, 1, False), (40, 130, 1, 1, 1, 1, False), (12, 33, 1, 2, 1, 2, True),
    (30, 65, 1, 3, 2, 2, False), (30, 20, 1, 5, 3, 3, True), (17, 5, 13, 4, 2, 4, False), (20, 3, 70, 9, 1, 1, False),
    (25, 40, 1, 7, 2, 5, True), (6, 9, 1, 1, 8, 1, False), (6, 9, 1, 1, 8, 8, True), (50, 300, 1, 15, 1, 1, False)]


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dims", [[1], [2, 3], [1000]], ids=str)
def test_all_three_agree(shape, dims):
    inputs, tables, repeats, fan_in, input_bits, output_bits, signed = shape
    random = np.random.default_rng(SEED)
    layer = Layer.random(random, inputs, tables, fan_in, input_bits, output_bits, signed, repeats, open_ends=True)
    x = random.integers(-128, 128, (*dims, inputs)).astype(np.int8)  # bits above those of the input do not count
    expected = layer(x)
    portable = model_of([layer], x.shape, signed=True)
    for model in (portable, model_of([layer], x.shape, functions=False, signed=True)):
        executor = Executor(model.SerializeToString(), threads=2)
        assert executor.steps() == ["ai.anybit:LookUpNeurons"], "it must run by its kernel"
        got, = executor.run({"x": x})
        np.testing.assert_array_equal(got, expected, err_msg=f"seed {SEED}")
    theirs, = session(portable).run(None, {"x": x})
    np.testing.assert_array_equal(theirs, expected, err_msg=f"seed {SEED}")


def test_a_chain_of_layers_agrees():
    random = np.random.default_rng(SEED)
    layers = [Layer.random(random, 20, 60, 1, 8, 1), Layer.random(random, 60, 50, 6), Layer.random(random, 50, 40, 4, 1, 3, True),
              Layer.random(random, 40, 10, 4, 3, 6, True)]
    x = random.integers(0, 256, (33, 20)).astype(np.uint8)
    expected = x
    for layer in layers:
        expected = layer(expected)
    model = model_of(layers, x.shape)
    np.testing.assert_array_equal(Executor(model.SerializeToString()).run({"x": x})[0], expected)
    np.testing.assert_array_equal(session(model).run(None, {"x": x})[0], expected)


def test_tables_that_are_no_constants_are_read_in_every_run():
    random = np.random.default_rng(SEED)
    layer = Layer.random(random, 9, 7, 6)
    model = model_of([layer], (4, 9), functions=False)
    tables = next(one for one in model.graph.initializer if one.name == "t0")
    model.graph.initializer.remove(tables)
    model.graph.input.append(onnx.helper.make_tensor_value_info("t0", 2, list(layer.tables.shape)))
    executor = Executor(model.SerializeToString())
    x = random.integers(0, 2, (4, 9)).astype(np.uint8)
    for _ in range(2):
        layer.entries = random.integers(0, 2, layer.entries.shape)
        np.testing.assert_array_equal(executor.run({"x": x, "t0": layer.tables})[0], layer(x))


@pytest.mark.parametrize("change, problem", [
    (lambda layer: layer.connections.__setitem__((0, 0, 0), 9), "names input 9, and there are 9"),
    (lambda layer: layer.connections.__setitem__((0, 0, 0), -2), "a connection is -2"),
    (lambda layer: setattr(layer, "input_bits", 3), "6 inputs of 3 bits"),
    (lambda layer: setattr(layer, "input_bits", 9), "input_bits is 9"),
    (lambda layer: setattr(layer, "output_bits", 0), "output_bits is 0"),
    (lambda layer: setattr(layer, "entries", layer.entries[:-1]), "the tables, is uint8[6, 8]"),
    (lambda layer: setattr(layer, "connections", layer.connections.astype(np.int64)), "the connections, is int64[7, 1, 6]"),
])
def test_an_invalid_node_is_refused_with_the_reason(change, problem):
    layer = Layer.random(np.random.default_rng(SEED), 9, 7, 6)
    tables = layer.tables
    change(layer)
    model = model_of([layer], (4, 9), functions=False) if layer.output_bits else None
    if model is None:
        layer.output_bits = 1
        model = model_of([layer], (4, 9), functions=False)
        next(one for one in model.graph.node[0].attribute if one.name == "output_bits").i = 0
    if layer.tables.shape == tables.shape or "input_bits" in problem:
        pass
    with pytest.raises(ExecutorError, match=problem.replace("[", r"\[").replace("]", r"\]")):
        Executor(model.SerializeToString()).run({"x": np.zeros((4, 9), np.uint8)})


def test_the_kernel_is_far_faster_than_the_function():
    """A bound with a margin: make bench-logic measures."""
    random = np.random.default_rng(SEED)
    layer = Layer.random(random, 784, 1000, 6)
    x = random.integers(0, 2, (256, 784)).astype(np.uint8)
    model = model_of([layer], x.shape)
    runs = {"ours": lambda executor=Executor(model.SerializeToString(), threads=1): executor.run({"x": x}),
            "theirs": lambda made=session(model): made.run(None, {"x": x})}
    best = {name: float("inf") for name in runs}
    for _ in range(3):
        for name, run in runs.items():
            began = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - began)
    assert best["theirs"] > 5 * best["ours"], best
