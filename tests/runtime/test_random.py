"""Random tensors: equal for a seed, different without one, with the right distribution."""
import numpy as np
import pytest
from onnx import TensorProto, helper
from support.executing import Executor


def made(name, inputs=(), output=TensorProto.FLOAT, opset=22, **attributes):
    node = helper.make_node(name, [port for port, _ in inputs], ["y"], **attributes)
    ports = [helper.make_tensor_value_info(port, kind, None) for port, kind in inputs]
    graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info("y", output, None)])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", opset)])


@pytest.mark.parametrize("name", ["RandomNormal", "RandomUniform"])
def test_a_seed_gives_the_same_numbers_on_any_number_of_threads(name):
    model = made(name, shape=[100000], seed=5.0)
    one, two = (Executor(model, threads=threads).run({})[0] for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, Executor(made(name, shape=[100000], seed=6.0)).run({})[0])
    unseeded = Executor(made(name, shape=[100]))
    assert not np.array_equal(unseeded.run({})[0], unseeded.run({})[0])


def test_normal_and_uniform_numbers_have_their_moments():
    normal = Executor(made("RandomNormal", shape=[400000], seed=1.0, mean=2.0, scale=3.0)).run({})[0].astype(np.float64)
    assert abs(normal.mean() - 2) < 0.02 and abs(normal.std() - 3) < 0.02
    assert abs(((normal - 2) ** 4).mean() / 81 - 3) < 0.06  # the kurtosis of a normal distribution
    uniform = Executor(made("RandomUniform", shape=[400000], seed=1.0, low=-1.0, high=3.0)).run({})[0]
    assert uniform.min() >= -1 and uniform.max() <= 3 and abs(uniform.mean() - 1) < 0.01
    assert np.histogram(uniform, 64)[0].std() < 4 * np.sqrt(400000 / 64) / 2
    assert abs(np.corrcoef(uniform[1:], uniform[:-1])[0, 1]) < 0.01


def test_samples_follow_their_probabilities():
    p = np.repeat(np.array([0, 0.25, 0.75, 1], np.float32), 10000)
    drawn = Executor(made("Bernoulli", [("x", TensorProto.FLOAT)], TensorProto.INT32, dtype=6, seed=3.0)).run({"x": p})[0]
    assert drawn.dtype == np.int32
    np.testing.assert_allclose(drawn.reshape(4, -1).mean(1), [0, 0.25, 0.75, 1], atol=0.02)
    logs = np.log(np.array([[0.1, 0.2, 0.7]], np.float32))
    model = made("Multinomial", [("x", TensorProto.FLOAT)], TensorProto.INT64, dtype=7, sample_size=20000, seed=3.0)
    counts = np.bincount(Executor(model).run({"x": logs})[0][0], minlength=3)
    np.testing.assert_allclose(counts / 20000, [0.1, 0.2, 0.7], atol=0.02)
