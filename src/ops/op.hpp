// What an operator's file works with: what is known of its inputs before the model runs, and the call it is
// asked about.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "base/value.hpp"
#include "graph/model.hpp"
#include "ops/attributes.hpp"
#include "ops/dim.hpp"
#include "ops/table.hpp"

namespace anybit::ops {

using graph::ElementType;

enum class Holder : std::uint8_t { none, sequence, optional };

// What is known of a value before the model runs.
struct Value {
  ANYBIT_VALUE(Value);
  ElementType type = ElementType::undefined;  // undefined: not known, or not a tensor
  Holder holder = Holder::none;               // none: not known, or neither a sequence nor an optional
  std::optional<Shape> shape;                 // nothing: not even the rank is known
  // The contents, row by row, of a small tensor of whole numbers (or booleans): shapes that a model computes
  // are such.
  std::optional<std::vector<Dim>> elements;
  const graph::Tensor* constant = nullptr;  // the weights, if this is an initializer or a Constant
  // What lies in a sequence or an optional; of the items of a sequence only the type is known.
  std::shared_ptr<const Value> held;

  bool has_rank(std::size_t rank) const { return shape && shape->size() == rank; }
};

using Values = std::vector<Value>;

// Tensors up to this many elements have their contents followed.
inline constexpr std::int64_t kFollowed = 256;

Value tensor(ElementType type, std::optional<Shape> shape);
// The value without its contents: what another of the same type and shape has in common with it.
Value without_contents(const Value& value);
Value sequence_of(const Value& item);
Value optional_of(const Value& held);
// What lies in a sequence or an optional. Nothing is known of what lies in something else.
Value held_by(const Value& value);
// Whether both can be true of one value, as far as its type goes: elements and holders, not shapes.
bool types_agree(const Value& one, const Value& other);
// "float32[2, n]", "seq(int64)", "undefined"
std::string to_string(const Value& value);
// A value with the contents of a constant, as far as they are small and whole.
Value value_of(const graph::Tensor& constant);
// One-dimensional int64 contents.
Value int64_vector(std::vector<Dim> elements);
// The contents of a float constant of at most kFollowed elements.
std::optional<std::vector<double>> reals(const Value& value);

// A graph inside a node, or a function, inferred for certain inputs.
struct Body {
  Values outputs;
  std::size_t first = 0, last = 0;                  // its nodes, in Inference::nodes
  std::size_t first_problem = 0, last_problem = 0;  // what is wrong with them, in Inference::problems
};

// One node to be inferred, and what its surroundings can do for it.
struct Call : Attributes {
  using Attributes::Attributes;
  std::span<const Value* const> inputs;

  // Infers a graph of this node. Inputs that are not given are as the graph declares them. Entering the same
  // one again replaces what was found before.
  virtual Result<Body> enter(const graph::Graph& graph, const Values& given,
                             std::string_view which) const = 0;
  // Tells how often a graph runs each time the node does: 0 if another branch counts.
  virtual void repeat(const Body& body, const Dim& runs) const = 0;
  // Tells that a graph never runs: whatever is wrong with its nodes does not matter. Bodies entered later are
  // to be ruled out first.
  virtual void rule_out(const Body& body) const = 0;
  // Tells that the model says two things of a value that cannot both hold: for those who load it.
  virtual void contradict(const std::string&) const {}
  // The multiply-accumulates of a graph's nodes, as far as they are known.
  virtual std::int64_t work(const Body& body) const = 0;

  bool has(std::size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  // Unknown if the input is left out.
  const Value& in(std::size_t i) const;
  std::size_t output_count() const { return node.outputs.size(); }

  // The contents of input `i`; of attribute `name` in the versions that had it there.
  std::optional<std::vector<Dim>> list(std::size_t i, std::string_view name) const;
};

// A wrong node: "input 1 has shape [2, 3], …". The caller adds the place.
Error wrong(std::string message, std::string hint = {});

}  // namespace anybit::ops
