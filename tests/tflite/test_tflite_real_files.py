"""TFLite files of packages, beside LiteRT (`make test-tflite`). The bounds are those of the arithmetic: LiteRT's own kernels differ
from its reference kernels, and anybit may be four times as far: sums in another order have other errors in each run."""
import numpy as np
import pytest
from support.tflite_runtimes import FILES, Anybit, LiteRT, random_inputs

RUNS = 20  # of a model with state

pytestmark = pytest.mark.tflite_files


def distance(found, wanted):
    """Of integers in steps; of floats relative to the largest value."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    difference = np.abs(found.astype(np.float64) - wanted.astype(np.float64)).max(initial=0)
    return difference if found.dtype.kind in "iu" else difference / max(np.abs(wanted).max(initial=0), 1e-3)


@pytest.mark.parametrize("name", FILES)
def test_results_are_as_near_to_the_reference_as_litert_itself(name):
    path, rng = FILES[name], np.random.default_rng(7)
    reference, own, ours = LiteRT(path, "reference"), LiteRT(path, "own"), Anybit(path)
    for _ in range(RUNS if ours.session.outputs[-1].name.endswith("_next") else 2):
        inputs = list(random_inputs(reference.ports, rng))
        for found, other, wanted in zip(ours.run(inputs), own.run(inputs), reference.run(inputs), strict=True):
            least = 1 if found.dtype.kind in "iu" else 1e-5
            assert distance(found, wanted) <= max(least, 4 * distance(other, wanted)), name
