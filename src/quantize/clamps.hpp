// What QuantizeLinear cuts off. Other tools drop a Relu, or a Clip from 0 to 6, before a QuantizeLinear whose
// lowest code stands for zero, since that does the same; whoever takes it out has to put the Relu back.
#pragma once

#include <unordered_set>

#include "graph/quantization.hpp"

namespace anybit::quantizing {

class Clamps {
 public:
  // The view must stay where it is as long as this is asked. Nodes are in an order in which they can run.
  explicit Clamps(const graph::QdqView& view);

  enum class Cut { nothing, negative, outside_six };
  // What a QuantizeLinear does to the values that its input may have.
  Cut cut(const graph::Node& quantizer) const;

 private:
  void look_at(const graph::Node& node);
  bool stays_positive(const graph::Node& node) const;
  bool is_positive(const std::string& value) const;

  const graph::QdqView& view_;
  std::unordered_set<std::string> positive_;                      // values without negative elements
  std::unordered_set<std::string> from_zero_, from_zero_to_six_;  // codes whose lowest stands for zero
};

}  // namespace anybit::quantizing
