"""Gradients of models against central differences in float64."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from support.executing import Executor, raise_opset, with_gradients

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)
OLDEST = 18             # opset of the rules
MOST = 24               # elements of an input that are checked one by one; the others along random directions
DIRECTIONS = 2
STEPS = (1e-3, 1e-5)    # the second in case that there is a kink within the first
RTOL = 1e-6
LOSS = "the loss"


def _kept_float32(model):
    """Inputs that ONNX allows in float32 only."""
    return {node.input[2] for node in model.graph.node if node.op_type == "Resize" and len(node.input) > 2}


def _cast(attribute):
    """Casts to float32 and constants of float32 become float64."""
    if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
        attribute.i = TensorProto.DOUBLE
    value = None
    if attribute.name == "value" and attribute.t.data_type == TensorProto.FLOAT:
        value = numpy_helper.to_array(attribute.t)
    if attribute.name in ("value_float", "value_floats"):
        value = helper.get_attribute_value(attribute)
    if value is not None:
        attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(np.asarray(value, np.float64))))


def in_double(model):
    """The model in float64."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    kept = _kept_float32(model)
    for port in [*model.graph.input, *model.graph.output]:
        kind = port.type.tensor_type
        if kind.elem_type in FLOATS and port.name not in kept:
            kind.elem_type = TensorProto.DOUBLE
    del model.graph.value_info[:]
    for node in model.graph.node:
        for attribute in node.attribute:
            _cast(attribute)
    for i, constant in enumerate(model.graph.initializer):
        if constant.data_type in FLOATS and constant.name not in kept:
            double = numpy_helper.to_array(constant).astype(np.float64)
            model.graph.initializer[i].CopyFrom(numpy_helper.from_array(double, constant.name))
    return model


def feeds_in_double(model, feeds):
    kept = _kept_float32(model)
    return {name: np.asarray(x).astype(np.float64) if np.asarray(x).dtype.kind == "f" and name not in kept else np.asarray(x)
            for name, x in feeds.items()}


def with_loss(model, feeds, rng, through=None):
    """The model with the output LOSS: the sum of its float outputs (the first `through`), each element with a random weight."""
    outputs = Executor(model.SerializeToString(), threads=1).run(feeds)
    made = onnx.ModelProto.FromString(model.SerializeToString())
    graph, parts = made.graph, []
    for port, value in list(zip(model.graph.output, outputs))[:through]:
        if not isinstance(value, np.ndarray) or value.dtype != np.float64:
            continue
        weight = f"weight of {port.name}"
        graph.initializer.append(numpy_helper.from_array(np.asarray(rng.uniform(0.5, 1.5, value.shape) *
                                                                    rng.choice([-1, 1], value.shape)), weight))
        graph.node.append(helper.make_node("Mul", [port.name, weight], [f"{weight}, times"]))
        graph.node.append(helper.make_node("ReduceSum", [f"{weight}, times"], [f"{weight}, sum"], keepdims=0))
        parts.append(f"{weight}, sum")
    graph.node.append(helper.make_node("Sum", parts, [LOSS]))
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info(LOSS, TensorProto.DOUBLE, []))
    return made


def raised(model):
    opset = next(one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))
    return model if opset >= OLDEST else raise_opset(model, OLDEST)


def _slope(loss, feeds, name, direction, step):
    """The derivative of the loss along a direction, to the fourth order of the step."""
    def at(t):
        return float(loss({**feeds, name: feeds[name] + t * step * direction}))
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


def directions_of(value, rng):
    chosen = np.arange(value.size) if value.size <= MOST else rng.choice(value.size, MOST, replace=False)
    for index in chosen:
        one = np.zeros(value.size)
        one[index] = 1
        yield one.reshape(value.shape)
    for _ in range(DIRECTIONS if value.size > MOST else 0):
        yield rng.uniform(-1, 1, value.shape)


def check(model, feeds, wanted, rng, recompute=False, about=""):
    """The gradients of the model's output LOSS agree with central differences."""
    forward = Executor(model.SerializeToString(), threads=1)
    results = Executor(with_gradients(model, LOSS, wanted, recompute).SerializeToString(), threads=1).run(feeds)
    gradients = dict(zip(wanted, results[1:]))

    def loss(values):
        return forward.run(values)[0]

    assert float(results[0]) == float(loss(feeds)), about
    for name in wanted:
        gradient = gradients[name]
        assert gradient.shape == feeds[name].shape and gradient.dtype == np.float64, f"{about}: {name}: {gradient.shape}"
        scale = max(np.abs(gradient).max(initial=0), 1e-6)
        for direction in directions_of(feeds[name], rng):
            exact = float((gradient * direction).sum())
            slopes = [_slope(loss, feeds, name, direction, STEPS[0])]
            if abs(slopes[0] - exact) > RTOL * max(abs(exact), 1e-3 * scale):
                slopes.append(_slope(loss, feeds, name, direction, STEPS[1]))
            assert abs(slopes[-1] - exact) <= RTOL * max(abs(exact), 1e-3 * scale) * (1 if len(slopes) == 1 else 10), (
                f"{about}: d loss / d {name} along {np.flatnonzero(direction)}: {exact}, and by differences {slopes}")


def check_model(model, feeds, rng, wanted=None, through=None, about=""):
    """The gradients of a model's float inputs, through its float outputs (the first `through`)."""
    model = in_double(raised(model))
    feeds = feeds_in_double(model, feeds)
    wanted = wanted or [name for name, x in feeds.items() if x.dtype == np.float64]
    check(with_loss(model, feeds, rng, through), feeds, wanted, rng, about=about)
