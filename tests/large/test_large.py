"""Models over 2 GB are read and written without a second copy of the weights in memory. Only `make test-large` runs it; it needs
7 GB of disk space in the build folder."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.external_data_helper import set_external_data

ROOT = Path(__file__).resolve().parents[2]
TENSORS, ELEMENTS = 48, 16 << 20  # 48 tensors of 64 MB: 3 GB
WEIGHTS = TENSORS * ELEMENTS * 4
MOST_MEMORY = 1.15 * WEIGHTS


@pytest.fixture(scope="module")
def folder():
    path = ROOT / "build" / "large"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    yield path
    shutil.rmtree(path)


def weight(index):
    """Differs from tensor to tensor and from page to page, yet is cheap to generate."""
    block = np.random.default_rng(index).integers(0, 256, 1 << 20, np.uint8)
    return np.concatenate([np.roll(block, shift) for shift in range(ELEMENTS * 4 >> 20)]).tobytes()


@pytest.fixture(scope="module")
def original(folder):
    """y = x + w0 + … + w47, the weights in one file of 3 GB."""
    tensors, nodes = [], []
    with open(folder / "weights.bin", "wb") as file:
        for i in range(TENSORS):
            tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[ELEMENTS], raw_data=b"")
            set_external_data(tensor, "weights.bin", offset=file.tell(), length=ELEMENTS * 4)
            tensor.ClearField("raw_data")
            file.write(weight(i))
            tensors.append(tensor)
            nodes.append(helper.make_node("Add", [f"v{i}" if i else "x", f"w{i}"], [f"v{i + 1}"]))
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [ELEMENTS]) for name in ("x", f"v{TENSORS}")]
    graph = helper.make_graph(nodes, "large", infos[:1], infos[1:], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    (folder / "in.onnx").write_bytes(made.SerializeToString())
    return folder / "in.onnx"


def run(tool, source, target, *options):
    """Output, exit code and peak memory of the round trip."""
    done = subprocess.Popen([tool("roundtrip"), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    done.stdin.write(f"{source}\t{target}\n")
    done.stdin.close()
    output = done.stdout.read()
    _, status, usage = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    return output, done.returncode, usage.ru_maxrss * 1024


def external(tensor):
    entries = {entry.key: entry.value for entry in tensor.external_data}
    return entries["location"], int(entries["offset"]), int(entries["length"])


def read(folder, place):
    location, offset, length = place
    with open(folder / location, "rb") as file:
        file.seek(offset)
        return file.read(length)


def without_places(model):
    """The model without the locations of its data."""
    for tensor in model.graph.initializer:
        tensor.ClearField("external_data")
    return model.SerializeToString(deterministic=True)


def test_a_model_of_three_gigabytes_survives_and_is_never_in_memory_twice(tool, folder, original):
    target = folder / "out.onnx"
    output, code, peak = run(tool, original, target)
    assert (output, code) == ("", 0)
    print(f"peak {peak / 1e6:.0f} MB for {WEIGHTS / 1e6:.0f} MB of weights: {peak / WEIGHTS:.3f}")
    assert peak <= MOST_MEMORY
    before, after = (onnx.load(path, load_external_data=False) for path in (original, target))
    for index, tensor in enumerate(after.graph.initializer):
        place = external(tensor)
        assert place[0] == "out.onnx.data" and place[1] % 4096 == 0
        assert read(folder, place) == weight(index), tensor.name
    assert without_places(after) == without_places(before)
    target.unlink()
    (folder / "out.onnx.data").unlink()


def test_a_model_too_large_for_protobuf_is_rejected_before_anything_is_written(tool, folder, original):
    output, code, peak = run(tool, original, folder / "inside.onnx", "--external=never")
    assert code == 1
    assert "limit_exceeded" in output and "external data" in output
    assert peak < 0.1 * WEIGHTS
    assert sorted(path.name for path in folder.iterdir()) == ["in.onnx", "weights.bin"]
