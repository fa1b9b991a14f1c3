"""verilog-gen: networks of neurons simulate with the bits of the engine, for every kind of layer and every setting."""
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.logic_nets import counted_model, simulate, thermometer, write_verilog
from support.neurons import Layer, model_of

SEED = 20261119


def random():
    return np.random.default_rng(SEED)


def chain(kind):
    """Layers, the number of inputs and whether these are signed."""
    r = random()
    if kind == "numbers":
        return [Layer.random(r, 12, 20, 2, 4, 3), Layer.random(r, 20, 9, 2, 3, 5, signed=True)], 12, False
    if kind == "open ends":
        return [Layer.random(r, 12, 30, 6, open_ends=True), Layer.random(r, 30, 5, 5, 1, 2, open_ends=True)], 12, False
    if kind == "shared tables":
        return [Layer.random(r, 9, 4, 3, 2, 2, repeats=5), Layer.random(r, 20, 6, 4, 2, 3)], 9, True
    if kind == "signed into wider inputs":
        return [Layer.random(r, 8, 9, 2, 3, 3, signed=True), Layer.random(r, 9, 7, 3, 4, 4, signed=True)], 8, True
    return [Layer.random(r, 8, 3, 3, 1, 1)], 8, False


@pytest.mark.parametrize("kind", ["numbers", "open ends", "shared tables", "signed into wider inputs", "one layer"])
@pytest.mark.parametrize("registers", [0, 1, 2])
def test_a_chain_of_layers_simulates_with_the_engines_bits(kind, registers, tmp_path):
    layers, inputs, signed = chain(kind)
    done = write_verilog(model_of(layers, (1, inputs), signed=signed), tmp_path, registers=registers, vectors=100)
    assert done.returncode == 0, done.stderr
    assert simulate(tmp_path) == "PASS: 100 vectors\n"


@pytest.fixture(scope="module")
def weightless():
    r = random()
    return [thermometer(16, [50, 120, 200]), Layer.random(r, 48, 60, 6), Layer.random(r, 60, 52, 6)]


@pytest.mark.parametrize("registers", [0, 1, 3])
def test_an_encoder_sums_and_the_largest_class_simulate_with_the_engines_bits(weightless, registers, tmp_path):
    done = write_verilog(counted_model(weightless, 16, 4), tmp_path, "x=1,16", registers=registers, vectors=300)
    assert done.returncode == 0, done.stderr
    assert simulate(tmp_path) == "PASS: 300 vectors\n"


def test_the_test_bench_finds_a_wrong_bit(weightless, tmp_path):
    assert write_verilog(counted_model(weightless, 16, 4), tmp_path, "x=1,16").returncode == 0
    path = tmp_path / "net.v"
    text = path.read_text()
    changed = text.replace("r[0] = n", "r[0] = ~n", 1)
    assert changed != text
    path.write_text(changed)
    assert simulate(tmp_path).splitlines()[-1].startswith("FAIL: ")


def test_the_same_model_gives_the_same_files(weightless, tmp_path):
    model, texts = counted_model(weightless, 16, 4), []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert write_verilog(model, tmp_path / name, "x=1,16").returncode == 0
        texts.append([path.read_bytes() for path in sorted((tmp_path / name).glob("net*.[vh]*"))])
    assert texts[0] == texts[1] and len(texts[0]) == 4


def test_samples_of_a_file_become_vectors(weightless, tmp_path):
    np.save(tmp_path / "x.npy", random().random((7, 16)).astype(np.float32))
    assert write_verilog(counted_model(weightless, 16, 4), tmp_path, "x=1,16", samples=tmp_path / "x.npy").returncode == 0
    assert simulate(tmp_path) == "PASS: 7 vectors\n"


def test_values_that_cannot_occur_are_dont_cares(tmp_path):
    """A neuron of the three bits of one thermometer needs no decision where these bits contradict each other."""
    decisions = []
    for connections in ([0, 1, 2], [0, 4, 8]):
        encoder = thermometer(4, [50, 120, 200])
        # 000, 001, 011 and 111 occur; all others have the opposite result.
        neuron = Layer(np.array([[connections]], np.int32), np.array([[0, 1, 1, 0, 1, 1, 1, 0]]))
        assert write_verilog(model_of([encoder, neuron], (1, 4)), tmp_path).returncode == 0
        assert simulate(tmp_path).startswith("PASS")
        module = re.search(r"module net_layer1.*?endmodule", (tmp_path / "net.v").read_text(), re.S).group()
        decisions.append(module.count("wire n"))
    assert decisions[0] < decisions[1]


def test_names_of_the_model_are_safe(tmp_path):
    layer = Layer.random(random(), 8, 3, 3)
    model = model_of([layer], (1, 8))
    model.graph.name = "end */ `define \n module x; \\"
    model.graph.input[0].name = model.graph.node[0].input[0] = "in */ \n`endif"
    done = write_verilog(model, tmp_path, stem="module")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "module.v").read_text()
    assert "`" not in text and "*/" not in text and "\\" not in text and "module module_model (" in text
    assert simulate(tmp_path, "module").startswith("PASS")


def refused(model, tmp_path, shape=None, **settings):
    done = write_verilog(model, tmp_path, shape, **settings)
    assert done.returncode != 0
    assert not list(tmp_path.glob("net*.v"))
    return done.stderr


def test_what_is_no_logic_is_named(tmp_path):
    layer = Layer.random(random(), 8, 4, 3)
    softmax = [helper.make_node("Cast", ["h1"], ["f"], to=TensorProto.FLOAT), helper.make_node("Softmax", ["f"], ["y"], name="the end")]
    model = model_of([layer], (1, 8), after=softmax, outputs=[helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])])
    assert "node 'the end' (Softmax)" in refused(model, tmp_path)


def test_a_batch_is_refused(weightless, tmp_path):
    assert "a batch of 1" in refused(counted_model(weightless, 16, 4), tmp_path, "x=2,16")


@pytest.mark.parametrize("settings, problem", [({"registers": "x"}, "registers is 'x'"), ({"name": "wire"}, "'wire' is not a name"),
                                               ({"colour": "red"}, "no setting 'colour'"), ({"samples": "none.npy"}, "none.npy")])
def test_wrong_settings_are_named(settings, problem, weightless, tmp_path):
    assert problem in refused(counted_model(weightless, 16, 4), tmp_path, "x=1,16", **settings)
