"""CPU dispatch is in one place each: instruction sets in src/base/cpu.cpp, variants of libm in src/base/math.hpp."""
import re

import pytest
from support.tree import text_of, tracked

SOURCES = [path for path in tracked() if re.match(r"src/.*\.(cpp|hpp|h)$", path)]
ASKS_CPU = re.compile(r"__builtin_cpu_|__get_cpuid|<cpuid\.h>|getauxval")
# glibc selects variants of these functions, or of functions that they call, by the CPU.
LIBM = re.compile(r"\bstd::(exp2?|expm1|log(10|2|1p)?|pow|a?sinh?|a?cosh?|a?tanh?|atan2|erfc?|cbrt|hypot|[lt]gamma)\(")
# Results that go into reports, not into models; pattern matchers that compare constants within a tolerance.
REPORTED = {"src/quantize/weights.cpp", "src/kernels/reduce/losses_simd.cpp", "src/evaluate/class_rows.cpp",
            "src/evaluate/difference.cpp", "src/evaluate/levels.cpp", "src/api/sensitivity.cpp", "src/passes/element_group.cpp",
            "src/passes/recognise_gelu.cpp", "src/passes/recognise_mish.cpp", "src/passes/recognise_silu.cpp"}


def uses(pattern):
    return {path for path in SOURCES if pattern.search(text_of(path))}


def test_one_file_queries_the_cpu():
    assert uses(ASKS_CPU) == {"src/base/cpu.cpp"}


def test_elementary_functions_are_dispatched_in_base_math():
    assert uses(LIBM) - REPORTED == {"src/base/math.cpp", "src/base/math.hpp"}


@pytest.mark.parametrize("path", sorted(REPORTED))
def test_exceptions_are_still_needed(path):
    assert path in uses(LIBM)
