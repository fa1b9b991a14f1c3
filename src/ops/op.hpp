// What an operator's file works with: what is known of its inputs before the model runs, and the call it is asked about.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/model.hpp"
#include "ops/dim.hpp"
#include "ops/table.hpp"

namespace anybit::ops {

using graph::ElementType;

// What is known of a value before the model runs.
struct Value {
  ElementType type = ElementType::undefined;  // undefined: not known, or not a tensor
  std::optional<Shape> shape;                 // nothing: not even the rank is known
  // The contents, row by row, of a small tensor of whole numbers (or booleans): shapes that a model computes are such.
  std::optional<std::vector<Dim>> elements;
  const graph::Tensor* constant = nullptr;  // the weights, if this is an initializer or a Constant

  bool has_rank(std::size_t rank) const { return shape && shape->size() == rank; }
};

using Values = std::vector<Value>;

// Tensors up to this many elements have their contents followed.
inline constexpr std::int64_t kFollowed = 1024;

Value tensor(ElementType type, std::optional<Shape> shape);
// A value with the contents of a constant, as far as they are small and whole.
Value value_of(const graph::Tensor& constant);
// One-dimensional int64 contents.
Value int64_vector(std::vector<Dim> elements);
// The contents of a float constant of at most kFollowed elements.
std::optional<std::vector<double>> reals(const Value& value);

// A graph inside a node, or a function, inferred for certain inputs.
struct Body {
  Values outputs;
  std::size_t first = 0, last = 0;  // its nodes, in Inference::nodes
};

// One node to be inferred. Attributes that refer to an enclosing function's are looked up there.
struct Call {
  const graph::Node& node;
  std::int64_t version;  // of the operator: the newest that the model's opset has
  std::span<const Value> inputs;
  std::function<const graph::Attribute*(std::string_view)> find;
  // Infers a body; inputs beyond those given are unknown.
  std::function<Result<Body>(const graph::Graph&, Values, std::string_view which)> enter;
  // Tells how often a body entered before runs for each run of this node: 0 if another branch is taken.
  std::function<void(const Body&, Dim runs)> repeat;
  // The multiply-accumulates of a body's nodes.
  std::function<std::int64_t(const Body&)> work;

  bool has(std::size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  // Unknown if the input is left out.
  const Value& in(std::size_t i) const;
  std::size_t output_count() const { return node.outputs.size(); }

  // An attribute, or what the operator assumes without it. One of another kind counts as not given.
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  double real(std::string_view name, double otherwise) const;
  std::string_view text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  std::optional<std::vector<double>> reals(std::string_view name) const;
  const graph::Tensor* tensor(std::string_view name) const;
  const graph::Graph* graph(std::string_view name) const;

  // The contents of input `i`; of attribute `name` in the versions that had it there.
  std::optional<std::vector<Dim>> list(std::size_t i, std::string_view name) const;
};

// A wrong node: "input 1 has shape [2, 3], …". The caller adds the place.
Error wrong(std::string message, std::string hint = {});

}  // namespace anybit::ops
