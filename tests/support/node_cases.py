"""The node cases of the onnx package as C: generated, compiled, and run on the inputs that they come with.

    python tests/support/node_cases.py [PATTERN…]      prints what does not pass, and why
    python tests/support/node_cases.py --write         writes docs/codegen-coverage.md
"""
import collections
import dataclasses
import fnmatch
import functools
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
from support import backend, generating

DOCUMENT = ROOT / "docs" / "codegen-coverage.md"
NOT_NUMERIC = {TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128, TensorProto.UNDEFINED}
# Random numbers differ between implementations, so they cannot be compared.
RANDOM = ("test_bernoulli", "test_training_dropout")
# Float inputs, or first inputs, that determine shapes; and quantization parameters.
DECIDING = re.compile("scales|roi|depth|start|limit|delta|.*_scale|.*_zero_point")


@dataclasses.dataclass
class Case:
    name: str
    operator: str
    model: onnx.ModelProto
    inputs: list   # arrays
    outputs: list
    rtol: float
    atol: float

    def frozen(self):
        """The case with small inputs after the first as constants, as in models: shapes, axes, counts, scales."""
        model = onnx.ModelProto.FromString(self.model.SerializeToString())
        kept = []
        for i, (port, value) in enumerate(zip(list(model.graph.input), self.inputs)):
            decides = value.ndim <= 1 and (value.dtype in (np.int64, np.int32, np.bool_) or DECIDING.fullmatch(port.name))
            if decides and (i > 0 or len(self.inputs) == 1 or port.name == "start"):
                model.graph.initializer.append(numpy_helper.from_array(value, port.name))
                model.graph.input.remove(port)
            else:
                kept.append(value)
        return dataclasses.replace(self, model=model, inputs=kept)


def _is_fixed(port):
    kind = port.type.tensor_type
    fixed = kind.HasField("shape") and all(dim.HasField("dim_value") for dim in kind.shape.dim)
    return port.type.HasField("tensor_type") and fixed and kind.elem_type not in NOT_NUMERIC


@functools.cache
def cases():
    """The cases by name whose inputs and outputs are numeric tensors with fixed shapes."""
    found = {}
    for name, case in sorted(backend.cases().items()):
        model = onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
        if name.startswith(RANDOM) or not all(map(_is_fixed, [*model.graph.input, *model.graph.output])):
            continue
        inputs, outputs = next(backend.data_sets(case, model))
        if len(inputs) == len(model.graph.input):
            found[name] = Case(name, backend.operator_of(case), model, inputs, outputs, case.rtol, case.atol)
    return found


def _check(case, program):
    wanted = [np.asarray(output) for output in case.outputs]
    for port, one, other in zip(case.model.graph.output, program.run(case.inputs, wanted), wanted):
        backend.compare(port.name, one, other, case.rtol, case.atol)


def run(chosen, folder):
    """{name: None if it passes, else the reason} of the cases. Those with unknown shapes are tried again with the
    inputs that determine shapes as constants; their names are the second result."""
    failures, frozen, made = {}, set(), {}
    excused = backend.exceptions()
    for name, case in chosen.items():
        try:
            try:
                generating.generate(case.model, folder / f"{name}.c")
            except generating.NotGenerated:
                case = case.frozen()
                generating.generate(case.model, folder / f"{name}.c")
                frozen.add(name)
            made[name] = case
        except generating.NotGenerated as error:
            failures[name] = " ".join(str(error).split())
    programs = generating.compile_all(list(made), folder)
    for name, case in made.items():
        if isinstance(programs[name], generating.NotCompiled):
            failures[name] = "its C does not compile: " + " ".join(str(programs[name]).split())
            continue
        try:
            _check(case, programs[name])
        except AssertionError as error:
            # Expected data that the runtime does not match either are excused.
            failures[name] = (f"node '{name}' ({case.operator}): {excused[name]}" if name in excused else
                              "the outputs differ: " + " ".join(str(error).split())[:300])
    return {name: failures.get(name) for name in chosen}, frozen


def _short(reason):
    """A reason without the names of nodes and values, which differ from case to case."""
    reason = re.sub(r"c-gen: |c-gen cannot generate |node '[^']*' |, or one whose.*| hint: .*", "", reason)
    reason = re.sub(r"the shape of '[^']*' depends on values: .*", "the output shape depends on values", reason)
    return re.sub(r"^\((?:[a-z.]*[.])?(\w+)\): ", r"\1: ", reason)


def document(results, frozen):
    """docs/codegen-coverage.md. A test compares it with a run."""
    total, passed, reasons = collections.Counter(), collections.Counter(), collections.Counter()
    for name, reason in results.items():
        operator = cases()[name].operator
        total[operator] += 1
        passed[operator] += reason is None
        if reason:
            reasons[_short(reason)] += 1
    count, constant = passed.total(), sum(results[name] is None for name in frozen)
    lines = ["# What c-gen covers", "",
             f"The node cases of the `onnx` package {onnx.__version__} whose inputs and outputs are tensors of numbers with fixed "
             f"shapes: **{count} of {total.total()}** ({100 * count / total.total():.1f} %) compile as C with `gcc "
             f"{' '.join(generating.STRICT)}` and match the expected outputs of the suite, within its tolerances. In {constant} of them, "
             "inputs that determine shapes (the target of a Reshape, the axes of a reduction), or scales and zero points, are made "
             "constants, as in real models. This page is generated by `make docs`; `make test` runs every case.", "",
             "Cases that are not supported:", "", "| reason | cases |", "|---|--:|"]
    lines += [f"| {reason} | {number} |" for reason, number in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    lines += ["", "## By operator", "", "| operator | passed | of |", "|---|--:|--:|"]
    lines += [f"| {operator} | {passed[operator]} | {total[operator]} |" for operator in sorted(total)]
    return "\n".join(lines) + "\n"


def main(patterns):
    write = patterns == ["--write"]
    chosen = {name: case for name, case in cases().items()
              if write or not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)}
    with tempfile.TemporaryDirectory() as folder:
        results, frozen = run(chosen, pathlib.Path(folder))
    if write:
        DOCUMENT.write_text(document(results, frozen))
        return
    for name, reason in results.items():
        if reason:
            print(f"{chosen[name].operator:28} {name}: {reason}")
    passed = sum(reason is None for reason in results.values())
    constant = sum(results[name] is None for name in frozen)
    print(f"{passed} of {len(results)} pass, {constant} of them with constants for the inputs that decide shapes")


if __name__ == "__main__":
    main(sys.argv[1:])
