"""Makes TFLite files of one operator, with inputs: CASES by name, the operator first. A case returns the file, its inputs, and by how many
steps quantized results may differ."""
import zlib

import numpy as np
from support.tflite_files import NUMBERS, File, schema

CASES = {}
FUSED = schema.ActivationFunctionType


def case(*names, **settings):
    """Adds the function under these names; it gets a random generator and the operator."""
    def add(make):
        for name in names:
            def made(name=name):
                return make(np.random.default_rng(zlib.crc32(name.encode())), name.split()[0], **settings)
            assert name not in CASES and name.split()[0] in NUMBERS, name
            CASES[name] = made
        return make
    return add


def one(inputs, out, code, options=None, constants=(), steps=0, outputs=None, quantized=None, **values):
    """A file of one operator. `inputs`: arrays; those in `constants` are constants. `out`: shape and type of the output, or a list of
    them. `quantized`: for inputs and then outputs, scale and zero point or None."""
    file = File()
    graph = file.graph
    outs = [out] if isinstance(out, tuple) else out
    scales = list(quantized or [None] * (len(inputs) + len(outs)))
    numbers, ports, given = [], [], []
    for i, x in enumerate(inputs):
        if x is None:
            numbers.append(-1)
            continue
        scale = scales[i] or ()
        numbers.append(graph.tensor(x.shape, str(x.dtype), x if i in constants else None, **dict(zip(("scale", "zero", "axis"), scale))))
        if i not in constants:
            ports.append(numbers[-1])
            given.append(x)
    results = [graph.tensor(shape, dtype, **dict(zip(("scale", "zero", "axis"), scale or ())))
               for (shape, dtype), scale in zip(outs, scales[len(inputs):])]
    graph.op(code, numbers, results, options, **values)
    graph.ports(ports, results)
    return file.bytes(), given, steps


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def i32(*values):
    return np.array(values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values, np.int32)


def bytes_(rng, *shape, dtype=np.int8):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape, dtype)
