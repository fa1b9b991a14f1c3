// Inputs and outputs of a quantized model as integers. The model itself has float inputs and outputs, with a
// QuantizeLinear after each input and a DequantizeLinear before each output. The caller's integers are
// converted with the same scale and zero point; since quantizing a dequantized integer gives that integer
// again, the conversion is exact.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "anybit/executor.hpp"
#include "graph/model.hpp"

namespace anybit {

// value = (quantized - zero_point) · scale.
struct Grid {
  graph::ElementType type = graph::ElementType::undefined;  // undefined: not quantized
  float scale = 0;
  std::int32_t zero_point = 0;

  friend bool operator==(const Grid&, const Grid&) = default;
};

// In the order of the ports. A value with more than one QuantizeLinear parameter set has no grid.
std::vector<Grid> input_grids(const graph::Model& model, const std::vector<Port>& inputs);
std::vector<Grid> output_grids(const graph::Model& model, const std::vector<Port>& outputs);

// `quantized`: as many quantized values as `values` has floats.
void to_quantized(std::span<const float> values, const Grid& grid, std::byte* quantized);
void from_quantized(const std::byte* quantized, const Grid& grid, std::span<float> values);

}  // namespace anybit
