// Scales and zero points of the values of a program, where its operators have them as constants.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/shapes.hpp"

namespace anybit::codegen {

struct Quantization {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;  // as many, or none: all are zero
  std::int32_t axis = 0;
};

// By slot. What an operator moves has the parameters of where it was.
std::vector<std::optional<Quantization>> quantization_of(const runtime::Program& program,
                                                         const ops::Values& values);

}  // namespace anybit::codegen
