"""Static quantization: files are standard ONNX, run in ONNX Runtime, and give equal results in both."""
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnxruntime import quantization
from support.quantizing import decibels, in_anybit, in_onnxruntime, net, ops, report_of, run_tool, samples


@pytest.fixture
def files(tmp_path):
    onnx.save(net(), tmp_path / "net.onnx")
    return tmp_path, samples(tmp_path / "calib")


def quantize(tool, folder, *arguments, code=0):
    return run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "net.q.onnx", "--calib", folder / "calib",
                    *arguments, code=code)


@pytest.mark.parametrize("recipe, least", [("int8", 25), ("uint8", 25), ("int8-per-tensor", 20), ("int16", 60),
                                           ("int16x8", 28), ("int8x4", 10)])
def test_the_file_runs_in_both_runtimes_and_is_near_the_float_model(tool, files, recipe, least):
    folder, arrays = files
    quantize(tool, folder, "--recipe", recipe)
    onnx.checker.check_model(onnx.load(folder / "net.q.onnx"), full_check=True)
    feeds = {"x": np.concatenate(arrays)}
    reference = in_onnxruntime(folder / "net.onnx", feeds)[0]
    peer = in_onnxruntime(folder / "net.q.onnx", feeds)[0]
    ours = in_anybit(folder / "net.q.onnx", feeds)[0]
    assert decibels(reference, peer) > least
    assert decibels(reference, ours) > least
    assert decibels(peer, ours) > 40


def test_weights_are_integers_with_one_scale_per_channel(tool, files):
    folder, _ = files
    (folder / "nearest.yaml").write_text("global: {weights: int8 sym channel, activations: int8 asym, reduce_range: none}")
    quantize(tool, folder, "--recipe", folder / "nearest.yaml")
    before, after = onnx.load(folder / "net.onnx"), onnx.load(folder / "net.q.onnx")
    floats = {one.name: numpy_helper.to_array(one) for one in before.graph.initializer}
    held = {one.name: numpy_helper.to_array(one) for one in after.graph.initializer}
    w = held["w1_quantized"]
    assert w.dtype == np.int8 and w.shape == floats["w1"].shape and w.min() >= -127
    scale = held["w1_scale"]
    np.testing.assert_array_equal(scale, (np.abs(floats["w1"]).max((1, 2, 3)).astype(np.float64) / 127)
                                  .astype(np.float32))
    np.testing.assert_array_equal(w, np.clip(np.round(floats["w1"] / scale.reshape(-1, 1, 1, 1)), -127, 127))
    assert "w1" not in held
    bias = held["b1_quantized"]
    assert bias.dtype == np.int32
    unit = held["x_scale"] * scale
    np.testing.assert_array_equal(bias, np.round(floats["b1"].astype(np.float64) / unit))


def test_activations_have_the_parameters_of_the_formula(tool, files):
    folder, arrays = files
    report = report_of(quantize(tool, folder, "--json"))
    row = next(one for one in report["tensors"] if one["name"] == "x")
    low, high = min(a.min() for a in arrays), max(a.max() for a in arrays)
    scale = np.float32((float(high) - float(low)) / 255)
    assert row["scale"] == pytest.approx(float(scale), rel=1e-6)
    assert row["zero_point"] == round(-128 - float(low) / float(scale))


def test_relu_is_fused_into_the_convolution_and_a_decomposed_hard_swish_stays_in_float(tool, files):
    folder, _ = files
    quantize(tool, folder)
    graph = onnx.load(folder / "net.q.onnx").graph
    quantized = {node.input[0] for node in graph.node if node.op_type == "QuantizeLinear"}
    assert "c1" not in quantized and "r1" in quantized  # after the Relu
    assert not quantized & {"a2", "k2", "m2"}  # inside x · clip(x + 3) / 6
    assert {"c2", "h2", "c3"} <= quantized


def test_pass_through_values_share_their_parameters(tool, files):
    folder, _ = files
    quantize(tool, folder)
    graph = onnx.load(folder / "net.q.onnx").graph
    held = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    scales = {node.input[0]: held[node.input[1]] for node in graph.node if node.op_type == "QuantizeLinear"}
    assert scales["s3"] == scales["p3"]  # MaxPool
    assert scales["g3"] == scales["f3"]  # Flatten


def test_same_bytes_for_any_number_of_threads_and_any_order_of_samples(tool, files):
    folder, arrays = files
    quantize(tool, folder, "--threads", 1)
    first = (folder / "net.q.onnx").read_bytes()
    for i, array in enumerate(reversed(arrays)):
        np.save(folder / "calib" / f"{i:04}.npy", array)
    quantize(tool, folder, "--threads", 2)
    assert (folder / "net.q.onnx").read_bytes() == first


def test_excluded_nodes_and_types_stay_in_float(tool, files):
    folder, _ = files
    report = report_of(quantize(tool, folder, "--exclude", "Gemm,stem.conv", "--json"))
    outcome = {one["name"]: one["outcome"] for one in report["nodes"]}
    assert outcome["stem/conv"] == "float" and outcome["head/gemm"] == "float"
    assert outcome["body/pointwise"] == "quantized"


def test_a_loop_that_no_sample_reaches_leaves_nothing_to_quantize(tool, tmp_path):
    rng, helper = np.random.default_rng(6), onnx.helper
    value = helper.make_tensor_value_info
    weight = numpy_helper.from_array(rng.standard_normal((8, 8)).astype(np.float32), "w")
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["on"]), helper.make_node("MatMul", ["s", "w"], ["t"])], "b",
                             [value("i", 7, []), value("go", 9, []), value("s", 1, [2, 8])],
                             [value("on", 9, []), value("t", 1, [2, 8])], [weight])
    graph = helper.make_graph([helper.make_node("Loop", ["n", "", "x"], ["y"], name="rounds", body=body)], "g",
                              [value("x", 1, [2, 8]), value("n", 7, [])], [value("y", 1, [2, 8])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    (tmp_path / "calib").mkdir()
    for rounds, code in (0, "error"), (2, 0):
        np.savez(tmp_path / "calib" / "0.npz", x=rng.standard_normal((2, 8)).astype(np.float32), n=np.int64(rounds))
        said = quantize(tool, tmp_path, code=code).stderr
        assert not code or "'rounds' (Loop), body: no sample reached" in said
        assert (tmp_path / "net.q.onnx").exists() == (not code)


@pytest.mark.parametrize("excluded, node, quantized, whole", [
    ("Relu", "stem/relu", {"c1", "r1"}, set()), ("pool", "pool", {"c3"}, {"s3", "p3"}), ("Flatten", "flat", {"f3"}, {"g3"}),
    ("body.clip", "body/clip", {"c2"}, {"k2", "m2"})])
def test_pass_through_and_clamping_operators_stay_in_float_if_a_rule_says_so(tool, files, excluded, node, quantized, whole):
    folder, _ = files
    report = report_of(quantize(tool, folder, "--exclude", excluded, "--json"))
    note = {one["name"]: one for one in report["nodes"]}[node]
    assert note["outcome"] == "float" and note["reason"] == "the recipe leaves it in float"
    graph = onnx.load(folder / "net.q.onnx").graph
    held = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    scales = {node.input[0]: float(held[node.input[1]]) for node in graph.node if node.op_type == "QuantizeLinear"}
    assert quantized <= set(scales) and not whole & set(scales)
    assert len({scales[one] for one in quantized}) == len(quantized)  # its neighbors do not share parameters


def test_a_bias_add_is_not_fused_if_a_rule_leaves_it_in_float(tool, tmp_path):
    rng, helper = np.random.default_rng(3), onnx.helper
    held = {"w": rng.standard_normal((8, 8)), "b": rng.standard_normal(8), "v": rng.standard_normal((8, 8))}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], name="matmul"),
             helper.make_node("Add", ["p", "b"], ["s"], name="bias"),
             helper.make_node("MatMul", ["s", "v"], ["y"], name="last")]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "net", [value("x", 1, [2, 3, 8])], [value("y", 1, [2, 3, 8])],
                              [numpy_helper.from_array(array.astype(np.float32), name) for name, array in held.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    samples(tmp_path / "calib", shape=(2, 3, 8))
    for words, outcome in ([], "fused"), (["--exclude", "Add"], "float"):
        report = report_of(quantize(tool, tmp_path, "--no-prepare", *words, "--json"))
        assert {one["name"]: one["outcome"] for one in report["nodes"]}["bias"] == outcome


@pytest.mark.parametrize("opset, ir", [(9, 3), (11, 6), (12, 7)])
def test_older_models_are_raised_to_the_opset_that_channels_need(tool, tmp_path, opset, ir):
    model = net()
    nodes = [node for node in model.graph.node]
    if opset < 11:  # Clip had attributes then
        clip = next(node for node in nodes if node.op_type == "Clip")
        del clip.input[1:]
        clip.attribute.extend([onnx.helper.make_attribute("min", 0.0), onnx.helper.make_attribute("max", 6.0)])
    model.opset_import[0].version = opset
    model.ir_version = ir
    if ir < 4:
        model.graph.input.extend(onnx.helper.make_tensor_value_info(one.name, one.data_type, one.dims)
                                 for one in model.graph.initializer if one.name != "zero")
        del model.graph.initializer[[one.name for one in model.graph.initializer].index("zero")]
    onnx.save(model, tmp_path / "net.onnx")
    arrays = samples(tmp_path / "calib")
    report = report_of(quantize(tool, tmp_path, "--json"))
    assert report["opset"] == {"before": opset, "after": 13}
    feeds = {"x": arrays[0]}
    assert decibels(in_onnxruntime(tmp_path / "net.onnx", feeds)[0],
                    in_onnxruntime(tmp_path / "net.q.onnx", feeds)[0]) > 20


def save_conv_and_norm(path, module=""):
    """A Conv and the BatchNormalization behind it, whose names begin with the module's."""
    rng, helper = np.random.default_rng(3), onnx.helper
    arrays = {"w": rng.standard_normal((4, 3, 3, 3)), "g": rng.uniform(0.5, 2, 4), "b": rng.standard_normal(4),
              "m": rng.standard_normal(4), "v": rng.uniform(0.5, 2, 4)}
    constants = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in arrays.items()]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["c"], name=module + "conv"),
         helper.make_node("BatchNormalization", ["c", "g", "b", "m", "v"], ["y"], name=module + "norm")], "g",
        [helper.make_tensor_value_info("x", 1, [1, 3, 16, 16])], [helper.make_tensor_value_info("y", 1, None)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def test_batch_norm_is_folded_first_unless_a_rule_names_it(tool, tmp_path):
    save_conv_and_norm(tmp_path / "net.onnx")
    samples(tmp_path / "calib")
    quantize(tool, tmp_path)
    assert "BatchNormalization" not in ops(onnx.load(tmp_path / "net.q.onnx"))
    (tmp_path / "keep.yaml").write_text("global: int8\nname: {norm: float}\n")
    quantize(tool, tmp_path, "--recipe", tmp_path / "keep.yaml")
    assert "BatchNormalization" in ops(onnx.load(tmp_path / "net.q.onnx"))
    quantize(tool, tmp_path, "--no-prepare")
    assert "BatchNormalization" in ops(onnx.load(tmp_path / "net.q.onnx"))


@pytest.mark.parametrize("rule", ["name: {module: int16x8}", "type: {Conv: int16x8}", "name: {module/conv: int8}"])
def test_batch_norm_is_folded_into_a_convolution_that_a_rule_names_alone_or_with_it(tool, tmp_path, rule):
    save_conv_and_norm(tmp_path / "net.onnx", "module/")
    samples(tmp_path / "calib")
    (tmp_path / "rule.yaml").write_text(f"global: float\n{rule}\n")
    quantize(tool, tmp_path, "--recipe", tmp_path / "rule.yaml")
    nodes = ops(onnx.load(tmp_path / "net.q.onnx"))
    assert "Conv" in nodes and "BatchNormalization" not in nodes


def test_a_branch_that_no_sample_reached_stays_in_float_and_is_named(tool, tmp_path):
    rng = np.random.default_rng(5)
    helper = onnx.helper
    constants = [numpy_helper.from_array(rng.standard_normal((8, 8)).astype(np.float32), name) for name in ("wa", "wb")]

    def branch(name):
        return helper.make_graph([helper.make_node("MatMul", ["x", f"w{name}"], [f"y{name}"], name=f"matmul_{name}")],
                                 name, [], [helper.make_tensor_value_info(f"y{name}", 1, [2, 8])])

    graph = helper.make_graph(
        [helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0, name="sum"),
         helper.make_node("Greater", ["s", "zero"], ["is"], name="positive"),
         helper.make_node("If", ["is"], ["y"], then_branch=branch("a"), else_branch=branch("b"), name="choice")], "g",
        [helper.make_tensor_value_info("x", 1, [2, 8])], [helper.make_tensor_value_info("y", 1, [2, 8])],
        constants + [numpy_helper.from_array(np.float32(0), "zero")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    folder = tmp_path / "calib"
    folder.mkdir()
    for i in range(4):
        np.save(folder / f"{i}.npy", np.abs(rng.standard_normal((2, 8))).astype(np.float32))
    report = report_of(quantize(tool, tmp_path, "--json"))
    assert any("'choice' (If), else_branch: no sample reached" in remark for remark in report["remarks"])
    assert {one["graph"].split(", ")[-1] for one in report["nodes"]} == {"", "then_branch", "else_branch"}
    told = {one["name"]: one for one in report["nodes"]}
    assert told["matmul_a"]["outcome"] == "quantized" and told["matmul_b"]["outcome"] == "float"
    assert "no sample" in told["matmul_b"]["reason"]
    model = onnx.load(tmp_path / "net.q.onnx")
    branches = {one.name: one.g for node in model.graph.node if node.op_type == "If" for one in node.attribute}
    assert "QuantizeLinear" in [node.op_type for node in branches["then_branch"].node]
    assert [node.op_type for node in branches["else_branch"].node] == ["MatMul"]
    x = np.abs(rng.standard_normal((2, 8))).astype(np.float32)
    reference = in_onnxruntime(tmp_path / "net.onnx", {"x": x})[0]
    assert decibels(reference, in_onnxruntime(tmp_path / "net.q.onnx", {"x": x})[0]) > 25
    assert decibels(reference, in_anybit(tmp_path / "net.q.onnx", {"x": x})[0]) > 25


def test_integer_operators_instead_of_pairs(tool, files):
    folder, arrays = files
    quantize(tool, folder)
    pairs = in_onnxruntime(folder / "net.q.onnx", {"x": arrays[0]})[0]
    quantize(tool, folder, "--emit", "qoperator", "--recipe", "uint8")
    model = onnx.load(folder / "net.q.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert ops(model).count("QLinearConv") == 3 and "Conv" not in ops(model)
    assert decibels(pairs, in_onnxruntime(folder / "net.q.onnx", {"x": arrays[0]})[0]) > 25
    assert decibels(pairs, in_anybit(folder / "net.q.onnx", {"x": arrays[0]})[0]) > 25


def test_ranges_in_place_of_samples_give_the_same_file(tool, files):
    folder, _ = files
    run_tool(tool, "calibrate", folder / "net.onnx", "--data", folder / "calib", "-o", folder / "ranges.json")
    for refine, more in (("sums", []), ("means", ["--calib", folder / "calib"])):  # means are measured on samples
        quantize(tool, folder, "--no-prepare", "--refine", refine)
        wanted = (folder / "net.q.onnx").read_bytes()
        run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "net.q.onnx", "--ranges", folder / "ranges.json",
                 "--no-prepare", "--refine", refine, *more)
        assert (folder / "net.q.onnx").read_bytes() == wanted
    onnx.save(net(seed=9), folder / "net.onnx")
    done = run_tool(tool, "quantize", folder / "net.onnx", "-o", folder / "other.onnx", "--ranges", folder / "ranges.json",
                    code="error")
    assert "model" in done.stderr and not (folder / "other.onnx").exists()


def test_evaluation_reports_the_sqnr_of_every_layer(tool, files):
    folder, arrays = files
    np.savetxt(folder / "labels.txt", np.zeros(8, int), "%d")
    report = report_of(quantize(tool, folder, "--labels", folder / "labels.txt", "--json"))["comparison"]
    assert report["samples"] == 8 and report["labelled"] == 8
    feeds = {"x": np.concatenate(arrays)}
    reference, ours = in_onnxruntime(folder / "net.onnx", feeds)[0], in_anybit(folder / "net.q.onnx", feeds)[0]
    assert report["outputs"][0]["sqnr_db"] == pytest.approx(decibels(reference, ours), abs=0.1)
    assert report["reference"]["top1"] == pytest.approx((reference.argmax(1) == 0).mean())
    names = [one["name"] for one in report["layers"]]
    assert {"r1", "c2", "h2", "c3", "s3"} <= set(names)


def test_a_target_leaves_unsupported_operators_to_the_cpu(tool, files):
    folder, _ = files
    report = report_of(quantize(tool, folder, "-maccel=NNPA", "-march=arch15", "--json"))
    assert report == {**report_of(quantize(tool, folder, "--target", "nnpa", "--json")), "seconds": report["seconds"]}
    assert {one["to"] for one in report["nodes"] if one["op"] in ("Conv", "MatMul", "Gemm")} == {"float16, float16"}
    report = report_of(quantize(tool, folder, "--target", "nnpa", "--recipe", "nnpa", "--json"))
    outcome = {one["name"]: (one["outcome"], one["reason"]) for one in report["nodes"]}
    assert outcome["head/matmul"][0] == "dynamic" and outcome["head/gemm"][0] == "dynamic"
    assert outcome["stem/conv"] == ("float", "nnpa does not run it in int8: it stays in float")
    report = report_of(quantize(tool, folder, "--target", "ethos-u85-1024", "--json"))
    assert {one["outcome"] for one in report["nodes"] if one["op"] == "Conv"} == {"quantized"}
    metadata = {one.key: one.value for one in onnx.load(folder / "net.q.onnx").metadata_props}
    assert metadata["anybit.target"] == "ethos-u85-1024"


def test_an_embedding_has_a_quantized_table(tool, tmp_path):
    helper = onnx.helper
    table = np.random.default_rng(2).standard_normal((100, 16)).astype(np.float32)
    graph = helper.make_graph([helper.make_node("Gather", ["table", "ids"], ["y"], name="embedding")], "g",
                              [helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, ["n"])],
                              [helper.make_tensor_value_info("y", 1, ["n", 16])], [numpy_helper.from_array(table, "table")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    report = report_of(run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "net.q.onnx", "--recipe", "w8",
                                "--json"))
    assert report["weights"][0]["bytes_after"] < 0.35 * report["weights"][0]["bytes_before"]
    ids = np.array([3, 1, 99], np.int64)
    for run in (in_onnxruntime, in_anybit):
        assert decibels(table[ids], run(tmp_path / "net.q.onnx", {"ids": ids})[0]) > 35


def test_a_quantized_model_is_requantized_on_request(tool, files):
    folder, arrays = files
    quantize(tool, folder, "--recipe", "uint8")
    (folder / "net.q.onnx").rename(folder / "once.onnx")
    run_tool(tool, "quantize", folder / "once.onnx", "-o", folder / "twice.onnx", "--requantize", "--calib", folder / "calib",
             "--recipe", "int16x8")
    held = {one.data_type for one in onnx.load(folder / "twice.onnx").graph.initializer}
    assert onnx.TensorProto.INT16 in held and onnx.TensorProto.UINT8 not in held
    feeds = {"x": arrays[0]}
    once, twice = in_onnxruntime(folder / "once.onnx", feeds)[0], in_onnxruntime(folder / "twice.onnx", feeds)[0]
    assert decibels(once, twice) > 25


@pytest.mark.parametrize("observer", ["percentile 98", "entropy", "mse"])
def test_the_report_has_the_share_of_clipped_values(tool, files, observer):
    folder, arrays = files
    (folder / "recipe.yaml").write_text(f"global: {{weights: int8 sym channel, activations: int4 asym {observer}}}\n")
    report = report_of(quantize(tool, folder, "--recipe", folder / "recipe.yaml", "--json"))
    assert all(0 <= one["saturated"] < 0.5 for one in report["tensors"])
    row = next(one for one in report["tensors"] if one["name"] == "x")
    values = np.concatenate(arrays)
    outside = np.mean((values < row["low"]) | (values > row["high"]))
    assert row["saturated"] == pytest.approx(outside, abs=0.002) and outside > 0


def moved(case, rng):
    """Nodes between two linear operators that add a constant; the constants; the output shape."""
    node, array = onnx.helper.make_node, numpy_helper.from_array
    token = (rng.standard_normal((1, 1, 16)) * 10).astype(np.float32)
    if case == "concat":
        return [node("Concat", ["token", "a"], ["t"], axis=1)], [array(token, "token")]
    if case == "expand":
        return [node("Expand", ["token", "like"], ["tokens"]), node("Concat", ["tokens", "a"], ["t"], axis=1)], [
            array(token, "token")]
    if case == "sigmoid":
        return [node("Sigmoid", ["a"], ["s"]), node("Concat", ["s", "token"], ["t"], axis=1)], [array(token, "token")]
    if case == "pad":
        return [node("Pad", ["a", "pads", "value"], ["t"])], [array(np.array([0, 1, 0, 0, 0, 0]), "pads"),
                                                              array(np.float32(-60), "value")]
    return [node("ScatterND", ["a", "at", "token"], ["t"])], [array(np.array([[[0, 2]]]), "at"), array(token, "token")]


@pytest.mark.parametrize("observer", ["minmax", "percentile 99", "mse"])
@pytest.mark.parametrize("case", ["concat", "expand", "sigmoid", "pad", "scatter"])
def test_constants_that_are_merged_into_activations_are_in_their_range(tool, tmp_path, case, observer):
    rng, helper = np.random.default_rng(5), onnx.helper
    between, constants = moved(case, rng)
    constants += [numpy_helper.from_array((rng.standard_normal((16, n)) * 0.1).astype(np.float32), name)
                  for name, n in (("w", 16), ("v", 8))]
    info = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["a"]), *between,
                               helper.make_node("MatMul", ["t", "v"], ["y"])], "g",
                              [info("x", 1, (1, 6, 16))] + [info("like", 7, (3,))] * (case == "expand"),
                              [info("y", 1, (1, "n", 8))], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    feeds = {"x": rng.standard_normal((1, 6, 16)).astype(np.float32)}
    if case == "expand":
        feeds["like"] = np.array([1, 1, 16])
    np.savez(tmp_path / "calib.npz", **feeds)
    (tmp_path / "recipe.yaml").write_text(f"global: {{weights: int8 sym channel, activations: int8 asym {observer}}}")
    run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "net.q.onnx", "--calib", tmp_path / "calib.npz",
             "--recipe", tmp_path / "recipe.yaml")
    after = onnx.load(tmp_path / "net.q.onnx").graph
    held = {one.name: numpy_helper.to_array(one) for one in after.initializer}
    inside = next(one for one in after.node if one.op_type == "QuantizeLinear" and one.input[0] == "t")
    scale, zero = held[inside.input[1]], int(held[inside.input[2]])
    low, high = (-128 - zero) * scale, (127 - zero) * scale
    brought = held.get("token", held.get("value"))
    assert low - scale / 2 <= brought.min() and brought.max() <= high + scale / 2
    assert decibels(in_onnxruntime(tmp_path / "net.onnx", feeds)[0], in_onnxruntime(tmp_path / "net.q.onnx", feeds)[0]) > 15


def rectified(seed=3):
    """Conv, Relu, Conv, Clip from 0 to 6, pooling, Conv: values on both sides of both limits."""
    rng, helper = np.random.default_rng(seed), onnx.helper
    weight = lambda name, *shape: numpy_helper.from_array((rng.standard_normal(shape) * 1.2).astype(np.float32), name)
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], name="one"), helper.make_node("Relu", ["a"], ["b"], name="relu"),
             helper.make_node("Conv", ["b", "w2"], ["c"], name="two"),
             helper.make_node("Clip", ["c", "zero", "six"], ["d"], name="relu6"),
             helper.make_node("MaxPool", ["d"], ["e"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["e", "w3"], ["y"], name="three")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, (1, 3, 12, 12))],
                              [helper.make_tensor_value_info("y", 1, (1, 4, 3, 3))],
                              [weight("w1", 8, 3, 3, 3), weight("w2", 6, 8, 3, 3), weight("w3", 4, 6, 2, 2),
                               numpy_helper.from_array(np.float32(0), "zero"), numpy_helper.from_array(np.float32(6), "six")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("recipe", ["int8", "w8", "dynamic-int8"])
@pytest.mark.parametrize(("kind", "domain"), [("QInt8", ""), ("QUInt8", ""), ("QUInt8", "com.microsoft")])
def test_a_relu_implied_by_quantize_linear_is_restored_before_requantization(tool, tmp_path, kind, domain, recipe):
    onnx.save(rectified(), tmp_path / "net.onnx")
    arrays = samples(tmp_path / "calib", shape=(1, 3, 12, 12))

    class Reader(quantization.CalibrationDataReader):
        left = [{"x": one} for one in arrays]

        def get_next(self):
            return self.left.pop() if self.left else None

    quantization.quantize_static(tmp_path / "net.onnx", tmp_path / "once.onnx", Reader(), per_channel=True,
                                 activation_type=getattr(quantization.QuantType, kind), extra_options={"UseQDQContribOps": bool(domain)})
    assert any(node.domain == domain and node.op_type == "QuantizeLinear" for node in onnx.load(tmp_path / "once.onnx").graph.node)
    assert not {"Relu", "Clip"} & set(ops(onnx.load(tmp_path / "once.onnx")))  # or there is nothing to test
    run_tool(tool, "quantize", tmp_path / "once.onnx", "-o", tmp_path / "twice.onnx", "--requantize", "--calib",
             tmp_path / "calib", "--recipe", recipe)
    after = ops(onnx.load(tmp_path / "twice.onnx"))
    assert after.count("Relu") == 1 and after.count("Clip") == 1  # none after the pooling
    for array in arrays:
        reference = in_onnxruntime(tmp_path / "net.onnx", {"x": array})[0]
        assert decibels(reference, in_onnxruntime(tmp_path / "twice.onnx", {"x": array})[0]) > 20


def test_a_pair_whose_output_subgraphs_use_is_removed(tool, tmp_path):
    helper, rng = onnx.helper, np.random.default_rng(4)
    node, info = helper.make_node, helper.make_tensor_value_info
    array = lambda name, value: numpy_helper.from_array(np.asarray(value), name)
    weight = lambda name: array(name, rng.standard_normal((8, 8)).astype(np.float32))
    yes = helper.make_graph([node("MatMul", ["d", "w"], ["t"], name="inner")], "yes", [], [info("t", 1, (2, 8))], [weight("w")])
    no = helper.make_graph([node("Neg", ["d"], ["n"])], "no", [], [info("n", 1, (2, 8))])
    graph = helper.make_graph([node("MatMul", ["x", "v"], ["a"], name="outer"), node("QuantizeLinear", ["a", "s", "z"], ["q"]),
                               node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                               node("If", ["c"], ["y"], then_branch=yes, else_branch=no)], "g",
                              [info("x", 1, (2, 8)), info("c", 9, ())], [info("y", 1, (2, 8))],
                              [weight("v"), array("s", np.float32(0.1)), array("z", np.uint8(128))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    run_tool(tool, "quantize", tmp_path / "net.onnx", "-o", tmp_path / "net.q.onnx", "--requantize", "--recipe", "w8")
    assert "QuantizeLinear" not in ops(onnx.load(tmp_path / "net.q.onnx"))
    for taken in (True, False):
        feeds = {"x": rng.standard_normal((2, 8)).astype(np.float32), "c": np.array(taken)}
        assert decibels(in_onnxruntime(tmp_path / "net.onnx", feeds)[0],
                        in_onnxruntime(tmp_path / "net.q.onnx", feeds)[0]) > 25


def test_integer_operators_are_kept_by_requantize_and_reported(tool, files):
    folder, _ = files
    quantize(tool, folder, "--emit", "qoperator")
    (folder / "net.q.onnx").rename(folder / "once.onnx")
    report = report_of(run_tool(tool, "quantize", folder / "once.onnx", "-o", folder / "twice.onnx", "--requantize", "--calib",
                                folder / "calib", "--recipe", "mxfp4-weights", "--json", code=0))
    assert any("integer operators are left as they are" in one and "3 QLinearConv" in one for one in report["remarks"])
    rows = [one for one in report["nodes"] if one["op"] == "QLinearConv"]
    assert rows and all(one["reason"] == "it is an integer operator already" for one in rows)


def with_weights_among_inputs(model):
    """As older exporters write it: every constant is an input, too, with its value as a default."""
    for one in model.graph.initializer:
        model.graph.input.append(onnx.helper.make_tensor_value_info(one.name, one.data_type, list(one.dims)))
    return model


def test_weights_that_are_listed_among_the_inputs_are_weights(tool, files):
    folder, arrays = files
    quantize(tool, folder)
    expected = (folder / "net.q.onnx").read_bytes()
    onnx.save(with_weights_among_inputs(onnx.load(folder / "net.onnx")), folder / "net.onnx")
    done = quantize(tool, folder)
    assert "constants now: 11" in done.stdout
    after = onnx.load(folder / "net.q.onnx")
    assert [one.name for one in after.graph.input] == ["x"]
    assert after.graph == onnx.load_from_string(expected).graph


def test_an_input_with_a_default_that_samples_give_stays_an_input(tool, files):
    folder, arrays = files
    onnx.save(with_weights_among_inputs(onnx.load(folder / "net.onnx")), folder / "net.onnx")
    for i, array in enumerate(arrays):
        (folder / "calib" / f"{i:04}.npy").unlink()
        np.savez(folder / "calib" / f"{i:04}.npz", x=array, three=np.float32(2.5 + i / 8))
    quantize(tool, folder)
    assert sorted(one.name for one in onnx.load(folder / "net.q.onnx").graph.input) == ["three", "x"]


@pytest.mark.parametrize("recipe", ["int8", "w8", "dynamic-int8"])
def test_an_input_with_a_default_beside_weights_that_have_none_stays_an_input(tool, files, recipe):
    folder, _ = files
    model = onnx.load(folder / "net.onnx")
    model.graph.input.append(onnx.helper.make_tensor_value_info("six", onnx.TensorProto.FLOAT, []))
    onnx.save(model, folder / "net.onnx")
    quantize(tool, folder, "--recipe", recipe)
    assert [one.name for one in onnx.load(folder / "net.q.onnx").graph.input] == ["x", "six"]
