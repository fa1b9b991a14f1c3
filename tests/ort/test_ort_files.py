"""Files of --emit packed in ONNX Runtime with libanybit_ort.so: the results of anybit, at its speed."""
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.ort_library import IR, OPSET, WithLibrary

from anybit import Session, quantize

DIGITS = "examples/digits/digits.onnx"


@pytest.fixture(scope="module")
def images():
    return (np.load("examples/digits/test_images.npy")[:50].astype(np.float32) / 255 - 0.1307) / 0.3081


def layers(width, count=2):
    """MatMul, Gemm, MatMul …: each with a square weight."""
    rng = np.random.default_rng(3)
    nodes, value = [], "x"
    constants = {"bias": rng.standard_normal(width).astype(np.float32)}
    for i in range(count):
        constants[f"w{i}"] = (rng.standard_normal((width, width)) / np.sqrt(width)).astype(np.float32)
        if i % 2:
            nodes.append(helper.make_node("Gemm", [value, f"w{i}", "bias"], [f"h{i}"], name=f"gemm{i}", transB=1, beta=0.5))
        else:
            nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"h{i}"], name=f"matmul{i}"))
        value = f"h{i}"
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", width]) for name in ("x", value)]
    graph = helper.make_graph(nodes, "layers", ports[:1], ports[1:], [numpy_helper.from_array(one, name) for name, one in constants.items()])
    return helper.make_model(graph, ir_version=IR, opset_imports=[helper.make_opsetid("", OPSET)])


@pytest.mark.parametrize("recipe", ["mxfp4", "mxint8", "bfp16", "mx6-weights", "ternary", "binary", "fp8-weights"])
def test_the_digits_network_gives_the_same_decisions(recipe, images, tmp_path):
    quantize(DIGITS, recipe, emit="packed").save(tmp_path / "packed.onnx")
    [ours] = Session(tmp_path / "packed.onnx").run({"image": images}).values()
    [theirs] = WithLibrary(str(tmp_path / "packed.onnx")).run(image=images)
    # Float convolutions add up in another order, so a rounding may go the other way.
    assert np.abs(ours - theirs).max() <= 0.05 * np.abs(ours).max()
    assert (ours.argmax(1) == theirs.argmax(1)).mean() >= 0.98


@pytest.mark.parametrize("recipe", ["mxfp4-weights", "mxint8", "nvfp4-weights"])
def test_linear_operators_stay_packed_and_have_our_bits(recipe, tmp_path):
    quantize(layers(1024), recipe, emit="packed").save(tmp_path / "packed.onnx")
    ops = [node.op_type for node in onnx.load(tmp_path / "packed.onnx").graph.node]
    assert [op for op in ops if op != "QuantizeDequantize"] == ["DecodeMatMul", "DecodeMatMul"]
    x = np.random.default_rng(4).standard_normal((6, 1024)).astype(np.float32)
    [ours] = Session(tmp_path / "packed.onnx").run({"x": x}).values()
    for threads in (1, 2):
        np.testing.assert_array_equal(WithLibrary(str(tmp_path / "packed.onnx"), threads).run(x=x)[0], ours)


def test_a_weight_with_two_consumers_is_decoded(tmp_path):
    model = layers(64)
    model.graph.node.append(helper.make_node("MatMul", ["x", "w0"], ["z"], name="again"))
    model.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, None))
    quantize(model, "mxint8-weights", emit="packed").save(tmp_path / "packed.onnx")
    ops = [node.op_type for node in onnx.load(tmp_path / "packed.onnx").graph.node]
    assert sorted(ops) == ["Decode", "DecodeMatMul", "MatMul", "MatMul"]
    x = np.random.default_rng(4).standard_normal((6, 64)).astype(np.float32)
    ours = Session(tmp_path / "packed.onnx").run({"x": x})
    for one, other in zip(ours.values(), WithLibrary(str(tmp_path / "packed.onnx")).run(x=x)):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("about", [dict(transA=1), dict(alpha=0.25, transB=1), {}])
def test_a_gemm_of_any_attributes_keeps_its_results(about, tmp_path):
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((40, 64) if about.get("transB") else (64, 40)).astype(np.float32)
    node = helper.make_node("Gemm", ["x", "w"], ["y"], name="gemm", **about)
    shape = [64, 6] if about.get("transA") else [6, 64]
    graph = helper.make_graph([node], "one", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [6, 40])], [numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, ir_version=IR, opset_imports=[helper.make_opsetid("", OPSET)])
    x = rng.standard_normal(shape).astype(np.float32)
    results = []
    for emit in ("portable", "packed"):
        quantize(model, "mxint8-weights", emit=emit).save(tmp_path / f"{emit}.onnx")
        results += [Session(tmp_path / f"{emit}.onnx").run({"x": x})["y"], WithLibrary(str(tmp_path / f"{emit}.onnx")).run(x=x)[0]]
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], rtol=1e-5, atol=1e-5)


def best_time(run, times=25):
    run()
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best


def test_a_packed_file_is_as_fast_as_in_anybit(tmp_path):
    quantize(layers(2048), "mxfp4-weights", emit="packed").save(tmp_path / "packed.onnx")
    x = np.random.default_rng(4).standard_normal((1, 2048)).astype(np.float32)
    ours, theirs = Session(tmp_path / "packed.onnx", threads=1), WithLibrary(str(tmp_path / "packed.onnx"))
    # Interleaved, and the best of many: other programs run on this machine.
    ratio = min(best_time(lambda: theirs.run(x=x)) / best_time(lambda: ours.run({"x": x})) for _ in range(3))
    assert ratio < 1.5


def test_a_packed_file_is_read_by_anybit_as_before(tmp_path, anybit):
    """Decode and the linear operator are one node in the file only."""
    quantize(layers(64), "mxfp4-weights", emit="packed").save(tmp_path / "packed.onnx")
    said = anybit("inspect", tmp_path / "packed.onnx").stdout
    assert "DecodeMatMul" not in said and "mxfp4_e2m1" in said
    again = anybit("quantize", tmp_path / "packed.onnx", "-o", tmp_path / "portable.onnx", "--recipe", "mxfp4-weights",
                   "--requantize")
    assert again.returncode == 0
    assert anybit("codegen", tmp_path / "packed.onnx", "--target", "c-gen", "-o", tmp_path / "model.c", "--shape", "x=1,64",
                  code=(0, 1, 2)).returncode == 0
