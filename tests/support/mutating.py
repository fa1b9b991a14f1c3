"""Models whose shapes, types and attributes disagree: each node case of the onnx package, changed in one place.

    python tests/support/mutating.py [--programs N] [PATTERN…]      prints what `run` rejects and c-gen accepts

Generators must reject models that `run` rejects for all input values: generated code only checks values.
"""
import argparse
import collections
import dataclasses
import fnmatch
import functools
import itertools
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
from support import executing, generating, node_cases

SEED = 20260
OTHER_TYPE = {
    np.dtype(np.float32): (np.float64, np.int32), np.dtype(np.float64): (np.float32,), np.dtype(np.float16): (np.float32,),
    np.dtype(np.int8): (np.uint8, np.float32), np.dtype(np.uint8): (np.int8, np.int32), np.dtype(np.int64): (np.int32, np.float32),
    np.dtype(np.int32): (np.int64, np.int8), np.dtype(np.bool_): (np.int64,),
}


@dataclasses.dataclass
class Mutant:
    """`what` describes the difference from the original case."""
    case: str
    operator: str
    what: str
    model: onnx.ModelProto
    inputs: list

    def __str__(self):
        return f"{self.case} ({self.what})"


def _resized(array, shape):
    """Elements of `array` in another shape, repeated where it is larger."""
    if array.size == 0:
        return np.zeros(shape, array.dtype)
    return np.resize(array, shape).astype(array.dtype)


def _shapes(shape):
    for axis, size in enumerate(shape):
        for other in sorted({size + 1, max(size - 1, 0), 2 * size, 0, 1} - {size}):
            yield f"dim {axis} is {other}", (*shape[:axis], other, *shape[axis + 1:])
    yield "one axis more in front", (1, *shape)
    yield "one axis more at the end", (*shape, 1)
    if shape:
        yield "without the first axis", shape[1:]
        yield "without the last axis", shape[:-1]
    if len(shape) > 1:
        yield "flat", (int(np.prod(shape)),)


def _arrays(array):
    """Replacements of an input."""
    for what, shape in _shapes(array.shape):
        if np.prod(shape) <= 1 << 16:
            yield what, _resized(array, shape)
    for kind in OTHER_TYPE.get(array.dtype, ()):
        with np.errstate(invalid="ignore"):
            yield f"of {np.dtype(kind)}", array.astype(kind)


def _attributes(attribute):
    """Other values of an attribute, as copies of it."""
    def copy(what, **fields):
        other = AttributeProto()
        other.CopyFrom(attribute)
        for name, value in fields.items():
            if isinstance(value, list):
                del getattr(other, name)[:]
                getattr(other, name).extend(value)
            else:
                setattr(other, name, value)
        return f"{attribute.name} is {what}", other

    if attribute.type == AttributeProto.INT:
        for value in sorted({attribute.i + 1, attribute.i - 1, 0, -attribute.i, 1000} - {attribute.i}):
            yield copy(value, i=value)
    if attribute.type == AttributeProto.INTS:
        now = list(attribute.ints)
        lists = [now + [1], now[:-1], [], [0] * len(now), [-1] * len(now), [value + 1 for value in now], [1000] * len(now)]
        for i in range(len(now)):
            lists.append(now[:i] + [now[i] + 1] + now[i + 1:])
            lists.append(now[:i] + [now[i] - 1] + now[i + 1:])
        for value in lists:
            if value != now:
                yield copy(value, ints=value)
    if attribute.type == AttributeProto.STRING:
        yield copy("'odd'", s=b"odd")
        if attribute.name == "equation":
            yield copy("longer", s=attribute.s.replace(b"->", b"z->"))
    if attribute.type == AttributeProto.STRINGS:
        yield copy("shorter", strings=list(attribute.strings)[:-1])
        yield copy("['odd', …]", strings=[b"odd"] * len(attribute.strings))
    if attribute.type == AttributeProto.FLOATS:
        yield copy("shorter", floats=list(attribute.floats)[:-1])


def _plain(case):
    """The model without declared output shapes and types, which a mutation makes wrong."""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    for output in model.graph.output:
        output.ClearField("type")
    del model.graph.value_info[:]
    return model


def _with_inputs(case, arrays, constants):
    """The case with other arrays; those in `constants` (input indices) are initializers."""
    model = _plain(case)
    ports = list(model.graph.input)
    kept = []
    for i, (port, array) in enumerate(zip(ports, arrays)):
        if i in constants:
            model.graph.initializer.append(numpy_helper.from_array(array, port.name))
            model.graph.input.remove(port)
            continue
        kind = port.type.tensor_type
        kind.elem_type = executing.NUMBERS[array.dtype]
        del kind.shape.dim[:]
        for size in array.shape:
            kind.shape.dim.add().dim_value = size
        kept.append(array)
    return model, kept


def _freezings(case):
    """The choices of constant inputs: those that determine shapes; and all but the first."""
    names = [port.name for port in case.model.graph.input]
    left = {port.name for port in case.frozen().model.graph.input}
    some = frozenset(i for i, name in enumerate(names) if name not in left)
    weights = frozenset(range(1, len(names)))
    yield "some", some
    if weights != some:
        yield "weights", weights


def _with_attribute(plain, inputs, n, k, other):
    model = onnx.ModelProto.FromString(plain.SerializeToString())
    model.graph.node[n].attribute[k].CopyFrom(other)
    return model, inputs


def _without_input(plain, inputs, n, k):
    model = onnx.ModelProto.FromString(plain.SerializeToString())
    model.graph.node[n].input[k] = ""
    return model, inputs


def _variants(case):
    """(description, function that makes the model and its inputs) of every mutant."""
    if any(value.dtype not in executing.NUMBERS for value in case.inputs):
        return
    for how, constants in _freezings(case):
        for i, array in enumerate(case.inputs):
            for what, other in _arrays(array):
                arrays = [*case.inputs[:i], other, *case.inputs[i + 1:]]
                yield f"{how} constant: input {i} {what}", functools.partial(_with_inputs, case, arrays, constants)
        plain, inputs = _with_inputs(case, case.inputs, constants)
        for n, node in enumerate(plain.graph.node):
            for k, attribute in enumerate(node.attribute):
                for what, other in _attributes(attribute):
                    yield f"{how} constant: {what}", functools.partial(_with_attribute, plain, inputs, n, k, other)
            # Without a count, a Loop may never end.
            for k in range(len(node.input) if node.op_type != "Loop" else 0):
                yield f"{how} constant: input {k} is left out", functools.partial(_without_input, plain, inputs, n, k)


def mutants(case):
    """Every mutant of a case."""
    for what, make in _variants(case):
        yield Mutant(case.name, case.operator, what, *make())


def _filled(mutant):
    """Its inputs, and others with the same shapes and types: some values may be rejected, others not."""
    yield mutant.inputs
    ignored = [one.i for node in mutant.model.graph.node for one in node.attribute if one.name == "ignore_index"]
    for value in (0, 1, *ignored):
        yield [np.full_like(x, value if value >= 0 or x.dtype.kind == "i" else 0) for x in mutant.inputs]


def refusal_of_run(mutant, fuse=True):
    """The error if no values can be run; None if some can."""
    try:
        executor = executing.Executor(mutant.model, fuse=fuse)
    except executing.ExecutorError as error:
        return str(error)
    said = None
    for inputs in _filled(mutant):
        try:
            executor.run(inputs)
            return None
        except executing.ExecutorError as error:
            said = said or str(error)
    return said


def refusal_of_c_gen(mutant, path):
    """The error if no C is generated; None if it is."""
    try:
        generating.generate(mutant.model, path)
        return None
    except generating.NotGenerated as error:
        return str(error)


def disagreements(some, folder):
    """Mutants that `run` rejects and c-gen accepts, with the error of `run`."""
    for one in some:
        said = refusal_of_run(one)
        if said is not None and refusal_of_c_gen(one, folder / "one.c") is None:
            yield one, said


def _of_case(case):
    return [(case, what, make) for what, make in _variants(case)]


def sample(count, seed):
    """`count` mutants of every operator."""
    chance = random.Random(seed)
    by_operator = collections.defaultdict(list)
    for case in node_cases.cases().values():
        by_operator[case.operator].append(case)
    for _, cases in sorted(by_operator.items()):
        chance.shuffle(cases)
        # Two cases of each; all cases if those have nothing to mutate.
        every = [one for case in cases[:2] for one in _of_case(case)] or [one for case in cases for one in _of_case(case)]
        for case, what, make in chance.sample(every, min(count, len(every))):
            yield Mutant(case.name, case.operator, what, *make())


class _Child:
    """Processes cases in a separate process, so that crashes are found, too."""

    def __init__(self, folder):
        self.folder = folder
        self.total = self.found = 0
        self.accepted = []  # accepted by both

    def run(self, case):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with os.fdopen(writer, "w", buffering=1) as out:
                for i, one in enumerate(mutants(case)):
                    out.write(f"at\t{one}\n")
                    said, other = refusal_of_run(one), refusal_of_c_gen(one, self.folder / "one.c")
                    if said is not None and other is None:
                        out.write("found\t" + f"{one}\t{said}".replace("\n", " ") + "\n")
                    if said is None and other is None:
                        out.write(f"accepted\t{i}\n")
            os._exit(0)
        os.close(writer)
        last = case.name
        with os.fdopen(reader) as lines:
            for line in lines:
                kind, text = line.rstrip("\n").split("\t", 1)
                if kind == "at":
                    self.total, last = self.total + 1, text
                elif kind == "accepted":
                    self.accepted.append((case, int(text)))
                else:
                    self.tell(text)
        _, status = os.waitpid(child, 0)
        if status:
            self.tell(f"{last}\tcrashed: {status}")

    def tell(self, text):
        self.found += 1
        print(text, flush=True)


def compile_and_run(some, folder):
    """Generates mutants that are accepted, and runs each under the compiler's sanitizers, with buffers of exact size."""
    for n, one in enumerate(some):
        name = f"net{n}"
        generating.generate(one.model, folder / f"{name}.c")
        body = generating.calls(name, (folder / f"{name}.h").read_text())
        (folder / "main.c").write_text(f'#include <stdlib.h>\n#include "{name}.h"\nint main(void) {{\n{body}  return 0;\n}}\n')
        sources = [path.name for path in (folder / f"{name}.c", folder / f"{name}.S") if path.is_file()]
        subprocess.run(["gcc", "-std=c99", "-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "main.c",
                        *sources, "-o", "net", "-lm"], cwd=folder, check=True)
        done = subprocess.run(["./net"], cwd=folder, capture_output=True, text=True, timeout=120)
        if done.returncode:
            yield one, done.stderr


def main(patterns, programs):
    with tempfile.TemporaryDirectory() as name:
        child = _Child(pathlib.Path(name))
        for case in node_cases.cases().values():
            if not patterns or any(fnmatch.fnmatch(case.name, one) or case.operator == one for one in patterns):
                child.run(case)
        print(f"{child.total} mutants, {len(child.accepted)} accepted by both, {child.found} rejected by run alone", flush=True)
        chosen = random.Random(SEED).sample(child.accepted, min(programs, len(child.accepted)))
        some = [next(itertools.islice(mutants(case), i, None)) for case, i in chosen]
        for one, said in compile_and_run(some, child.folder):
            child.tell(f"{one}\t{said}")
        print(f"{len(some)} programs run under sanitizers", flush=True)
        return 1 if child.found else 0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("patterns", nargs="*", help="names of cases, or operators")
    arguments.add_argument("--programs", type=int, default=0, help="accepted mutants that are compiled and run")
    given = arguments.parse_args()
    sys.exit(main(given.patterns, given.programs))
