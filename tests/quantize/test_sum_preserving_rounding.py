"""Sum-preserving rounding (`refine: sums`): output channels keep the sums of their weights, in any format that rounds to nearest."""
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.quantizing import Executor, report_of, run_tool, samples

SIDE, CHANNELS = 12, 16
WEIGHTS = ["mxint8", "bfp16", "mx9", "block_fp", "mxfp8_e4m3", "nvfp4", "int8 sym channel", "int8 sym tensor", "uint8 asym tensor",
           "int4 sym block 32"]


def kernels(tmp_path, seed=11):
    """A depthwise convolution that nearly cancels over a uniform image, a dense one, and a MatMul."""
    rng = np.random.default_rng(seed)
    edges = rng.standard_normal((CHANNELS, 1, 3, 3))
    edges -= edges.mean((1, 2, 3), keepdims=True)
    weights = {"edges": edges, "mix": rng.standard_normal((8, CHANNELS, 3, 3)), "head": rng.standard_normal((8, 40))}
    nodes = [helper.make_node("Conv", ["x", "edges"], ["e"], name="edges", group=CHANNELS),
             helper.make_node("Conv", ["x", "mix"], ["m"], name="mix"),
             helper.make_node("ReduceMean", ["m"], ["f"], name="mean", axes=[2, 3], keepdims=0),
             helper.make_node("MatMul", ["f", "head"], ["y"], name="head")]
    graph = helper.make_graph(
        nodes, "kernels", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, CHANNELS, SIDE, SIDE])],
        [helper.make_tensor_value_info("e", onnx.TensorProto.FLOAT, [1, CHANNELS, SIDE - 2, SIDE - 2]),
         helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT, [1, 8, SIDE - 2, SIDE - 2]),
         helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 40])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "kernels.onnx")
    return tmp_path / "kernels.onnx"


def quantized(tool, tmp_path, weights, refine, *options):
    (tmp_path / "recipe.yaml").write_text(f"global: {{weights: {weights}, refine: {refine}}}")
    made = tmp_path / f"{refine}.onnx"
    done = run_tool(tool, "quantize", kernels(tmp_path), "-o", made, "--recipe", tmp_path / "recipe.yaml", "--json", *options)
    return made, report_of(done)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_uniform_image_gives_nearly_the_float_result(tool, tmp_path, weights):
    flat = {"x": np.ones((1, CHANNELS, SIDE, SIDE), np.float32)}
    expected = Executor(str(kernels(tmp_path))).run(flat)
    errors = {}
    for refine in ("none", "sums"):
        made, report = quantized(tool, tmp_path, weights, refine)
        errors[refine] = [np.sqrt(np.mean((a - b) ** 2)) for a, b in zip(Executor(str(made)).run(flat)[:2], expected)]
        assert (sum(one["rounded_for_sums"] for one in report["weights"]) > 0) == (refine == "sums")
    edges, mix = (after / before for after, before in zip(errors["sums"], errors["none"]))
    assert edges < 0.75 and mix < 0.35


@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_lose_little_accuracy(tool, tmp_path, weights):
    (_, nearest), (_, sums) = (quantized(tool, tmp_path, weights, refine) for refine in ("none", "sums"))
    for before, after in zip(nearest["weights"], sums["weights"]):
        assert before["sqnr_db"] - 2 < after["sqnr_db"] < before["sqnr_db"]
        assert before["bytes_after"] == after["bytes_after"]


def test_the_file_is_the_same_for_any_number_of_threads(tool, tmp_path):
    for weights in ("mxint8", "int8 sym channel"):
        files = [quantized(tool, tmp_path, weights, "sums", "--threads", threads)[0].read_bytes() for threads in (1, 2, 3)]
        assert files[0] == files[1] == files[2]


def test_presets_round_sum_preserving_and_a_file_can_turn_it_off(tool, tmp_path):
    samples(tmp_path / "samples", shape=(1, CHANNELS, SIDE, SIDE))
    for recipe in ("int8", "dynamic-int8", "mxint8", "bfp16-weights", "w8", "bfloat16", "w16", "binary"):
        (tmp_path / "off.yaml").write_text(f"global: {recipe}\ntype: {{Conv: {{refine: none}}, MatMul: {{refine: none}}}}")
        moved = [sum(one["rounded_for_sums"] for one in report_of(run_tool(
            tool, "quantize", kernels(tmp_path), "-o", tmp_path / "q.onnx", "--recipe", which, "--calib", tmp_path / "samples",
            "--json"))["weights"]) for which in (recipe, tmp_path / "off.yaml")]
        assert (moved[0] > 0) == (recipe not in ("w8", "bfloat16", "w16", "binary")), recipe
        assert moved[1] == 0, recipe


def test_another_word_is_rejected(tool, tmp_path):
    (tmp_path / "recipe.yaml").write_text("global: {weights: mxint8, refine: sum}")
    done = run_tool(tool, "quantize", kernels(tmp_path), "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe.yaml", code="error")
    assert "no refinement is called 'sum'" in done.stderr and "did you mean 'sums'?" in done.stderr


@pytest.mark.parametrize("words", [["sums", "sum-preserving-rounding", "[sum-preserving-rounding]", "none, sums"],
                                   ["means", "bias-correction", "[sums, bias-correction]", "sum-preserving-rounding, means"], ["none", "[]"]])
def test_a_refinement_has_one_meaning_under_all_its_names(tool, words, tmp_path):
    np.savez(tmp_path / "0.npz", x=np.random.default_rng(1).random((1, CHANNELS, SIDE, SIDE), np.float32))
    np.savez(tmp_path / "1.npz", x=np.random.default_rng(2).random((1, CHANNELS, SIDE, SIDE), np.float32))
    made = []
    for word in words:
        text = word if word.startswith("[") else repr(word)
        (tmp_path / "recipe.yaml").write_text(f"global: {{weights: int8 sym channel, activations: int8 asym, refine: {text}}}")
        run_tool(tool, "quantize", kernels(tmp_path), "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "recipe.yaml", "--calib", tmp_path / "0.npz",
                 tmp_path / "1.npz")
        made.append((tmp_path / "q.onnx").read_bytes())
    assert all(one == made[0] for one in made)


def test_a_flag_beside_a_preset_says_how_weights_are_rounded(tool, tmp_path):
    made = {}
    for words in (["--recipe", "mxint8-weights"], ["--recipe", "mxint8-weights", "--refine", "none"], ["--dynamic", "--refine", "none"],
                  ["--recipe", "mxint8-weights", "--op-types", "Conv", "--refine", "none"],
                  ["--recipe", "w8", "--op-types", "Conv", "--refine", "sums"]):
        report = report_of(run_tool(tool, "quantize", kernels(tmp_path), "-o", tmp_path / "q.onnx", *words, "--json"))
        made[" ".join(words)] = sum(one["rounded_for_sums"] for one in report["weights"])
    assert list(map(bool, made.values())) == [True, False, False, False, True], made


def test_the_flag_is_not_for_files_and_takes_names_of_refinements(tool, tmp_path):
    (tmp_path / "recipe.yaml").write_text("global: mxint8-weights")
    for words, told in ((["--recipe", tmp_path / "recipe.yaml", "--refine", "none"], "--refine is for presets"),
                        (["--recipe", "w8", "--refine", "sum"], "did you mean 'sums'?")):
        done = run_tool(tool, "quantize", kernels(tmp_path), "-o", tmp_path / "q.onnx", *words, code="error")
        assert told in done.stderr and not (tmp_path / "q.onnx").exists()
