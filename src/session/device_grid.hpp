// Inputs and outputs of a quantized model as codes. The model itself takes and gives real numbers, and turns
// them into codes by the QuantizeLinear behind an input, out of codes by the DequantizeLinear before an
// output. Codes of the caller go through the same scale and zero point, and since a code's real number leads
// back to that very code, the model sees and gives exactly these codes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "anybit/executor.hpp"
#include "graph/model.hpp"

namespace anybit {

// value = (code - zero_point) · scale.
struct Grid {
  graph::ElementType type = graph::ElementType::undefined;  // undefined: it is not quantized
  float scale = 0;
  std::int32_t zero_point = 0;

  friend bool operator==(const Grid&, const Grid&) = default;
};

// In the order of the ports. A value that is quantized in more than one way has no grid.
std::vector<Grid> input_grids(const graph::Model& model, const std::vector<Port>& inputs);
std::vector<Grid> output_grids(const graph::Model& model, const std::vector<Port>& outputs);

// As many codes as there are values.
void to_codes(std::span<const float> values, const Grid& grid, std::byte* codes);
void from_codes(const std::byte* codes, const Grid& grid, std::span<float> values);

}  // namespace anybit
