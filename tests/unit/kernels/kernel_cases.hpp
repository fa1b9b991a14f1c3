// Works for the kernels of the list, each with what a plain loop makes of it. Tests run small ones at odd
// sizes, the benchmark large ones.
#pragma once

#include "unit/kernels/conv_cases.hpp"
#include "unit/kernels/element_cases.hpp"
#include "unit/kernels/product_cases.hpp"

namespace anybit::kernels {

// Made while the kernel is on trial: weights are packed for what it needs.
inline KernelCases cases_of(const Descriptor& one, bool large, std::mt19937& random) {
  return std::visit([&](const auto& kernel) { return cases::of(kernel, large, random); }, one.kernel);
}

}  // namespace anybit::kernels
