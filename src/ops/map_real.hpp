// Functions of one real number, element by element, in whatever layout the input lies.
#pragma once

#include "kernels/map.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// The function in double; a and b are its parameters.
using Exact = double (*)(double x, double a, double b);

// float32 and the 16-bit floats by the kernel, float64 exactly. `cost`: nanoseconds for one.
Result<void> run_map(Frame& frame, kernels::Map map, Exact exact, double a = 0, double b = 0,
                     double cost = 0.3);
// All types by the exact function, rounded once.
Result<void> run_exact(Frame& frame, Exact exact, double a = 0, double b = 0);

// The kernel on 16-bit floats: in float32, rounded once.
void map_half(kernels::Map map, ElementType type, const std::byte* in, std::byte* out, std::int64_t n,
              float a, float b);

}  // namespace anybit::ops
