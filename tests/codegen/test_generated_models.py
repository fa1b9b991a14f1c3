"""Real models as C, compared with the runtime: in float, and quantized to int8."""
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from support import generating

ROOT = Path(__file__).resolve().parents[2]
from support.executing import Executor, ExecutorError


def pixels(generator, shape):
    """A smooth image, like a photograph: sums of waves, from -1 to 1."""
    y, x = np.mgrid[0:1:shape[2] * 1j, 0:1:shape[3] * 1j]
    waves = [np.cos(generator.normal(size=(2,)) @ np.stack([x, y]).reshape(2, -1) * 20 + generator.uniform(0, 6)).reshape(x.shape)
             for _ in range(3 * 4)]
    return np.stack(waves).reshape(3, 4, *x.shape).mean(1)[None].astype(np.float32)


def sound(generator, samples):
    """A voiced sound: a varying fundamental frequency with harmonics and noise."""
    phase = np.cumsum(2 * np.pi * (120 + 30 * np.sin(np.arange(samples) / 400)) / 16000)
    tone = sum(np.sin(k * phase) / k for k in range(1, 20)) * 0.1
    return (tone + generator.normal(scale=0.01, size=samples))[None].astype(np.float32)


def classifier(generator):
    return {"x": pixels(generator, (1, 3, 48, 192))}


def recogniser(generator):
    return {"x": pixels(generator, (1, 3, 48, 320))}


def voice(generator, rate=16000):
    return {"input": sound(generator, 512), "sr": np.array(rate, np.int64),
            "h": generator.normal(scale=0.1, size=(2, 1, 64)).astype(np.float32),
            "c": generator.normal(scale=0.1, size=(2, 1, 64)).astype(np.float32)}


def voice_16k(generator):
    """Version 5 has a network for each rate, with windows of different lengths: one is selected at code generation."""
    return {"input": sound(generator, 512), "state": generator.normal(scale=0.1, size=(2, 1, 128)).astype(np.float32)}


MODELS = {"classifier": ("ch_ppocr_mobile_v2.0_cls_infer", classifier), "recogniser": ("ch_PP-OCRv4_rec_infer", recogniser),
          "voice": ("silero_vad_legacy", voice), "voice_16k": ("silero_vad_v5", voice_16k)}
LARGE = pytest.mark.large_models  # 38 MB of C


def fixed(name, inputs):
    """The model with the shapes of these inputs."""
    model = onnx.load(ROOT / f"build/models/{MODELS[name][0]}.onnx")
    for port in list(model.graph.input):
        if port.name not in inputs:
            assert port.name == "sr"
            model.graph.initializer.append(numpy_helper.from_array(np.array(16000, np.int64), "sr"))
            model.graph.input.remove(port)
            continue
        del port.type.tensor_type.shape.dim[:]
        for size in inputs[port.name].shape:
            port.type.tensor_type.shape.dim.add(dim_value=size)
    return model


def compare(name, model, samples, folder, tolerance, of_all=np.max):
    """Largest difference from the runtime's outputs, relative to the largest output; the maximum over samples, or the
    median with np.median."""
    differences = []
    generating.generate(model, folder / f"{name}.c")
    program = generating.compile_all([name], folder, "-O1")[name]
    assert isinstance(program, generating.Program), program
    executor = Executor(model)
    order = [port.name for port in model.graph.input]
    for sample in samples:
        wanted = executor.run(sample)
        got = program.run([sample[port] for port in order], wanted)
        differences.append(max(np.abs(one - other).max() / np.abs(other).max() for one, other in zip(got, wanted)))
    assert of_all(differences) <= tolerance, differences


@pytest.mark.parametrize("name", ["classifier", "voice", "voice_16k", pytest.param("recogniser", marks=LARGE)])
def test_a_float_model_matches_the_runtime(name, tmp_path):
    generator = np.random.default_rng(7)
    samples = [MODELS[name][1](generator) for _ in range(3)]
    compare(name, fixed(name, samples[0]), samples, tmp_path, 1e-4)


def test_both_branches_of_an_if_run(tmp_path):
    """Silero VAD selects its network by the sample rate."""
    generator = np.random.default_rng(8)
    samples = [voice(generator, rate) for rate in (16000, 8000, 16000)]
    compare("voice", fixed("voice", samples[0]), samples, tmp_path, 1e-4)


@pytest.mark.parametrize("samples, version", [(512, 5), (256, 6), (288, 5)])
def test_the_rate_selects_the_network_of_an_unmodified_model(samples, version, anybit, tmp_path):
    """Each rate has its own window length: a run with the window of the other network fails."""
    generator = np.random.default_rng(12)
    shipped = ROOT / f"build/models/silero_vad_v{version}.onnx"
    anybit("codegen", shipped, "--target", "c-gen", "-o", tmp_path / "net.c", "--shape", f"input=1,{samples}", "--shape", "state=2,1,128")
    program = generating.compile_all(["net"], tmp_path, "-O1")["net"]
    executor = Executor(onnx.load(shipped))
    ran = 0
    for rate in (16000, 8000, 16000, 8000):
        given = {"input": sound(generator, samples), "sr": np.array(rate, np.int64),
                 "state": generator.normal(scale=0.1, size=(2, 1, 128)).astype(np.float32)}
        inputs = [given[name] for name in ("input", "state", "sr")]
        try:
            wanted = executor.run(given)
        except ExecutorError:
            with pytest.raises(generating.RunFailed):
                program.run(inputs, [])
            continue
        ran += 1
        for one, other in zip(program.run(inputs, wanted), wanted):
            assert np.abs(one - other).max() <= 1e-4 * np.abs(other).max()
    assert ran == (2 if samples == 512 else 4)


@pytest.mark.parametrize("rate, version", [(16000, 5), (8000, 6)])
def test_a_rate_can_be_fixed_at_code_generation(rate, version, anybit, tmp_path):
    """The code has only one network."""
    generator = np.random.default_rng(11)
    shapes = ["--shape", f"input=1,{rate // 31.25:.0f}", "--shape", "state=2,1,128"]
    samples = [{"input": sound(generator, 512)[:, :int(rate // 31.25)], "sr": np.array(rate, np.int64),
                "state": generator.normal(scale=0.1, size=(2, 1, 128)).astype(np.float32)} for _ in range(3)]
    shipped = ROOT / f"build/models/silero_vad_v{version}.onnx"
    (tmp_path / "calib").mkdir()
    for i, sample in enumerate(samples):
        np.savez(tmp_path / f"calib/{i}.npz", **sample)
    anybit("quantize", shipped, "-o", tmp_path / "int8.onnx", "--calib", tmp_path / "calib")
    for kind, path in (("float", shipped), ("int8", tmp_path / "int8.onnx")):
        anybit("codegen", path, "--target", "c-gen", "-o", tmp_path / f"{kind}_net.c", *shapes, "--constant", f"sr={rate}")
        program = generating.compile_all([f"{kind}_net"], tmp_path, "-O1")[f"{kind}_net"]
        executor = Executor(onnx.load(path))
        for sample in samples:
            wanted = executor.run(sample)
            for one, other in zip(program.run([sample["input"], sample["state"]], wanted), wanted):
                assert np.abs(one - other).max() <= 1e-4 * np.abs(other).max(), kind


@pytest.mark.parametrize("name", ["classifier", "recogniser", "voice_16k"])
def test_a_quantized_model_matches_the_runtime(name, anybit, tmp_path):
    """For most of seven samples: outputs differ if the last bit of a float decides the rounding of a quantized value."""
    generator = np.random.default_rng(9)
    samples = [MODELS[name][1](generator) for _ in range(7)]
    onnx.save(fixed(name, samples[0]), tmp_path / "float.onnx")
    (tmp_path / "calib").mkdir()
    for i, sample in enumerate(samples):
        np.savez(tmp_path / f"calib/{i}.npz", **sample)
    anybit("quantize", tmp_path / "float.onnx", "-o", tmp_path / "int8.onnx", "--calib", tmp_path / "calib")
    compare(name, onnx.load(tmp_path / "int8.onnx"), samples, tmp_path, 1e-4, np.median)
