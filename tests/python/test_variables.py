"""Variables of a session: initializers that are read and written between runs, compared with constants."""

import threading

import anybit
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.packaged import model_of


def trained(digits):
    """The names of its weights and biases."""
    return [one.name for one in onnx.load(digits).graph.initializer]


def with_values(digits, values):
    model = onnx.load(digits)
    for one in model.graph.initializer:
        if one.name in values:
            one.CopyFrom(numpy_helper.from_array(values[one.name], one.name))
    return model


def other_values(session, seed):
    """Values close to the original ones, so that variances stay positive."""
    rng = np.random.default_rng(seed)
    return {port.name: (session.get_variable(port.name) * rng.uniform(0.5, 1.5, port.shape)).astype(np.float32)
            for port in session.variables}


def test_writing_all_weights_gives_the_model_with_these_weights(digits, images):
    session = anybit.Session(digits, variables=trained(digits))
    assert [port.name for port in session.variables] == trained(digits)
    first = session.run(images)["logits"]
    np.testing.assert_allclose(first, anybit.Session(digits).run(images)["logits"], rtol=1e-4, atol=1e-4)
    before = {port.name: session.get_variable(port.name) for port in session.variables}
    for seed in range(2):
        values = other_values(session, seed)
        session.set_variables(values)
        constant = with_values(digits, values)
        # Normalizations are folded into constant weights, so the last bits may differ.
        np.testing.assert_allclose(session.run(images)["logits"], anybit.Session(constant).run(images)["logits"],
                                   rtol=1e-3, atol=1e-3)
        of_model = anybit.Session(session.to_model(), variables=trained(digits))
        np.testing.assert_array_equal(session.run(images)["logits"], of_model.run(images)["logits"])
    session.set_variables(before)
    np.testing.assert_array_equal(session.run(images)["logits"], first)


def test_read_and_written_arrays_are_owned_by_the_caller(digits, images):
    session = anybit.Session(digits, variables=["head/linear.bias"])
    given = np.ones(10, np.float32)
    session.set_variable("head/linear.bias", given)
    expected = session.run(images)["logits"].copy()
    given[:] = 5
    session.get_variable("head/linear.bias")[:] = 7
    np.testing.assert_array_equal(session.run(images)["logits"], expected)
    np.testing.assert_array_equal(session.get_variable("head/linear.bias"), np.ones(10))


@pytest.mark.parametrize("name, value, kind, words", [
    ("head/linear.bias", np.zeros(9, np.float32), anybit.errors.InvalidArgument,
     ["variable 'head/linear.bias'", "float32[9] is given", "it is float32[10]"]),
    ("head/linear.bias", np.zeros(10), anybit.errors.InvalidArgument, ["float64[10] is given"]),
    ("head/linear.bias", None, anybit.errors.InvalidArgument, ["variable 'head/linear.bias'", "None is not an array"]),
    ("head/linear.bais", np.zeros(10, np.float32), anybit.errors.NotFound,
     ["no variable 'head/linear.bais'", "did you mean 'head/linear.bias'?"]),
    (3, np.zeros(10, np.float32), anybit.errors.InvalidType, ["name=3"]),
])
def test_a_wrong_write_gives_a_hint(digits, name, value, kind, words):
    session = anybit.Session(digits, variables=["head/linear.bias"])
    before = session.get_variable("head/linear.bias")
    with pytest.raises(kind) as raised:
        session.set_variable(name, value)
    for word in words:
        assert word in str(raised.value)
    np.testing.assert_array_equal(session.get_variable("head/linear.bias"), before)


def test_only_initializers_can_be_variables(digits):
    with pytest.raises(anybit.errors.NotFound, match="no initializer 'image' to be a variable"):
        anybit.Session(digits, variables=["image"])
    with pytest.raises(anybit.errors.NotFound, match="has none"):
        anybit.Session(digits).get_variable("head/linear.bias")


def descent():
    """One step of gradient descent on |x·w − t|²."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Sub", ["y", "t"], ["e"]),
             helper.make_node("Transpose", ["x"], ["xt"]), helper.make_node("MatMul", ["xt", "e"], ["g"]),
             helper.make_node("Mul", ["g", "rate"], ["step"]), helper.make_node("Sub", ["w", "step"], ["next"]),
             helper.make_node("ReduceSumSquare", ["e"], ["loss"], keepdims=0)]
    return model_of(nodes, [("x", ["n", 3]), ("t", ["n", 1])], [("loss", []), ("next", [3, 1])],
                    [("w", np.zeros((3, 1), np.float32)), ("rate", np.array(0.01, np.float32))])


def test_an_output_that_updates_a_variable_makes_an_optimizer():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((20, 3)).astype(np.float32)
    truth = np.array([[1], [-2], [3]], np.float32)
    session = anybit.Session(descent(), variables=["w"], updates={"w": "next"})
    assert [port.name for port in session.outputs] == ["loss"]
    losses = [float(session.run(x=x, t=x @ truth)["loss"]) for _ in range(200)]
    assert losses[-1] < 1e-6 * losses[0]
    np.testing.assert_allclose(session.get_variable("w"), truth, atol=1e-2)


def test_threads_that_run_see_one_write_or_another():
    session = anybit.Session(descent(), variables=["w"], threads=1)
    x, t = np.ones((4, 3), np.float32), np.zeros((4, 1), np.float32)
    wrong, done = [], threading.Event()

    def run():
        while not done.is_set():
            loss = float(session.run(x=x, t=t)["loss"])
            if loss not in (0.0, 36.0):
                wrong.append(loss)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for one in threads:
        one.start()
    for i in range(300):
        session.set_variable("w", np.full((3, 1), i % 2, np.float32))
    done.set()
    for one in threads:
        one.join()
    assert not wrong
