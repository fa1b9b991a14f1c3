"""`anybit sweep`, and `anybit compare` of several models: docs/sweep.md."""
import csv
import json
import subprocess

import numpy as np
import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory, request):
    path, digits = tmp_path_factory.mktemp("sweep"), request.config.rootpath / "examples/digits"
    (path / "model.onnx").write_bytes((digits / "digits.onnx").read_bytes())
    pixels = np.load(digits / "test_images.npy")[:40]
    np.save(path / "images.npy", (pixels.astype(np.float32) / 255 - 0.1307) / 0.3081)
    np.save(path / "labels.npy", np.load(digits / "test_labels.npy")[:40])
    return path


def run(tool, folder, *words, code=0):
    done = subprocess.run([tool("anybit"), *words], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def rows(tool, folder):
    words = ["sweep", "model.onnx", "--calib", "images.npy", "--labels", "labels.npy", "--recipes", "int8,w4,ternary", "--json"]
    return {row["recipe"]: row for row in json.loads(run(tool, folder, *words, "--csv", "s.csv", "--report", "s.html"))["rows"]}


# Statistics are shared, and the file is the same as that of quantize.
@pytest.mark.parametrize("recipe", ["int8", "w4", "ternary"])
def test_a_row_agrees_with_quantize_and_compare(tool, folder, rows, recipe):
    run(tool, folder, "quantize", "model.onnx", "-o", f"{recipe}.onnx", "--recipe", recipe, "--calib", "images.npy")
    words = ["compare", "model.onnx", f"{recipe}.onnx", "--data", "images.npy", "--labels", "labels.npy", "--json"]
    alone, row = json.loads(run(tool, folder, *words)), rows[recipe]
    assert row["bytes"] == (folder / f"{recipe}.onnx").stat().st_size and row["level"] == alone["verdict"]["level"]
    assert row["top1"] == alone["other"]["top1"] and row["speed"] > 0
    # Ranges that all recipes share are those of the model before it is prepared: their last bits differ.
    assert row["sqnr_db"] == pytest.approx(alone["outputs"][0]["sqnr_db"], abs=0.2)


def test_the_csv_and_the_page_have_the_same_rows(folder, rows):
    with open(folder / "s.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["recipe"] for line in lines] == list(rows) and all(int(line["bytes"]) == rows[line["recipe"]]["bytes"] for line in lines)
    page = (folder / "s.html").read_text()
    assert '"sweep":[' in page and '"recipe":"ternary"' in page


def test_a_recipe_that_the_model_cannot_take_is_a_row_with_the_reason(tool, folder):
    (folder / "none.yaml").write_text("global: float\ntype: {LSTM: int8}\n")
    words = ["sweep", "model.onnx", "--calib", "images.npy", "--recipes", "w4,./none.yaml", "--no-speed", "--json"]
    good, bad = json.loads(run(tool, folder, *words))["rows"]
    assert "failed" not in good and "speed" not in good
    assert "finds nothing to quantize" in bad["failed"]


def test_compare_makes_one_table_of_several_models(tool, folder, rows):
    for recipe in ("w4", "ternary"):
        run(tool, folder, "quantize", "model.onnx", "-o", f"{recipe}.onnx", "--recipe", recipe)
    words = ["compare", "model.onnx", "w4.onnx", "ternary.onnx", "--data", "images.npy", "--labels", "labels.npy"]
    listed = json.loads(run(tool, folder, *words, "--json"))["rows"]
    assert [(row["recipe"], row["top1"]) for row in listed] == [(f"{name}.onnx", rows[name]["top1"]) for name in ("w4", "ternary")]
    text = run(tool, folder, *words).splitlines()
    assert text[0].split()[0] == "model" and [line.split()[0] for line in text[1:]] == ["model.onnx", "w4.onnx", "ternary.onnx"]


def test_an_unknown_preset_is_a_usage_error(tool, folder):
    assert "int8" in run(tool, folder, "sweep", "model.onnx", "--calib", "images.npy", "--recipes", "int9", code=2)


# Float and pass-through nodes only forward the error of others; nodes have the names that --exclude takes.
def test_compare_blames_quantized_nodes_by_name(tool, folder, rows):
    said = json.loads(run(tool, folder, "compare", "model.onnx", "int8.onnx", "--data", "images.npy", "--json"))
    quantized = {layer["node"] for layer in said["layers"] if layer["quantized"]}
    assert {"stem/conv", "head/linear"} <= quantized and not any("Flatten" in layer["op"] for layer in said["layers"] if layer["quantized"])
    text = run(tool, folder, "compare", "model.onnx", "int8.onnx", "--data", "images.npy").split("Layers with the lowest SQNR")[1]
    named = [line.split()[0] for line in text.split("Verdict")[0].splitlines()[2:] if line.strip()]
    assert named and set(named) <= quantized
