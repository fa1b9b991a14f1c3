"""Files that `--emit quark` writes: they load in ONNX Runtime with AMD Quark's own library, and give our bits."""
import numpy as np
import onnx
import pytest
from support import quark_library
from support.executing import Executor

pytestmark = pytest.mark.quark
RECIPES = {f"mx{element} {mode}": {"MXAttributes": {"element_dtype": element, "rounding_mode": mode}}
           for element in ("int8", "fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1") for mode in (0, 2)}
RECIPES |= {f"bfp {mode} {compiler}": {"BFPAttributes": {"rounding_mode": mode, "use_compiler_version_cpu_kernel": compiler}}
            for mode in (0, 1, 2) for compiler in (0, 1)}
RECIPES |= {f"prime {bits}": {"BFPAttributes": {"bfp_method": "to_bfp_prime", "bit_width": bits, "block_size": 16}} for bits in (11, 13, 16)}


def operators_of(model):
    return [node for node in model.graph.node if node.domain in ("com.amd.quark", "com.vai.quantize")]


def with_all_values(model):
    """Every input and output of an operator becomes an output of the graph."""
    shown = onnx.ModelProto.FromString(model.SerializeToString())
    known = {one.name for one in shown.graph.output} | {one.name for one in shown.graph.initializer} | {one.name for one in shown.graph.input}
    for node in operators_of(shown):
        for name in (node.input[0], node.output[0]):
            if name not in known:
                known.add(name)
                shown.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    return shown


@pytest.mark.parametrize("domain", ["com.amd.quark", "com.vai.quantize"])
@pytest.mark.parametrize("name", list(RECIPES))
def test_every_operator_of_a_file_gives_our_bits(name, domain):
    import anybit

    images = np.load("examples/digits/test_images.npy")[:32].astype(np.float32).reshape(-1, 1, 28, 28) / 255
    quantized = anybit.quantize("examples/digits/digits.onnx", RECIPES[name], emit="quark", domain=domain)
    model = with_all_values(onnx.load_from_string(quantized.to_bytes()))
    session = quark_library.session(model)
    names = [one.name for one in session.get_outputs()]
    theirs = dict(zip(names, session.run(None, {"image": images}))) | {"image": images}
    theirs |= {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    assert len(operators_of(model)) == 33
    for node in operators_of(model):
        x, wanted = theirs[node.input[0]], theirs[node.output[0]]
        graph = onnx.helper.make_graph([node], "one", [onnx.helper.make_tensor_value_info(node.input[0], 1, x.shape)],
                                       [onnx.helper.make_tensor_value_info(node.output[0], 1, x.shape)])
        alone = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid(domain, 1)])
        [got] = Executor(alone.SerializeToString()).run({node.input[0]: np.ascontiguousarray(x)})
        np.testing.assert_array_equal(got.view(np.uint32), wanted.view(np.uint32), err_msg=node.name)


@pytest.mark.parametrize("name", ["mxint8 0", "bfp 0 0", "prime 13"])
def test_a_file_decides_as_in_their_library(name):
    import anybit

    images = ((np.load("examples/digits/test_images.npy")[:500].astype(np.float32) / 255 - 0.1307) / 0.3081).reshape(-1, 1, 28, 28)
    quantized = anybit.quantize("examples/digits/digits.onnx", RECIPES[name], emit="quark").to_bytes()
    [ours] = Executor(quantized).run({"image": images})
    [theirs] = quark_library.session(onnx.load_from_string(quantized)).run(None, {"image": images})
    assert (ours.argmax(1) == theirs.argmax(1)).mean() > 0.99
