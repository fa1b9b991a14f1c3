"""libanybit_ort.so against ONNX Runtime's own C header and AMD Quark's own library (`make test-ort` fetches them)."""
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.ort_library import OLD_QUARK, QUARK, WithLibrary, assert_same_bits, one_node
from support.quark_library import LIBRARY
from support.uses import values_of, with_nonfinite

pytestmark = pytest.mark.quark
ROOT = Path(__file__).resolve().parents[2]
OURS, THEIRS = ROOT / "plugins" / "ort" / "abi.hpp", ROOT / "build" / "quark" / "onnxruntime_c_api.h"

MX = [dict(element_dtype=element, rounding_mode=mode, axis=1, block_size=16)
      for element in ("int8", "fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1") for mode in (0, 1, 2)]
BFP = [dict(bfp_method=method, rounding_mode=mode, bit_width=bits, axis=1, block_size=16)
       for method in ("to_bfp", "to_bfp_prime") for mode in (0, 1, 2) for bits in (12, 16)]
BFP += [dict(use_compiler_version_cpu_kernel=1), dict(convert_to_bfloat_before_bfp=1), {}]
NODES = ([("MXQuantizeDequantize", QUARK, one) for one in MX] + [("BFPQuantizeDequantize", QUARK, one) for one in BFP]
         + [("MXFixNeuron", OLD_QUARK, MX[0]), ("BFPFixNeuron", OLD_QUARK, BFP[0])])


def compile_check(folder):
    return subprocess.run(["g++", "-std=c++20", "-fsyntax-only", "-Wno-ignored-attributes", f"-I{folder}", "-isystem", THEIRS.parent,
                           ROOT / "tests" / "ort" / "check_abi.cpp"], capture_output=True, text=True)


def test_every_entry_has_its_place_and_type_in_the_header_of_onnx_runtime():
    done = compile_check(OURS.parent)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("before, after", [
    ("void* other1[25];", "void* other1[24];"),
    ("std::size_t* out);\n  OrtStatus* (*GetDimensions)", "int* out);\n  OrtStatus* (*GetDimensions)"),
    ("GetStartVersion)(const CustomOp* op);", "GetStartVersion)(const CustomOp* op, int more);"),
    ("kNotImplemented = 9", "kNotImplemented = 8"),
])
def test_the_comparison_finds_a_wrong_entry(before, after, tmp_path):
    text = OURS.read_text()
    assert text.count(before) == 1
    (tmp_path / "abi.hpp").write_text(text.replace(before, after))
    assert "static assertion failed" in compile_check(tmp_path).stderr


@pytest.mark.parametrize("op, domain, attributes", NODES, ids=str)
def test_the_operators_have_the_bits_of_quarks_library(op, domain, attributes):
    seed = int(np.random.SeedSequence().entropy % 2**32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    model = one_node(op, domain, **attributes)
    for shape in ((5, 37), (3, 128), (2, 40, 7), (2, 3, 4, 9)):
        # Quark's keeps the rank of its first run, and may write to its input.
        ours, theirs = WithLibrary(model), WithLibrary(model, library=str(LIBRARY))
        for _ in range(10):
            arrays = values_of(rng, shape)
            for x in [*arrays, with_nonfinite(rng, arrays[2])]:
                assert_same_bits(ours.run(x=x)[0], theirs.run(x=x.copy())[0], f"{attributes} on {shape}")
