// What QuantizeLinear cuts off. Other tools drop a Relu, or a Clip from 0 to 6, before a QuantizeLinear whose
// lowest code stands for zero, since that does the same; whoever takes it out has to put the Relu back.
#pragma once

#include <optional>
#include <unordered_set>

#include "graph/index.hpp"
#include "ops/array.hpp"

namespace anybit::quantizing {

class Clamps {
 public:
  // The index must stay where it is as long as this is asked. Nodes are in an order in which they can run.
  static Result<Clamps> of(const graph::Graph& graph, const graph::Index& index, ops::Memory& memory);

  enum class Cut { nothing, negative, outside_six };
  // What a QuantizeLinear does to the values that its input may have.
  Cut cut(const graph::Node& quantizer) const;

 private:
  explicit Clamps(const graph::Index& index) : index_(&index) {}
  Result<void> look_at(const graph::Node& node, ops::Memory& memory);
  bool stays_positive(const graph::Node& node) const;
  bool is_positive(const std::string& value) const;

  const graph::Index* index_;
  std::unordered_set<std::string> positive_;                      // values without negative elements
  std::unordered_set<std::string> from_zero_, from_zero_to_six_;  // codes whose lowest stands for zero
};

// An integer code as a number; nothing for other types.
std::optional<std::int64_t> code_at(const ops::Array& array, std::int64_t i);

}  // namespace anybit::quantizing
