// Determines the role of each node of a graph when it is quantized by a recipe.
#pragma once

#include "quantize/annotation.hpp"
#include "quantize/scope.hpp"

namespace anybit::quantizing {

struct Part {
  enum class Kind { left, compute, move, element } kind = Kind::left;
  const ops::Traits* traits = nullptr;
  bool heavy = false;  // a linear operator, the main purpose of quantization
  bool dynamic = false;
  bool held = false;      // left in float regardless of its neighbors: by a rule, or because of its values
  std::vector<int> data;  // inputs that are quantized activations
  std::vector<int> constants;  // activation inputs that are constants
  std::vector<int> weights;    // weight inputs, which are constants
  int bias = -1;               // input of the constant bias; -1: none
};

// Adds the notes on nodes, with their schemes and the reasons of those left in float.
std::vector<Part> parts_of(const Scope& scope, Matcher& matcher, GraphNotes& notes);

// Returns true if int8 weights of the node must keep the bound of reduce_range.hpp.
inline bool reduces_range(const Scheme& scheme, const Target& target) {
  return scheme.reduce_range.value_or(target.saturates ? "pairs" : "none") == "pairs";
}
// The refinement that rounds a weight of these dims, and the axis of its output channels.
struct ChosenRounding {
  Rounder by = {};
  std::int64_t axis = -1;
};
ChosenRounding rounding_of(const Part& part, const Scheme& scheme, const graph::Node& node, int input,
                           std::span<const std::int64_t> dims);

}  // namespace anybit::quantizing
