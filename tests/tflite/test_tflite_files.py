"""What becomes of whole files: layouts, quantization parameters, states, subgraphs, Circle."""
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from support.tflite_case import bytes_, floats
from support.tflite_cases import CASES
from support.tflite_files import File, Interpreter, OpResolverType, as_circle, litert, ours

import anybit


def onnx_of(content):
    return onnx.load_from_string(anybit.load(content).to_bytes())


def count(model, op):
    return sum(node.op_type == op for node in model.graph.node)


def small_net(rng):
    """conv, depthwise, residual, pool, mean, fully connected: float, channels last."""
    file = File()
    graph = file.graph
    x = graph.tensor((1, 8, 8, 3), name="image")
    a, b, c, d, e, f = (graph.tensor(shape) for shape in ((1, 8, 8, 4), (1, 8, 8, 4), (1, 8, 8, 4), (1, 4, 4, 4), (1, 4), (1, 2)))
    graph.op("CONV_2D", [x, graph.tensor(data=floats(rng, 4, 3, 3, 3)), graph.tensor(data=floats(rng, 4))], [a], "Conv2D",
             strideW=1, strideH=1, fusedActivationFunction=1)
    graph.op("DEPTHWISE_CONV_2D", [a, graph.tensor(data=floats(rng, 1, 3, 3, 4)), graph.tensor(data=floats(rng, 4))], [b],
             "DepthwiseConv2D", strideW=1, strideH=1, depthMultiplier=1)
    graph.op("ADD", [a, b], [c], "Add")
    graph.op("MUL", [c, graph.tensor(data=floats(rng, 4))], [c := graph.tensor((1, 8, 8, 4))], "Mul")
    graph.op("MAX_POOL_2D", [c], [d], "Pool2D", strideW=2, strideH=2, filterWidth=2, filterHeight=2)
    graph.op("MEAN", [d, graph.tensor(data=np.int32([1, 2]))], [e], "Reducer")
    graph.op("FULLY_CONNECTED", [e, graph.tensor(data=floats(rng, 2, 4)), graph.tensor(data=floats(rng, 2))], [f], "FullyConnected")
    graph.ports([x], [f])
    return file.bytes(), [floats(rng, 1, 8, 8, 3)]


def test_a_network_has_one_transpose_at_its_boundary():
    content, inputs = small_net(np.random.default_rng(1))
    assert count(onnx_of(content), "Transpose") == 1
    np.testing.assert_allclose(ours(content, inputs)[0], litert(content, inputs)[0], rtol=1e-5, atol=1e-5)


def test_the_names_of_inputs_outputs_and_weights_are_those_of_the_file():
    rng = np.random.default_rng(2)
    file = File()
    graph = file.graph
    x, y = graph.tensor((2, 3), name="serving/x:0"), graph.tensor((2, 4), name="StatefulPartitionedCall:0")
    graph.op("FULLY_CONNECTED", [x, graph.tensor(data=floats(rng, 4, 3), name="dense/kernel")], [y], "FullyConnected")
    graph.ports([x], [y])
    model = onnx_of(file.bytes())
    assert [port.name for port in (*model.graph.input, *model.graph.output)] == ["serving/x:0", "StatefulPartitionedCall:0"]
    assert "dense/kernel" in [constant.name for constant in model.graph.initializer]


def test_scales_and_zero_points_are_those_of_the_file():
    model = onnx_of(CASES["CONV_2D int8"]()[0])
    constants = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    quantizer = next(node for node in model.graph.node if node.op_type == "QuantizeLinear")
    assert constants[quantizer.input[1]] == np.float32(0.05) and constants[quantizer.input[2]] == -30
    weights = next(node for node in model.graph.node if node.op_type == "DequantizeLinear" and constants.get(node.input[0], np.zeros(1)).ndim == 4)
    assert constants[weights.input[0]].shape == (6, 4, 3, 3) and constants[weights.input[1]].shape == (6,)
    assert [attribute.i for attribute in weights.attribute if attribute.name == "axis"] == [0]


def test_a_depthwise_kernel_is_quantized_along_its_channels():
    model = onnx_of(CASES["DEPTHWISE_CONV_2D int8"]()[0])
    constants = {one.name: one for one in model.graph.initializer}
    weights = next(node for node in model.graph.node if node.op_type == "DequantizeLinear" and node.input[0] in constants
                   and len(constants[node.input[0]].dims) == 4)
    assert list(constants[weights.input[0]].dims) == [8, 1, 3, 3]
    assert [attribute.i for attribute in weights.attribute if attribute.name == "axis"] == [0]


def test_weights_of_int8_on_float_activations_stay_int8():
    """A dynamic-range file of TFLite: LiteRT also rounds the activations to 8 bits."""
    rng = np.random.default_rng(3)
    file = File()
    graph = file.graph
    weights = bytes_(rng, 5, 32)
    x, y = graph.tensor((4, 32)), graph.tensor((4, 5))
    graph.op("FULLY_CONNECTED", [x, graph.tensor(data=weights, scale=0.01)], [y], "FullyConnected")
    graph.ports([x], [y])
    values = floats(rng, 4, 32)
    found = ours(file.bytes(), [values])[0]
    np.testing.assert_allclose(found, values @ (weights.astype(np.float32).T * np.float32(0.01)), rtol=1e-4, atol=1e-4)
    assert {one.data_type for one in onnx_of(file.bytes()).graph.initializer if list(one.dims) == [5, 32]} == {onnx.TensorProto.INT8}


def test_weights_of_int4():
    rng = np.random.default_rng(4)
    file = File()
    graph = file.graph
    weights = rng.integers(-7, 8, (5, 31)).astype(np.int8)
    x, y = graph.tensor((4, 31)), graph.tensor((4, 5))
    graph.op("FULLY_CONNECTED", [x, graph.tensor(dtype="int4", data=weights, scale=np.linspace(0.01, 0.05, 5), axis=0)], [y], "FullyConnected")
    graph.ports([x], [y])
    values = floats(rng, 4, 31)
    wanted = values @ (weights.astype(np.float32) * np.linspace(0.01, 0.05, 5, dtype=np.float32)[:, None]).T
    np.testing.assert_allclose(ours(file.bytes(), [values])[0], wanted, rtol=1e-4, atol=1e-4)


def test_unknown_sizes_are_those_of_the_signature():
    file = File()
    graph = file.graph
    x, y = graph.tensor((1, 3), name="x", signature=(-1, 3)), graph.tensor((1, 3), signature=(-1, 3))
    graph.op("RELU", [x], [y])
    graph.ports([x], [y])
    values = np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3)
    np.testing.assert_array_equal(ours(file.bytes(), [values])[0], np.maximum(values, 0))


def test_variables_are_inputs_and_outputs():
    session = anybit.Session(anybit.load(CASES["READ_VARIABLE"]()[0]))
    assert [port.name for port in session.inputs] == ["x", "total"] and [port.name for port in session.outputs] == ["y", "total_next"]
    x = np.float32([[1, 2]])
    first = session.run({"x": x})
    np.testing.assert_array_equal(first["y"], [[11, 12]])
    np.testing.assert_array_equal(session.run({"x": x, "total": first["total_next"]})["y"], [[12, 14]])


def test_a_circle_file_is_read_by_the_same_operators():
    content, inputs, _ = CASES["CONV_2D"]()
    file = bytearray(content)
    file[4:8] = b"CIR0"
    with pytest.raises(anybit.Unsupported, match="version 3"):
        anybit.load(bytes(file))
    np.testing.assert_array_equal(ours(as_circle(content), inputs)[0], ours(content, inputs)[0])


CIRCLE = {"INSTANCE_NORM": (-2, lambda x, g, b: (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 0.25) * g + b),
          "RMS_NORM": (-6, lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.25) * g)}


@pytest.mark.parametrize("name", CIRCLE)
def test_operators_of_circle_alone(name):
    number, formula = CIRCLE[name]
    rng = np.random.default_rng(5)
    file = File()
    graph = file.graph
    x, y = graph.tensor((2, 3, 4, 5)), graph.tensor((2, 3, 4, 5))
    constants = [floats(rng, 5) for _ in range(formula.__code__.co_argcount - 1)]
    # Options of one float with id 0, under the number that Circle gives them.
    graph.op("LEAKY_RELU", [x, *(graph.tensor(data=one) for one in constants)], [y], "LeakyRelu", alpha=0.25)
    graph.made.operators[-1].builtinOptionsType = {"INSTANCE_NORM": 254, "RMS_NORM": 250}[name]
    file.made.operatorCodes[0].builtinCode = file.made.operatorCodes[0].deprecatedBuiltinCode = number
    file.made.version = 0
    graph.ports([x], [y])
    values = floats(rng, 2, 3, 4, 5)
    np.testing.assert_allclose(ours(file.bytes(b"CIR0"), [values])[0], formula(values, *constants), rtol=1e-4, atol=1e-5)


def test_the_commands_take_tflite_files(anybit, tmp_path):
    content, inputs = small_net(np.random.default_rng(6))
    (tmp_path / "net.tflite").write_bytes(content)
    (tmp_path / "data").mkdir()
    for i in range(4):
        np.save(tmp_path / "data" / f"{i}.npy", floats(np.random.default_rng(i), 1, 8, 8, 3))
    assert "image  float32[1, 8, 8, 3]" in anybit("inspect", tmp_path / "net.tflite").stdout
    anybit("quantize", tmp_path / "net.tflite", "-o", tmp_path / "net.q.onnx", "--recipe", "int8", "--calib", tmp_path / "data")
    anybit("compare", tmp_path / "net.tflite", tmp_path / "net.q.onnx", "--data", tmp_path / "data")
    anybit("calibrate", tmp_path / "net.tflite", "--data", tmp_path / "data", "-o", tmp_path / "ranges.json")
    anybit("run", tmp_path / "net.tflite", "--input", f"image={tmp_path / 'data' / '0.npy'}", "--output", tmp_path / "out")
    anybit("codegen", tmp_path / "net.tflite", "--target", "c-gen", "-o", tmp_path / "net.c")


@pytest.mark.parametrize("name", ["SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_tensors_with_state_are_inputs_and_outputs(name):
    content, inputs, _ = CASES[name]()
    interpreter = litert_of(content)
    session = anybit.Session(anybit.load(content))
    first, *states = [port.name for port in session.inputs]
    left = {}
    for _ in range(4):
        found = session.run({first: inputs[0], **left})
        left = {name: found.pop(name + "_next") for name in states}
        np.testing.assert_allclose(*found.values(), interpreter(inputs)[0], rtol=1e-5, atol=1e-6)


def litert_of(content):
    """LiteRT with the state of its runs."""
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()

    def run(inputs):
        for port, value in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(port["index"], value)
        interpreter.invoke()
        return [interpreter.get_tensor(port["index"]).copy() for port in interpreter.get_output_details()]
    return run


def test_a_model_with_state_runs_without_its_state(anybit, tmp_path):
    content, inputs, _ = CASES["READ_VARIABLE"]()
    (tmp_path / "net.tflite").write_bytes(content)
    np.save(tmp_path / "x.npy", inputs[0])
    anybit("run", tmp_path / "net.tflite", "--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path / "out")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), inputs[0] + 10)
