"""Most of onnx's backend cases under valgrind: no operator accesses memory out of bounds or branches on uninitialized values.
AddressSanitizer, which checks the stack, too, runs all cases in `make check-all`: its separate build would add ten minutes to
`make test`.
"""
import os
import pathlib
import subprocess

import onnx
from support import backend

PROGRAM = pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")) / "bin/anybit"
# Inputs are random. Inputs of other types are shapes, indices or axes, which must be valid.
NUMBERS = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE,
           onnx.TensorProto.INT8, onnx.TensorProto.UINT8, onnx.TensorProto.BOOL}
# Operators with inputs that must be within bounds: scales, ratios, thresholds.
BOUNDED = {"Resize", "Upsample", "Dropout", "NonMaxSuppression", "OneHot"}
FEWEST = 900  # guards the selection of cases


def takes_any_numbers(case):
    model = onnx.load(pathlib.Path(case.model_dir) / "model.onnx", load_external_data=False)
    operators = {node.op_type for node in model.graph.node}
    return not operators & BOUNDED and all(one.type.tensor_type.elem_type in NUMBERS for one in model.graph.input)


def test_no_case_accesses_memory_out_of_bounds():
    excused = backend.exceptions()
    models = [str(pathlib.Path(case.model_dir) / "model.onnx") for name, case in sorted(backend.cases().items())
              if name not in excused and takes_any_numbers(case)]
    assert len(models) >= FEWEST
    command = ["valgrind", "--quiet", "--error-exitcode=99", PROGRAM, "bench", "--seconds", "0", "--threads", "1", *models]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:6000]


def test_valgrind_detects_an_access_out_of_bounds(tmp_path):
    """A program that reads past the end of its buffer exits with valgrind's error code."""
    source, program = tmp_path / "bad.c", tmp_path / "bad"
    source.write_text("#include <stdlib.h>\nint main(int n, char** v) { (void)v; char* p = malloc(8); return p[8 * n] == 77; }\n")
    subprocess.run(["cc", "-O0", "-o", program, source], check=True)
    assert subprocess.run(["valgrind", "--quiet", "--error-exitcode=99", program], capture_output=True).returncode == 99
