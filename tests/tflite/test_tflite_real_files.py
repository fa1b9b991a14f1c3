"""TFLite files of packages, beside LiteRT (`make test-tflite`). The bounds are those of the arithmetic: LiteRT's own kernels differ
from its reference kernels, and anybit may be four times as far: sums in another order have other errors in each run."""
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from fetch_real_models import ROOT, models

import anybit

FILES = {f"{one.package.split(':')[1].split('=')[0]}/{one.path.stem[9:]}": one.path for one in models(ROOT / "scripts/tflite_models.txt")}
KERNELS = {"reference": OpResolverType.BUILTIN_REF, "own": OpResolverType.BUILTIN}
RUNS = 20  # of a model with state

pytestmark = pytest.mark.tflite_files


class LiteRT:
    def __init__(self, path, kernels):
        self.interpreter = Interpreter(str(path), experimental_op_resolver_type=KERNELS[kernels], num_threads=1)
        self.interpreter.allocate_tensors()
        self.ports = self.interpreter.get_input_details()

    def run(self, inputs):
        for port, value in zip(self.ports, inputs, strict=True):
            self.interpreter.set_tensor(port["index"], value)
        self.interpreter.invoke()
        return [self.interpreter.get_tensor(port["index"]) for port in self.interpreter.get_output_details()]


class Anybit:
    """Passes the state of each run to the next one."""

    def __init__(self, path):
        self.session = anybit.Session(path)
        self.names, self.states = [port.name for port in self.session.inputs], {}

    def run(self, inputs):
        found = self.session.run({**dict(zip(self.names, inputs)), **self.states})
        self.states = {name: found.pop(name + "_next") for name in self.names if name + "_next" in found}
        return list(found.values())


def random_inputs(ports, rng):
    for port in ports:
        if np.issubdtype(port["dtype"], np.floating):
            yield rng.uniform(0, 1, port["shape"]).astype(port["dtype"])
        else:
            bounds = np.iinfo(port["dtype"])
            yield rng.integers(bounds.min, bounds.max + 1, port["shape"]).astype(port["dtype"])


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
