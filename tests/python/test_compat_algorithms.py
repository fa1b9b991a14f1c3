"""The algorithms of Quark, NNCF and AIMET by their own names: `anybit.compat.quark`, `nncf` and `aimet`."""
import inspect

import anybit
import numpy as np
import onnx
import pytest
from anybit.compat import aimet, nncf, quark


class Reader:
    """A data reader as Quark's and ONNX Runtime's."""

    def __init__(self, images):
        self.left = iter([{"image": one[None]} for one in images])

    def get_next(self):
        return next(self.left, None)


def names(model):
    return list(model.report.refinements)


def specs(model):
    return {one.spec for one in model.report.weights}


def parameters(function):
    """Names of the parameters, and defaults of those that have one, as the documents of the tools give them."""
    return {name: one.default for name, one in inspect.signature(function).parameters.items()
            if name != "self" and one.kind is not inspect.Parameter.VAR_KEYWORD}


# --- Quark ---

QUARK = {
    quark.SmoothQuantConfig: {"alpha": 0.5},
    quark.CLEConfig: {"cle_balance_method": "max", "cle_steps": 1, "cle_weight_threshold": 0.5, "cle_scale_append_bias": True,
                      "cle_scale_use_threshold": True, "cle_total_layer_diff_threshold": 1.9e-7},
    quark.BiasCorrectionConfig: {},
    quark.GPTQConfig: {"bits": 8, "block_size": 128, "group_size": -1, "perc_damp": 0.01, "act_order": False, "per_channel": False,
                       "mse": False, "weight_symmetric": True},
}


@pytest.mark.parametrize("kind", QUARK, ids=lambda one: one.__name__)
def test_the_signatures_of_quarks_algorithms_are_quarks(kind):
    assert parameters(kind) == QUARK[kind]
    assert list(parameters(quark.QConfig)) == ["global_config", "specific_layer_config", "layer_type_config", "exclude", "algo_config",
                                               "use_external_data_format", "extra_options"]


@pytest.mark.parametrize("algorithms, wanted", [
    ([quark.CLEConfig(cle_steps=2), quark.BiasCorrectionConfig()], ["equalize", "bias-correction"]),
    ([quark.SmoothQuantConfig(alpha=0.7)], ["smooth:alpha=0.7"]), ([quark.AWQConfig()], ["smooth:insert=false"]), ([], []),
])
def test_quarks_algorithms_are_refinements(digits, images, algorithms, wanted):
    config = quark.QConfig(quark.QLayerConfig(activation=quark.UInt8Spec(), weight=quark.Int8Spec()), algo_config=algorithms)
    made = quark.ModelQuantizer(config).quantize_model(digits, None, Reader(images[:12]))
    assert names(made) == wanted
    assert "int8 sym" in specs(made)


def test_gptq_of_quark_chooses_the_weights_of_matrix_multiplications(digits, images, tmp_path):
    layer = quark.QLayerConfig(input_tensors=quark.Int16Spec(), weight=quark.Int8Spec(quant_granularity=quark.QuantGranularity.Channel))
    config = quark.QConfig(layer, algo_config=[quark.GPTQConfig(bits=4, group_size=16, mse=True)])
    assert config.recipe()["type"]["Gemm"]["weights"] == "int4 sym block 16"
    made = quark.ModelQuantizer(config).quantize_model(digits, tmp_path / "made.onnx", Reader(images[:12]))
    assert specs(made) == {"int8 sym channel", "int4 sym block 16"}
    assert any(one.rounded_for_sums > 0 for one in made.report.weights)
    assert onnx.load(tmp_path / "made.onnx").graph.output[0].name == "logits"


def test_layers_types_and_exclusions_of_quark_are_rules(digits, images):
    wide = quark.QLayerConfig(quark.Int16Spec(), quark.Int8Spec())
    nodes = [one.name for one in anybit.load(digits).prepare().nodes if one.op == "Conv"]
    config = quark.QConfig(specific_layer_config={wide: [nodes[0]]}, layer_type_config={None: ["Gemm"]}, exclude=[nodes[1], "^" + nodes[2] + ".*"])
    made = quark.ModelQuantizer(config).quantize_model(digits, None, Reader(images[:12]))
    found = {one.name: (one.outcome, one.what) for one in made.report.nodes}
    assert found[nodes[0]][1].startswith("int16 sym") and found[nodes[1]][0] == found[nodes[2]][0] == "float"
    assert all(one.outcome == "float" for one in made.report.nodes if one.op == "Gemm")


@pytest.mark.parametrize("make, message", [
    (lambda: quark.GPTQConfig(bits=9), "bits=9"), (lambda: quark.SmoothQuantConfig(alpha=2), "alpha=2"),
    (lambda: quark.CLEConfig(cle_balance_method="mean"), "cle_balance_method='mean'"),
    (lambda: quark.QConfig(exclude=[(["a"], ["b"])]).recipe(), "between two lists of nodes"),
    (lambda: quark.QConfig(algo_config=["gptq"]).recipe(), "algo_config has a str"),
    (lambda: quark.QConfig(extra_options={"WeightScaled": True}), "extra option WeightScaled"),
    (lambda: quark.Int8Spec(scale_type=quark.ScaleType.PowerOf2), "scale_type"),
    (lambda: quark.ModelQuantizer(quark.QConfig()).quantize_model("x.onnx"), "no calibration data"),
])
def test_what_quark_has_and_anybit_lacks_is_an_error(make, message):
    with pytest.raises(anybit.Error, match=message):
        make()


# --- NNCF ---

def test_the_signatures_of_nncf_are_nncfs():
    assert list(parameters(nncf.quantize)) == ["model", "calibration_dataset", "mode", "preset", "target_device", "subset_size",
                                               "fast_bias_correction", "model_type", "ignored_scope", "advanced_parameters"]
    found = parameters(nncf.compress_weights)
    assert list(found) == ["model", "mode", "ratio", "group_size", "ignored_scope", "all_layers", "dataset", "sensitivity_metric", "subset_size",
                           "awq", "scale_estimation", "gptq", "lora_correction", "backup_mode", "compression_format", "advanced_parameters"]
    assert found["subset_size"] == 128 and found["awq"] is None and parameters(nncf.quantize)["subset_size"] == 300
    assert parameters(nncf.AdvancedSmoothQuantParameters) == {"convolution": -1, "matmul": 0.95}


def test_advanced_parameters_of_nncf_are_obeyed(digits, images):
    dataset = nncf.Dataset(images[:12], lambda image: {"image": image})
    plain = nncf.AdvancedQuantizationParameters(disable_bias_correction=True)
    assert names(nncf.quantize(digits, dataset, advanced_parameters=plain)) == []
    smooth = nncf.AdvancedQuantizationParameters(smooth_quant_alphas=nncf.AdvancedSmoothQuantParameters(matmul=0.5))
    assert names(nncf.quantize(digits, dataset, advanced_parameters=smooth, fast_bias_correction=True)) == ["smooth:alpha=0.5", "bias-correction"]
    assert all(one.startswith("fp8_e4m3") for one in specs(nncf.quantize(digits, dataset, mode=nncf.QuantizationMode.FP8_E4M3)))
    damped = nncf.AdvancedCompressionParameters(gptq_params=nncf.AdvancedGPTQParameters(damping_percent=5))
    files = [nncf.compress_weights(digits, nncf.CompressWeightsMode.INT4_SYM, group_size=16, dataset=dataset, gptq=True,
                                   advanced_parameters=given).to_bytes() for given in (None, damped)]
    assert files[0] != files[1]
    with pytest.raises(anybit.InvalidArgument, match="lora_correction"):
        nncf.compress_weights(digits, lora_correction=True)


def test_a_relative_drop_of_nncf_is_relative(digits, images, labels):
    def right(model, data):
        return 1000 * float((anybit.Session(model).run(images)["logits"].argmax(1) == labels).mean())
    made = nncf.quantize_with_accuracy_control(digits, nncf.Dataset(images[:12]), nncf.Dataset([]), right, max_drop=0.01,
                                               drop_type=nncf.DropType.RELATIVE)
    assert right(made, None) >= 0.99 * right(anybit.load(digits), None)


# --- AIMET ---

@pytest.fixture
def proto(digits):
    return onnx.load(digits)


def feeds(images):
    return [{"image": one[None]} for one in images]


def test_code_for_aimet_runs(proto, images, labels, tmp_path):
    assert list(parameters(aimet.QuantizationSimModel))[:6] == ["model", "param_type", "activation_type", "quant_scheme", "config_file", "dummy_input"]
    assert aimet.fold_all_batch_norms_to_weight(proto) == []
    aimet.equalize_model(proto)
    sim = aimet.QuantizationSimModel(proto, param_type=aimet.int4, activation_type=aimet.int16, quant_scheme=aimet.QuantScheme.min_max)
    aimet.apply_seq_mse(sim, feeds(images[:4]), num_candidates=10)
    aimet.apply_adaround(sim, feeds(images[:4]), num_iterations=100)
    sim.compute_encodings(feeds(images[:20]))
    assert specs(sim.model) == {"int4 sym channel"} and "equalize" in names(sim.model) and "bias-correction" in names(sim.model)
    scores = sim.session.run(None, {"image": images})[0]
    assert (scores.argmax(1) == labels).mean() > 0.95
    sim.export(str(tmp_path / "out"), "digits")
    assert anybit.load(tmp_path / "out" / "digits.onnx").to_bytes() == sim.model.to_bytes()
    assert any(one.op_type == "DequantizeLinear" for one in sim.to_onnx_qdq().graph.node)


def test_a_forward_pass_of_aimet_gives_the_samples(proto, images):
    def forward(session, count):
        for one in feeds(images[:count]):
            assert session.run(["logits"], one)[0].shape == (1, 10)
    sims = [aimet.QuantizationSimModel(proto, default_param_bw=8, default_activation_bw=8) for _ in range(3)]
    sims[0].compute_encodings(forward, 8)
    sims[1].compute_encodings(forward_pass_callback=lambda session: forward(session, 8))
    sims[2].compute_encodings(feeds(images[:8]))
    assert sims[0].model.to_bytes() == sims[1].model.to_bytes() == sims[2].model.to_bytes()


def test_equalization_of_aimet_leaves_the_model_as_it_is(proto, images):
    before = anybit.Session(proto).run(images[:4])["logits"]
    assert aimet.CrossLayerEqualization(proto).equalize_model() is proto
    np.testing.assert_array_equal(anybit.Session(proto).run(images[:4])["logits"], before)


def test_sensitivity_of_aimet_has_a_score_for_each_layer(proto, images, labels):
    sim = aimet.QuantizationSimModel(proto, param_type="int4")
    sim.compute_encodings(feeds(images[:8]))
    scores = aimet.analyze_per_layer_sensitivity(sim, lambda session: float((session.run(None, {"image": images})[0].argmax(1) == labels).mean()))
    assert len(scores) >= 5 and all(0.5 < one <= 1 for one in scores.values())


@pytest.mark.parametrize("make, error, message", [
    (lambda proto: aimet.QuantizationSimModel(proto, param_type="int3"), anybit.InvalidArgument, "param_type='int3'"),
    (lambda proto: aimet.QuantizationSimModel(proto, quant_scheme="best"), anybit.InvalidArgument, "quant_scheme='best'"),
    (lambda proto: aimet.QuantizationSimModel(proto, bits=4), anybit.InvalidArgument, "no option 'bits'"),
    (lambda proto: aimet.QuantizationSimModel(proto).model, anybit.InvalidState, "not quantized yet"),
    (lambda proto: aimet.QuantizationSimModel(proto).compute_encodings([]), anybit.InvalidArgument, "no samples"),
    (lambda proto: aimet.equalize_model("model.onnx"), anybit.InvalidArgument, "equalize_model of a str"),
])
def test_wrong_calls_of_aimet_are_errors(proto, make, error, message):
    with pytest.raises(error, match=message):
        make(proto)
