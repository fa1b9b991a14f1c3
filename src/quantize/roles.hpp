// What part each node of a graph plays when it is quantized by a recipe.
#pragma once

#include "quantize/annotation.hpp"
#include "quantize/scope.hpp"

namespace anybit::quantizing {

struct Part {
  enum class Kind { left, compute, move, element } kind = Kind::left;
  const ops::Traits* traits = nullptr;
  bool heavy = false;  // sums of products: what quantization is for
  bool dynamic = false;
  bool held = false;           // in float, whatever lies around it: by a rule, or for its values
  std::vector<int> data;       // inputs that are quantized values
  std::vector<int> constants;  // data inputs that are constants
  std::vector<int> weights;    // inputs that are constant weights
  int bias = -1;               // a constant one
};

// Fills `notes.nodes` with the schemes, and with the reasons of those that are left in float.
std::vector<Part> parts_of(const Scope& scope, Matcher& matcher, GraphNotes& notes);

// Whether int8 weights of the node are to keep to the bound of reduce_range.hpp.
inline bool reduces_range(const Scheme& scheme, const Target& target) {
  return scheme.reduce_range.value_or(target.saturates ? "pairs" : "none") == "pairs";
}
// The refinement that chooses the roundings of a weight of these dims, and the axis of its outputs.
struct ChosenRounding {
  Rounder by = {};
  std::int64_t axis = -1;
};
ChosenRounding rounding_of(const Part& part, const Scheme& scheme, const graph::Node& node, int input,
                           std::span<const std::int64_t> dims);

}  // namespace anybit::quantizing
