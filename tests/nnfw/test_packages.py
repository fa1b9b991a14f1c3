"""nnpackage folders: metadata/MANIFEST names the ONNX model."""

import json
import os
import shutil

import pytest

OK, ERROR = 0, 1


@pytest.fixture
def package(tmp_path, model):
    """package(**manifest): a folder with the digits model and this manifest."""
    def make(manifest):
        folder = tmp_path / "package"
        (folder / "metadata").mkdir(parents=True)
        (folder / "sub").mkdir()
        for name in ("net.onnx", "net.bin", "sub/net.onnx", "second.onnx"):
            shutil.copy(model, folder / name)
        text = manifest if isinstance(manifest, (str, bytes)) else json.dumps(manifest)
        (folder / "metadata" / "MANIFEST").write_bytes(text if isinstance(text, bytes) else text.encode())
        return folder
    return make


@pytest.mark.parametrize("manifest", [
    {"models": ["net.onnx"]},
    {"models": ["net.onnx"], "model-types": ["onnx"], "major-version": "1", "configs": []},
    {"models": ["net.bin"], "model-types": ["onnx"]},
    {"models": ["sub/net.onnx"], "model-types": ["ONNX"]},
    {"models": ["net.gguf", "net.onnx"], "model-types": ["gguf", "onnx"]},
    {"models": ["net.pb", "net.onnx"]},
])
def test_the_onnx_model_of_a_package_is_loaded(create, package, manifest):
    session = create()
    assert session.load_model_from_file(package(manifest)) == session.prepare() == OK, session.error()
    assert session.info("input")[1].shape()[1:] == [1, 28, 28]


def test_results_are_written_beside_the_model_in_the_package(create, package):
    session, folder = create(), package({"models": ["sub/net.onnx"]})
    assert session.load_model_from_file(folder) == session.set_quantization_type(3) == session.quantize() == OK
    assert (folder / "sub" / "net.q.onnx").exists()


@pytest.mark.parametrize("manifest, message", [
    ({"models": ["net.gguf"], "model-types": ["gguf"]}, "it has 'net.gguf' (gguf); one model of a known type (onnx, circle, tflite)"),
    ({"models": ["net.pb"]}, "it has 'net.pb' (pb)"),
    ({"models": ["net"]}, "it has 'net' ()"),
    ({"models": []}, "it has no model"),
    ({"models": "net.onnx"}, "it has no model"),
    ({"models": [1, None]}, "one model of a known type"),
    ({"models": ["net.onnx", "second.onnx"]}, "it has 'net.onnx' (onnx), 'second.onnx' (onnx); one model"),
    ({"models": ["net.onnx"], "configs": ["a.cfg"]}, "it has a configuration file"),
    ({"models": ["net.onnx"], "model-connect": [{"from": "0:0:0", "to": ["1:0:0"]}]}, "it connects several models"),
    ({"models": ["../m/digits.onnx"]}, "lies outside of it"),
    ({"models": ["sub/../../m/digits.onnx"]}, "lies outside of it"),
    ({"models": ["/etc/passwd"], "model-types": ["onnx"]}, "lies outside of it"),
    ({"models": ["nothing.onnx"]}, "nothing.onnx"),
    ("{", "it is not a JSON object"),
    ("[]", "it is not a JSON object"),
    (b"\xff\xfe{}", "it is not a JSON object"),
    ("[" * 100000, "it is not a JSON object"),
    ('{"models": ["net.onnx"], "x": "' + "y" * (1 << 20) + '"}', "it is not a JSON object"),
    ({"models": ["net\0.onnx"]}, "net"),
])
def test_another_package_is_refused_with_what_it_has_and_what_is_known(create, package, manifest, message):
    session = create()
    assert session.load_model_from_file(package(manifest)) == ERROR and message in session.error()


def test_a_manifest_that_is_no_file_is_refused(create, package):
    session, folder = create(), package({"models": ["net.onnx"]})
    (folder / "metadata" / "MANIFEST").unlink()
    os.mkfifo(folder / "metadata" / "MANIFEST")
    assert session.load_model_from_file(folder) == ERROR and "without metadata/MANIFEST" in session.error()


def test_a_folder_without_a_manifest_is_refused(create, tmp_path):
    session = create()
    assert session.load_model_from_file(tmp_path) == ERROR and "without metadata/MANIFEST" in session.error()
