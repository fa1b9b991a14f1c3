"""The backend test cases of the onnx package, run by our executor.

    python tests/conformance/backend.py [PATTERN…]     prints what fails, and the count by operator
"""
import collections
import fnmatch
import functools
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "runtime"))


@functools.cache
def cases():
    """The node cases by name, each with its model and its inputs and outputs in files."""
    return {case.name: case for case in loader.load_model_tests(kind="node")}


def operator_of(case):
    """The operator that a case is about, or "functions" and the like."""
    model = onnx.load(pathlib.Path(case.model_dir) / "model.onnx", load_external_data=False)
    if "_expanded" in case.name:
        return "expanded functions"
    names = [node.op_type for node in model.graph.node]
    # A case may build what it needs around its operator: the name tells.
    plain = case.name.removeprefix("test_").replace("_", "")
    fitting = [name for name in names if plain.startswith(name.lower())]
    return max(fitting, key=len) if fitting else names[-1]


def _value(path, kind):
    data = path.read_bytes()
    field = kind.WhichOneof("value")
    if field == "sequence_type":
        sequence = onnx.SequenceProto()
        sequence.ParseFromString(data)
        return numpy_helper.to_list(sequence)
    if field == "optional_type":
        optional = onnx.OptionalProto()
        optional.ParseFromString(data)
        return numpy_helper.to_optional(optional)
    tensor = onnx.TensorProto()
    tensor.ParseFromString(data)
    return numpy_helper.to_array(tensor)


def data_sets(case, model):
    """Pairs of inputs and outputs, in the model's order."""
    for folder in sorted(pathlib.Path(case.model_dir).glob("test_data_set_*")):
        read = lambda stem, ports: [_value(folder / f"{stem}_{i}.pb", port.type) for i, port in enumerate(ports)]
        inputs = model.graph.input[:len(list(folder.glob("input_*.pb")))]
        yield read("input", inputs), read("output", model.graph.output)


def compare(name, got, wanted, rtol, atol):
    if wanted is None:
        assert got is None, f"{name}: a value where there should be none"
        return
    if isinstance(wanted, list):
        assert isinstance(got, list) and len(got) == len(wanted), f"{name}: {got!r} is not the sequence {wanted!r}"
        for i, (one, other) in enumerate(zip(got, wanted)):
            compare(f"{name}[{i}]", one, other, rtol, atol)
        return
    assert got is not None and not isinstance(got, list), f"{name}: {got!r} is not an array"
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape, f"{name}: shape {got.shape}, not {wanted.shape}"
    if wanted.dtype.kind in "OUS":
        assert got.tolist() == wanted.tolist(), f"{name}: {got.tolist()} are not {wanted.tolist()}"
        return
    assert got.dtype == wanted.dtype, f"{name}: {got.dtype}, not {wanted.dtype}"
    if wanted.dtype.kind == "V" or wanted.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, err_msg=name)


def run(case):
    """Raises what is wrong."""
    from executing import Executor

    path = pathlib.Path(case.model_dir) / "model.onnx"
    model = onnx.load(path)
    executor = Executor(path)
    for inputs, outputs in data_sets(case, model):
        names = [port.name for port in model.graph.input]
        got = executor.run(dict(zip(names, inputs)))
        for port, one, other in zip(model.graph.output, got, outputs):
            compare(port.name, one, other, case.rtol, case.atol)


def main(patterns):
    passed, total, failures = collections.Counter(), collections.Counter(), []
    for name, case in sorted(cases().items()):
        if patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            continue
        operator = operator_of(case)
        total[operator] += 1
        try:
            run(case)
            passed[operator] += 1
        except Exception as error:  # the executor's, or a comparison's
            failures.append((operator, name, " ".join(str(error).split())[:200]))
    for operator, name, text in failures:
        print(f"{operator:28} {name}: {text}")
    for operator in sorted(total):
        if passed[operator] != total[operator]:
            print(f"{operator:28} {passed[operator]}/{total[operator]}")
    print(f"{passed.total()} of {total.total()} pass ({100 * passed.total() / max(1, total.total()):.1f} %)")


if __name__ == "__main__":
    main(sys.argv[1:])
