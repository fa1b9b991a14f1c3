// The values of two models that are compared layer by layer.
#pragma once

#include <string>
#include <vector>

#include "graph/model.hpp"

namespace anybit {

struct CommonLayer {
  std::string name, op, other;  // other: the name in the other model
  std::string node = {};
  bool quantized = false;  // Difference::quantized
};

// Values that both models have, in the reference's order. Values computed from constants alone are no layers,
// like initializers: weights are compared separately, and bias correction changes biases on purpose.
std::vector<CommonLayer> common_layers(const graph::Model& reference, const graph::Model& other);

}  // namespace anybit
