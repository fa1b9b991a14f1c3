"""What depends on the CPU is decided in one place each: instruction sets in src/base/cpu.cpp, libm's variants in src/base/math.hpp."""
import re

import pytest
from support.tree import text_of, tracked

SOURCES = [path for path in tracked() if re.match(r"src/.*\.(cpp|hpp|h)$", path)]
ASKS_CPU = re.compile(r"__builtin_cpu_|__get_cpuid|<cpuid\.h>|getauxval")
# glibc chooses variants of these, or of what they call, by the CPU.
LIBM = re.compile(r"\bstd::(exp2?|expm1|log(10|2|1p)?|pow|a?sinh?|a?cosh?|a?tanh?|atan2|erfc?|cbrt|hypot|[lt]gamma)\(")
# Numbers that go into reports, not into files of models; patterns that are known by their values within a tolerance.
REPORTED = {"src/quantize/weights.cpp", "src/kernels/reduce/losses_simd.cpp", "src/api/difference.cpp", "src/passes/element_group.cpp",
            "src/passes/recognise_gelu.cpp", "src/passes/recognise_mish.cpp", "src/passes/recognise_silu.cpp"}


def uses(pattern):
    return {path for path in SOURCES if pattern.search(text_of(path))}


def test_one_file_asks_the_cpu_what_it_has():
    assert uses(ASKS_CPU) == {"src/base/cpu.cpp"}


def test_elementary_functions_are_chosen_by_base_math():
    assert uses(LIBM) - REPORTED == {"src/base/math.cpp", "src/base/math.hpp"}


@pytest.mark.parametrize("path", sorted(REPORTED))
def test_exceptions_are_still_needed(path):
    assert path in uses(LIBM)
