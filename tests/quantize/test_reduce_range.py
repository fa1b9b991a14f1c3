"""`reduce_range: pairs`: int8 weights for which ONNX Runtime does not saturate on any CPU."""
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.quantizing import DIGITS, ROOT, decibels, in_anybit, in_onnxruntime, net, onnxruntime_saturates, report_of, run_tool, samples

DEFAULTS = ["int8", "u8s8", "uint8", "int8-per-tensor", "int16x8", "int8x4", "dynamic-int8", "nnpa"]
INT16 = np.iinfo(np.int16)
node = helper.make_node


def saturating_matmul(data, weights):
    """uint8 [m, k] times int8 [k, n] as vpmaddubsw, vpmaddwd and vpaddd do it: the products of two neighbours are added in 16 bits."""
    if data.shape[1] % 2:
        data, weights = np.pad(data, ((0, 0), (0, 1))), np.pad(weights, ((0, 1), (0, 0)))
    products = data.astype(np.int32)[:, :, None] * weights.astype(np.int32)[None]
    return (products[:, 0::2] + products[:, 1::2]).clip(INT16.min, INT16.max).sum(1)


def matrices(model):
    """Every constant int8 weight of a linear operator as the matrices [k, n] that ONNX Runtime's kernels reduce: name and matrix."""
    held = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    makers = {name: one for one in model.graph.node for name in one.output}

    def quantized(value):  # through DequantizeLinear, and the Reshape to its own dimensions
        maker = makers.get(value)
        return quantized(maker.input[0]) if maker is not None and maker.op_type in ("DequantizeLinear", "Reshape") else held.get(value)

    right = {"MatMul": 1, "Gemm": 1, "MatMulInteger": 1, "QLinearMatMul": 3, "QAttention": 1, "Conv": 1, "QLinearConv": 3}
    for one in model.graph.node:
        data = makers.get(one.input[0]) if one.op_type in ("MatMul", "Gemm", "Conv") else one
        if data is None or (data is not one and data.op_type != "DequantizeLinear"):
            continue  # computed in float
        attributes = {each.name: helper.get_attribute_value(each) for each in one.attribute}
        inputs = [1, 2] if one.op_type == "DynamicQuantizeLSTM" else [right[one.op_type]] if one.op_type in right else []
        for name in (one.input[i] for i in inputs):
            w = quantized(name)
            if w is None or w.dtype != np.int8:
                continue
            if "Conv" in one.op_type:
                if attributes.get("group", 1) > 1 and w.shape[1] == 1 and w.shape[0] == attributes["group"]:
                    continue  # a depthwise one multiplies each tap by itself
                yield name, np.moveaxis(w, 1, -1).reshape(len(w), -1).T
            elif attributes.get("transB", 0):
                yield name, w.T
            else:
                for matrix in w.reshape(-1, *w.shape[-2:]):
                    yield name, matrix


def check_bound(path):
    """Asserts that no activations make a sum saturate. Returns the number of weights."""
    names, rng = set(), np.random.default_rng(1)
    for name, matrix in matrices(onnx.load(path)):
        names.add(name)
        k = matrix.shape[0] // 2 * 2
        wide = matrix.astype(np.int32)
        assert np.abs(wide[0:k:2] + wide[1:k:2]).max(initial=0) <= 128, name
        for column in range(min(matrix.shape[1], 16)):  # all positive weights times 255, all negative ones, and random data
            w = matrix[:, column:column + 1]
            data = np.stack([255 * (w[:, 0] > 0), 255 * (w[:, 0] < 0), rng.integers(0, 256, len(w))]).astype(np.uint8)
            np.testing.assert_array_equal(saturating_matmul(data, w), data.astype(np.int64) @ w.astype(np.int64), name)
    return len(names)


def large(rng, *shape):
    """Weights of one sign per output, all near the largest: the worst case."""
    return rng.uniform(0.7, 1, shape) * rng.choice([-1, 1], (shape[0], *[1] * (len(shape) - 1)))


def skewed(rng, *shape):
    return rng.standard_normal(shape) * rng.uniform(0.1, 3, (shape[0], *[1] * (len(shape) - 1))) + rng.uniform(-1, 1)


# The shape of x, the shapes of weights with outputs first, and the nodes.
NETS = {
    "MatMul": ([5, 64], {"w": (24, 64)}, [node("MatMul", ["x", "w"], ["y"])]),
    "MatMul of an odd length": ([3, 33], {"w": (7, 33)}, [node("MatMul", ["x", "w"], ["y"])]),
    "one row": ([1, 64], {"w": (24, 64)}, [node("MatMul", ["x", "w"], ["y"])]),
    "several matrices": ([2, 3, 16], {"w": (2, 8, 16)}, [node("MatMul", ["x", "w"], ["y"])]),
    "Gemm": ([5, 64], {"w": (24, 64)}, [node("Gemm", ["x", "w"], ["y"], transB=1)]),
    "Conv": ([1, 3, 8, 8], {"w": (8, 3, 3, 3)}, [node("Conv", ["x", "w"], ["y"])]),
    "Conv of a direct kernel": ([1, 8, 8, 8], {"w": (16, 8, 3, 3)}, [node("Conv", ["x", "w"], ["y"])]),
    "Conv of one channel": ([1, 1, 8, 8], {"w": (8, 1, 3, 3)}, [node("Conv", ["x", "w"], ["y"])]),
    "Conv by points": ([1, 32, 4, 4], {"w": (16, 32, 1, 1)}, [node("Conv", ["x", "w"], ["y"])]),
    "Conv in groups": ([1, 8, 8, 8], {"w": (16, 4, 3, 3)}, [node("Conv", ["x", "w"], ["y"], group=2)]),
    "Conv with two outputs a group": ([1, 4, 8, 8], {"w": (8, 1, 3, 3)}, [node("Conv", ["x", "w"], ["y"], group=4)]),
    "depthwise Conv": ([1, 16, 8, 8], {"w": (16, 1, 3, 3)}, [node("Conv", ["x", "w"], ["y"], group=16)]),
    "Conv over time": ([1, 6, 20], {"w": (8, 6, 3)}, [node("Conv", ["x", "w"], ["y"])]),
    "Conv of volumes": ([1, 3, 5, 5, 5], {"w": (8, 3, 2, 2, 2)}, [node("Conv", ["x", "w"], ["y"])]),
    "LSTM": ([6, 2, 20], {"W": (1, 64, 20), "R": (1, 64, 16)}, [node("LSTM", ["x", "W", "R"], ["y"], hidden_size=16)]),
    "on the left": ([64, 5], {"w": (24, 64)}, [node("MatMul", ["w", "x"], ["y"])]),
    "two activations": ([1, 6, 32], {"w": (32, 32), "v": (32, 32)}, [
        node("MatMul", ["x", "w"], ["q"]), node("MatMul", ["x", "v"], ["k"]), node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["q", "t"], ["s"]), node("MatMul", ["s", "k"], ["y"])]),
}


def save(folder, kind, make=large, seed=0):
    rng = np.random.default_rng(seed)
    shape, weights, nodes = NETS[kind]
    on_the_right = {one.input[1] for one in nodes if one.op_type == "MatMul"}
    held = {name: make(rng, *dims).astype(np.float32) / (8 if len(nodes) > 1 else 1) for name, dims in weights.items()}
    held = {name: np.ascontiguousarray(w.swapaxes(-1, -2)) if name in on_the_right else w for name, w in held.items()}
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", 1, shape)],
                              [helper.make_tensor_value_info("y", 1, None)],
                              [numpy_helper.from_array(w, name) for name, w in held.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    x = np.abs(rng.standard_normal(shape)).astype(np.float32)
    np.save(folder / "x.npy", x)
    return {"x": x}


def quantize(tool, folder, recipe, *more):
    done = run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "net.q.onnx", "--recipe", recipe,
                    "--calib", folder / "x.npy", *more, "--json")
    return report_of(done)


@pytest.mark.parametrize("kind", NETS)
@pytest.mark.parametrize("recipe", DEFAULTS)
def test_default_presets_are_exact_in_onnxruntime_on_every_cpu(tool, tmp_path, kind, recipe):
    for make in (large, skewed):
        feeds = save(tmp_path, kind, make)
        for emit in ("portable", "qoperator") if recipe in DEFAULTS[:4] else ("portable",):
            report = quantize(tool, tmp_path, recipe, "--emit", emit)
            assert report["safe_without_vnni"] and report["saturating"] == []
            if recipe != "int16x8":  # whose linear operators compute in float there
                check_bound(tmp_path / "net.q.onnx")
            plain, optimised = (in_onnxruntime(tmp_path / "net.q.onnx", feeds, optimised=how)[0] for how in (False, True))
            ours = in_anybit(tmp_path / "net.q.onnx", feeds)[0]
            assert decibels(plain, optimised) > 50 and decibels(ours, optimised) > 40


@pytest.mark.parametrize("seed", range(12))
def test_no_weights_of_any_shape_break_the_bound(tool, tmp_path, seed):
    rng = np.random.default_rng([seed, 77])
    kind = rng.choice([one for one in NETS if one != "two activations"])
    save(tmp_path, kind, [large, skewed][rng.integers(2)], seed)
    parts = rng.choice(["int8 sym channel", "int8 sym tensor", "int8 sym channel full"])
    data = rng.choice(["int8 asym", "uint8 asym", "int8 sym", "uint8 asym dynamic", "int8 asym dynamic"])
    refine = rng.choice(["none", "sums", "means"])
    print("seed", seed, kind, parts, data, refine)
    (tmp_path / "recipe.yaml").write_text(f"global: {{weights: {parts}, activations: {data}, refine: {refine}}}")
    report = quantize(tool, tmp_path, tmp_path / "recipe.yaml")
    assert report["safe_without_vnni"]
    check_bound(tmp_path / "net.q.onnx")


@pytest.mark.parametrize("model", ["digits", "cifar"])
def test_real_models_keep_the_bound_and_lose_little_accuracy(tool, tmp_path, model):
    if model == "digits":
        path, calibration = DIGITS / "digits.onnx", DIGITS / "samples"
    else:
        path, calibration = ROOT / "examples" / "cifar" / "cifar.onnx", tmp_path / "samples"
        samples(calibration, shape=(1, 3, 32, 32))
    losses = {}
    for how in ("pairs", "none"):
        report = report_of(run_tool(tool, "quantize", path, "-o", tmp_path / "q.onnx", "--calib", calibration,
                                    "--reduce-range", how, "--json"))
        losses[how] = np.array([one["sqnr_db"] for one in report["weights"]])
        assert report["safe_without_vnni"] == (how == "pairs")
        if how == "pairs":
            assert check_bound(tmp_path / "q.onnx") > 3
    assert 0 < np.mean(losses["none"] - losses["pairs"]) < 3 and (losses["pairs"] > 36).all()


def test_without_the_bound_sums_saturate_and_the_report_says_so(tool, tmp_path):
    feeds = save(tmp_path, "MatMul")
    report = quantize(tool, tmp_path, "int8", "--reduce-range", "none")
    assert report["safe_without_vnni"] is False and report["saturating"] == ["w"]
    (_, w), = matrices(onnx.load(tmp_path / "net.q.onnx"))
    data = np.full((1, 64), 255, np.uint8)
    assert (saturating_matmul(data, w) != data.astype(np.int32) @ w.astype(np.int32)).any()
    plain, optimised = (in_onnxruntime(tmp_path / "net.q.onnx", feeds, optimised=how)[0] for how in (False, True))
    assert (decibels(plain, optimised) < 50) == onnxruntime_saturates()  # without the bound, exactness is not guaranteed
    assert decibels(plain, in_anybit(tmp_path / "net.q.onnx", feeds)[0]) > 50
    text = run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "net.q.onnx", "--calib", tmp_path / "x.npy").stdout
    assert "safe for ONNX Runtime on CPUs without VNNI: yes" in text
    text = run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "net.q.onnx", "--calib", tmp_path / "x.npy",
                    "--reduce-range", "none").stdout
    assert "safe for ONNX Runtime on CPUs without VNNI: no, sums of products with w may saturate" in text


def test_on_is_an_alias_of_pairs(tool, tmp_path):
    save(tmp_path, "MatMul")
    made = []
    for word in ("pairs", "on"):
        quantize(tool, tmp_path, "int8", "--reduce-range", word)
        made.append((tmp_path / "net.q.onnx").read_bytes())
    assert made[0] == made[1]


def test_activations_as_right_operand_are_unsigned(tool, tmp_path):
    save(tmp_path, "two activations")
    report = quantize(tool, tmp_path, "int8")
    kinds = {one["name"]: one["to"] for one in report["tensors"]}
    assert kinds["k"] == "uint8 asym" and kinds["q"] == kinds["x"] == "int8 asym"
    report = quantize(tool, tmp_path, "int8", "--reduce-range", "none")
    assert {one["to"] for one in report["tensors"]} == {"int8 asym"} and {"k", "t"} <= set(report["saturating"])


@pytest.mark.parametrize("target, bounded", [("generic", True), ("ort", True), ("ethos-u55-128", False)])
def test_targets_set_the_default_and_recipes_override_it(tool, tmp_path, target, bounded):
    save(tmp_path, "Conv")
    assert quantize(tool, tmp_path, "int8", "--target", target)["safe_without_vnni"] == bounded
    for word in ("pairs", "none"):
        (tmp_path / "recipe.yaml").write_text(f"global: int8\ntype: {{Conv: {{reduce_range: {word}}}}}")
        report = quantize(tool, tmp_path, tmp_path / "recipe.yaml", "--target", target)
        assert report["safe_without_vnni"] == (word == "pairs")


def test_weights_that_cannot_be_bounded_are_reported(tool, tmp_path):
    save(tmp_path, "MatMul")
    (tmp_path / "recipe.yaml").write_text("global: {weights: int8 asym, activations: uint8 asym}")
    assert quantize(tool, tmp_path, tmp_path / "recipe.yaml")["saturating"] == ["w"]


def test_a_weight_with_two_reduction_orders_keeps_both_bounds(tool, tmp_path):
    rng = np.random.default_rng(5)
    graph = helper.make_graph(
        [node("MatMul", ["x", "w"], ["h"]), node("Gemm", ["h", "w"], ["y"], transB=1)], "net",
        [helper.make_tensor_value_info("x", 1, [4, 16])], [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(large(rng, 16, 16).astype(np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", rng.standard_normal((4, 16)).astype(np.float32))
    for recipe in ("int8", "int8-per-tensor"):
        assert quantize(tool, tmp_path, recipe)["safe_without_vnni"]
        assert check_bound(tmp_path / "net.q.onnx") == 2


def test_the_file_is_the_same_for_any_number_of_threads(tool, tmp_path):
    samples(tmp_path / "samples")
    onnx.save(net(), tmp_path / "net.onnx")
    files = []
    for threads in (1, 2, 3):
        run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--calib", tmp_path / "samples",
                 "--threads", threads)
        files.append((tmp_path / "q.onnx").read_bytes())
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("value", [3e38, 1e-38, 0.0])
def test_weights_at_the_ends_of_float_stay_finite(tool, tmp_path, value):
    graph = helper.make_graph([node("MatMul", ["x", "w"], ["y"])], "net", [helper.make_tensor_value_info("x", 1, [2, 8])],
                              [helper.make_tensor_value_info("y", 1, None)],
                              [numpy_helper.from_array(np.full((8, 4), value, np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", np.zeros((2, 8), np.float32))
    quantize(tool, tmp_path, "int8", "--refine", "none")
    held = {one.name: numpy_helper.to_array(one) for one in onnx.load(tmp_path / "net.q.onnx").graph.initializer}
    decoded = held["w_quantized"].astype(np.float32) * held["w_scale"]
    np.testing.assert_allclose(decoded, np.full((8, 4), value), rtol=0.02, atol=1e-37)


def test_another_value_is_rejected(tool, tmp_path):
    save(tmp_path, "MatMul")
    (tmp_path / "recipe.yaml").write_text("global: {weights: int8 sym, activations: int8 asym, reduce_range: true}")
    done = run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe.yaml",
                    "--calib", tmp_path / "x.npy", code=2)
    assert "reduce_range: true" in done.stderr and "pairs or none" in done.stderr
    done = run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "--reduce-range", "pair", code=2)
    assert "pairs or none" in done.stderr
