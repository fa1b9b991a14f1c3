// Scales and zero points of the values of a program, where operators have them as constants.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/shapes.hpp"

namespace anybit::codegen {

struct Quantization {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;  // as many as scales; empty if all are zero
  std::int32_t axis = 0;
};

// By slot. The output of a pass-through operator has its input's parameters.
std::vector<std::optional<Quantization>> quantization_of(const runtime::Program& program,
                                                         const ops::Values& values);

}  // namespace anybit::codegen
