// Clamps implied by QuantizeLinear. Other tools remove a Relu or Relu6 before a QuantizeLinear whose lowest
// quantized value is zero, since the saturation is equivalent. Removing the QuantizeLinear has to restore the
// clamp.
#pragma once

#include <unordered_set>

#include "graph/quantization.hpp"

namespace anybit::quantizing {

class Clamps {
 public:
  // The view must outlive this object. Nodes must be in topological order.
  explicit Clamps(const graph::QdqView& view);

  enum class Cut { nothing, negative, outside_six };
  // The clamp that a QuantizeLinear applies to the possible values of its input.
  Cut cut(const graph::Node& quantizer) const;
  // Returns true if no element of the value can be negative.
  bool is_positive(const std::string& value) const;

 private:
  void look_at(const graph::Node& node);
  bool stays_positive(const graph::Node& node) const;

  const graph::QdqView& view_;
  std::unordered_set<std::string> positive_;                      // values without negative elements
  std::unordered_set<std::string> from_zero_, from_zero_to_six_;  // quantized values whose lowest is zero
};

}  // namespace anybit::quantizing
