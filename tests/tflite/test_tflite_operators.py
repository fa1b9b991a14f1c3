"""Every operator that anybit reads, as a file of one operator: the same results as LiteRT's reference kernels."""
import re

import numpy as np
import onnxruntime
import pytest
from support.tflite_cases import CASES
from support.tflite_files import litert, ours
from support.tree import text_of, tracked

import anybit

# LiteRT has no reference kernel for these; its reference for LOCAL_RESPONSE_NORMALIZATION leaves out the last channel of each window.
OPTIMIZED = {"CEIL", "ROUND", "ELU", "LOCAL_RESPONSE_NORMALIZATION"}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_litert(name):
    content, inputs, steps = CASES[name]()
    wanted, found = litert(content, inputs, reference=name not in OPTIMIZED), ours(content, inputs)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        assert one.dtype == other.dtype and one.shape == other.shape
        if np.issubdtype(one.dtype, np.floating):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
        else:
            assert np.abs(one.astype(np.int64) - other.astype(np.int64)).max(initial=0) <= steps


def test_every_operator_has_a_case():
    names = {name for path in tracked(".cpp") if path.startswith("src/tflite/ops/")
             for name in re.findall(r"BuiltinOperator::([A-Z0-9_]+)", text_of(path))}
    circle = {"INSTANCE_NORM", "RMS_NORM"}  # test_tflite_files.py
    assert names - circle == {name.split()[0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_what_is_saved_runs_in_onnx_runtime(name):
    content, inputs, steps = CASES[name]()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(anybit.load(content).to_bytes(), options)
    found = session.run(None, {port.name: np.asarray(x) for port, x in zip(session.get_inputs(), inputs)})
    for one, other in zip(found, ours(content, inputs)):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol=2e-5, atol=max(steps, 1e-5))
