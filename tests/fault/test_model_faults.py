"""A model is saved over an older one, and any call fails or kills: what is there afterwards loads, and is the old model
or the new one, weights included."""

import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.faults import ERRORS, KILL, every_fault

SHAPE = (64, 128)


def model(value):
    """y = x · w, with all weights equal to `value`."""
    weights = numpy_helper.from_array(np.full(SHAPE, value, np.float32), "w")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, SHAPE[0]])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, SHAPE[1]])
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], f"model {value}", [x], [y], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def values(path):
    """The value of the model at `path`; fails unless its name and all weights agree."""
    found = onnx.load(path)
    onnx.checker.check_model(found)
    weights = numpy_helper.to_array(found.graph.initializer[0])
    assert weights.shape == SHAPE and (weights == weights[0, 0]).all()
    assert found.graph.name == f"model {weights[0, 0]:.0f}"
    return weights[0, 0]


@pytest.mark.parametrize("external", [False, True], ids=["weights inside", "weights beside"])
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
def test_a_model_saved_over_another_is_the_old_one_or_the_new_one(tool, build, tmp_path, error, external):
    folder = tmp_path / "models"
    folder.mkdir()
    onnx.save(model(2), tmp_path / "new.onnx")
    lines = tmp_path / "lines"
    lines.write_text(f"{tmp_path / 'new.onnx'}\t{folder / 'm.onnx'}\n")
    mode = "--external=always" if external else "--external=never"
    command = ["bash", "-c", 'exec "$1" "$2" < "$3"', "bash", tool("roundtrip"), mode, lines]

    def prepare():
        for file in folder.iterdir():
            file.unlink()
        beside = {"save_as_external_data": True, "location": "m.onnx.data", "size_threshold": 0} if external else {}
        onnx.save(model(1), folder / "m.onnx", **beside)

    runs = 0
    for run in every_fault(command, build / "lib/libfailing_io.so", folder, error, tmp_path / "log", prepare):
        runs += 1
        value = values(folder / "m.onnx")
        assert value in (1, 2), run
        if error == KILL:
            assert run.status < 0, run
            continue
        if run.status == 0:
            assert value == 2, run
        others = {file.name for file in folder.iterdir()} - {"m.onnx"}
        assert all(re.fullmatch(r"m\.onnx(\.[0-9a-f]{16})?\.data", name) for name in others), (run, others)
    assert runs >= (12 if external else 6)
    assert values(folder / "m.onnx") == 2
    assert len(list(folder.iterdir())) == (2 if external else 1)
