"""The TFLite files of scripts/tflite_models.txt, and the runtimes that run them: anybit and LiteRT."""
import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from fetch_real_models import ROOT, models

import anybit

FILES = {f"{one.package.split(':')[1].split('=')[0]}/{one.path.stem[9:]}": one.path for one in models(ROOT / "scripts/tflite_models.txt")}
KERNELS = {"reference": OpResolverType.BUILTIN_REF, "own": OpResolverType.BUILTIN}


class LiteRT:
    def __init__(self, path, kernels, threads=1):
        self.interpreter = Interpreter(str(path), experimental_op_resolver_type=KERNELS[kernels], num_threads=threads)
        self.interpreter.allocate_tensors()
        self.ports = self.interpreter.get_input_details()

    def run(self, inputs):
        for port, value in zip(self.ports, inputs, strict=True):
            self.interpreter.set_tensor(port["index"], value)
        self.interpreter.invoke()
        return [self.interpreter.get_tensor(port["index"]) for port in self.interpreter.get_output_details()]


class Anybit:
    """Passes the state of each run to the next one."""

    def __init__(self, path, threads=0):
        self.session = anybit.Session(path, threads=threads)
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
