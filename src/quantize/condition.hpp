// Conditions on a node in the form of onnx-mlir's configuration files: its operator and name by regular
// expressions; rank, element type and dims of its inputs and outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "anybit/result.hpp"
#include "ops/infer.hpp"

namespace anybit::quantizing {

// "3", "==3", "!=3", ">3", ">=3", "<3", "<=3", or "%32==0" for the remainder of a division.
struct Bound {
  enum class Test : std::uint8_t { equal, different, more, at_least, less, at_most, remainder } test;
  std::int64_t number = 0, divisor = 1;
  bool holds(std::int64_t value) const;
};
Result<Bound> parse_bound(std::string_view text);

// Negative indices count from the end.
struct TensorCondition {
  std::int64_t index = 0;
  std::optional<Bound> rank = {};
  graph::ElementType type = graph::ElementType::undefined;  // undefined: any
  std::vector<std::pair<std::int64_t, Bound>> dims = {};    // an unknown size counts as -1
  // Returns false if the value is unknown.
  bool holds(const ops::Value* value) const;
};

struct Condition {
  std::string type, name;  // regular expressions for "onnx.MatMul" and the node's name; empty: any
  std::vector<TensorCondition> inputs, outputs;
  int list = 0;  // of several rules in one list, the first that holds applies

  bool has_tensors() const { return !inputs.empty() || !outputs.empty(); }
  // Checks the inputs and outputs. `facts`: null if nothing is known of the node.
  bool holds(const ops::NodeFacts* facts) const;
};

// Returns the element type of a name like "f32" or "i64".
Result<graph::ElementType> type_of_mlir(std::string_view name);

}  // namespace anybit::quantizing
