"""RNN, GRU and LSTM compared with ONNX Runtime."""
import numpy as np
import pytest
from support.executing import ExecutorError
from support.one_node import compare, model_of, ours

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DIRECTIONS = ("forward", "reverse", "bidirectional")


def case(random, name, direction="forward", steps=7, batch=3, size=10, hidden=12, full=True, kind=np.float32):
    """The inputs of a node, all but the peepholes."""
    both = 2 if direction == "bidirectional" else 1
    gates = GATES[name] * hidden

    def draw(*shape):
        return (random.standard_normal(shape) / np.sqrt(max(4, hidden))).astype(kind)

    inputs = [draw(steps, batch, size), draw(both, gates, size), draw(both, gates, hidden)]
    if full:
        inputs += [draw(both, 2 * gates), None, draw(both, batch, hidden)]
        inputs += [draw(both, batch, hidden)] if name == "LSTM" else []
    return inputs, dict(direction=direction, hidden_size=hidden, outputs=3 if name == "LSTM" else 2)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("constant", [False, True])
def test_every_direction(name, direction, constant):
    inputs, about = case(np.random.default_rng(1), name, direction)
    compare(name, inputs, constants=(1, 2, 3) if constant else (), **about)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_sequences_of_different_lengths(name, direction):
    inputs, about = case(np.random.default_rng(2), name, direction, batch=4)
    inputs[4] = np.array([7, 3, 1, 5], np.int32)
    compare(name, inputs, **about)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("batch,hidden", [(1, 1), (1, 128), (5, 33)])
def test_sizes(name, batch, hidden):
    inputs, about = case(np.random.default_rng(3), name, batch=batch, hidden=hidden, full=False)
    compare(name, inputs, **about)


def test_gru_with_linear_before_reset():
    for direction in DIRECTIONS:
        inputs, about = case(np.random.default_rng(4), "GRU", direction)
        compare("GRU", inputs, linear_before_reset=1, **about)


@pytest.mark.parametrize("name,activations", [("RNN", ["Relu"]), ("RNN", ["LeakyRelu"]), ("RNN", ["ThresholdedRelu"]),
                                              ("RNN", ["Affine"]), ("RNN", ["Softsign"]), ("RNN", ["Elu"]),
                                              ("RNN", ["ScaledTanh"]), ("GRU", ["HardSigmoid", "Softplus"]),
                                              ("LSTM", ["HardSigmoid", "ScaledTanh", "Affine"])])
def test_activations_consume_alpha_and_beta_in_order(name, activations):
    inputs, about = case(np.random.default_rng(5), name)
    compare(name, inputs, activations=activations, activation_alpha=[0.3, 0.5, 0.7], activation_beta=[0.4, 0.6, 0.2],
            **about)


def test_an_lstm_with_clipping_coupled_gates_and_peepholes():
    random = np.random.default_rng(6)
    for direction in DIRECTIONS:
        inputs, about = case(random, "LSTM", direction)
        holes = (random.standard_normal((len(inputs[1]), 36)) * 0.5).astype(np.float32)
        compare("LSTM", inputs + [holes], **about)
        compare("LSTM", inputs, clip=0.4, **about)
        compare("LSTM", inputs, input_forget=1, **about)


@pytest.mark.parametrize("name", GATES)
def test_the_batch_may_come_first(name):
    inputs, about = case(np.random.default_rng(7), name, "bidirectional")
    wanted = ours(model_of(name, inputs, **about), inputs)
    turned = [x if x is None or i not in (0, 5, 6) else np.ascontiguousarray(x.swapaxes(0, 1))
              for i, x in enumerate(inputs)]
    got = ours(model_of(name, turned, layout=1, **about), turned)
    np.testing.assert_allclose(got[0], wanted[0].transpose(2, 0, 1, 3), rtol=1e-6)
    for one, other in zip(got[1:], wanted[1:]):
        np.testing.assert_allclose(one, other.swapaxes(0, 1), rtol=1e-6)


@pytest.mark.parametrize("kind,rough", [(np.float64, 1e-5), (np.float16, 2e-3)])
def test_other_floats(kind, rough):
    inputs, about = case(np.random.default_rng(8), "LSTM", kind=kind)
    plain = [x if x is None or i == 4 else x.astype(np.float32) for i, x in enumerate(inputs)]
    wanted = ours(model_of("LSTM", plain, **about), plain)
    for one, other in zip(ours(model_of("LSTM", inputs, **about), inputs), wanted):
        assert one.dtype == kind
        np.testing.assert_allclose(one.astype(np.float64), other, rtol=rough, atol=rough)


def quantized_case(inputs, by_column=False, kind=np.int8):
    """The inputs of an LSTM as those of DynamicQuantizeLSTM."""
    for weight in (1, 2):
        w = inputs[weight].transpose(0, 2, 1)
        axes = (1,) if by_column else (1, 2)
        scale = (np.abs(w).max(axes) / 63).astype(np.float32)  # 7 bits: ONNX Runtime saturates beyond
        zero = np.full(scale.shape, 64 if kind == np.uint8 else 0, kind)
        spread = scale[:, None] if by_column else scale[:, None, None]
        quantized = np.clip(np.rint(w / spread) + int(zero.flat[0]), np.iinfo(kind).min, np.iinfo(kind).max)
        inputs[weight] = np.ascontiguousarray(quantized.astype(kind))
        while len(inputs) < 8:
            inputs.append(None)
        inputs += [scale, zero]
    return inputs


def compare_quantized(inputs, about):
    compare("DynamicQuantizeLSTM", inputs, rtol=1e-3, atol=2.5e-3, constants=(1, 2, 8, 9, 10, 11),
            domain="com.microsoft", **about)


@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_dynamic_quantize_lstm(by_column, direction, kind):
    inputs, about = case(np.random.default_rng(9), "LSTM", direction, batch=1)
    compare_quantized(quantized_case(inputs, by_column, kind), about)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("lengths", [(4, 4), (4, 2), (3, 5), (7, 3)])
def test_steps_after_the_longest_sequence_do_not_widen_the_range(direction, lengths):
    inputs, about = case(np.random.default_rng(9), "LSTM", direction, batch=2)
    inputs[0][max(lengths):] *= 1000
    inputs[4] = np.array(lengths, np.int32)
    compare_quantized(quantized_case(inputs), about)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_no_sequence_need_be_as_long_as_the_input(name, direction):
    inputs, about = case(np.random.default_rng(11), name, direction, batch=3)
    inputs[4] = np.array([4, 1, 3], np.int32)
    compare(name, inputs, **about)


def test_wrong_shapes_are_errors():
    inputs, about = case(np.random.default_rng(10), "LSTM")
    for place, shape in [(1, (1, 48, 9)), (2, (1, 40, 12)), (3, (1, 95)), (5, (1, 2, 12))]:
        broken = list(inputs)
        broken[place] = np.zeros(shape, np.float32)
        with pytest.raises(ExecutorError, match="shape|hidden"):
            ours(model_of("LSTM", broken, **about), broken)
    inputs[4] = np.array([7, 3, 8], np.int32)
    with pytest.raises(ExecutorError, match="sequence_lens holds 8"):
        ours(model_of("LSTM", inputs, **about), inputs)
