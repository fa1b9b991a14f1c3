"""c-gen: neurons as truth tables, with the bits of their definition."""
import numpy as np
import pytest
from support.generating import SEED, NotGenerated, compile_all, generate
from support.neurons import Layer, model_of


def layers_of(kind, random):
    if kind == "bits":
        return [Layer.random(random, 20, 31, 1, 8), Layer.random(random, 31, 17, 6, open_ends=True)]
    if kind == "numbers":
        return [Layer.random(random, 20, 12, 2, 3, 3), Layer.random(random, 12, 9, 4, 3, 5, signed=True)]
    if kind == "many inputs":
        return [Layer.random(random, 300, 40, 3, 2, 2), Layer.random(random, 40, 5, 1, 2, 8, signed=True)]
    return [Layer.random(random, 20, 4, 3, 2, 2, repeats=6), Layer.random(random, 24, 10, 7, 2, 1)]


@pytest.mark.parametrize("kind", ["bits", "numbers", "many inputs", "shared tables"])
@pytest.mark.parametrize("functions", [True, False])
def test_generated_neurons_have_the_bits_of_the_definition(kind, functions, tmp_path):
    random = np.random.default_rng(SEED)
    layers = layers_of(kind, random)
    inputs = 300 if kind == "many inputs" else 20
    x = random.integers(0, 256, (5, inputs)).astype(np.uint8)
    expected = x
    for layer in layers:
        expected = layer(expected)
    generate(model_of(layers, x.shape, functions), tmp_path / "net.c")
    got, = compile_all(["net"], tmp_path)["net"].run([x], [expected])
    np.testing.assert_array_equal(got, expected)


def test_connections_that_are_no_constants_are_refused(tmp_path):
    from onnx import TensorProto, helper
    layer = Layer.random(np.random.default_rng(SEED), 9, 7, 6)
    model = model_of([layer], (4, 9), functions=False)
    model.graph.initializer.remove(next(one for one in model.graph.initializer if one.name == "c0"))
    model.graph.input.append(helper.make_tensor_value_info("c0", TensorProto.INT32, list(layer.connections.shape)))
    with pytest.raises(NotGenerated, match="the connections must be constant"):
        generate(model, tmp_path / "net.c")
