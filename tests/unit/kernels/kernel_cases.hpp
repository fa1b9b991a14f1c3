// Work for the kernels of the list, each with the result of a naive loop. Tests run small cases of odd sizes,
// the benchmark large ones.
#pragma once

#include "unit/kernels/conv_cases.hpp"
#include "unit/kernels/conv_float_cases.hpp"
#include "unit/kernels/element_cases.hpp"
#include "unit/kernels/gemm_cases.hpp"

namespace anybit::kernels {

// Made during the kernel's Trial: weights are packed for its instructions.
inline KernelCases cases_of(const Descriptor& one, bool large, std::mt19937& random) {
  return std::visit([&](const auto& kernel) { return cases::of(kernel, large, random); }, one.kernel);
}

}  // namespace anybit::kernels
