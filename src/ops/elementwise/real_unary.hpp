// Unary elementwise operators on real numbers. They work in any layout of the input.
#pragma once

#include "kernels/elementwise/unary.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// The reference function in double; a and b are its parameters.
using Exact = double (*)(double x, double a, double b);

// float32 and the 16-bit floats use the kernel, float64 uses `exact`. `cost`: nanoseconds per element.
Result<void> run_unary(Frame& frame, kernels::Map map, Exact exact, double a = 0, double b = 0,
                       double cost = 0.3);
// Every type uses `exact` in double and is rounded once.
Result<void> run_exact(Frame& frame, Exact exact, double a = 0, double b = 0);

// Runs the float32 kernel on 16-bit floats; each result is rounded once.
void unary_half(kernels::Map map, ElementType type, const std::byte* in, std::byte* out, std::int64_t n,
                float a, float b);

}  // namespace anybit::ops
