// What an operator uses for shape inference: the known facts about its inputs, and the call to infer.
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
#include "ops/symbolic_dim.hpp"
#include "ops/table.hpp"

namespace anybit::ops {

using graph::ElementType;

enum class Holder : std::uint8_t { none, sequence, optional };

// Facts about a value before the model runs: type, shape, and the contents of small integer tensors.
struct Value {
  ANYBIT_VALUE(Value);
  ElementType type = ElementType::undefined;  // undefined: unknown, or not a tensor
  Holder holder = Holder::none;               // none: unknown, or neither a sequence nor an optional
  std::optional<Shape> shape;                 // nullopt: not even the rank is known
  // The contents of a small integer or boolean tensor in row-major order, for example a computed shape.
  std::optional<std::vector<Dim>> elements;
  const graph::Tensor* constant = nullptr;  // the weights, if this is an initializer or a Constant
  // The element of a sequence or the value of an optional; for a sequence only the type is known.
  std::shared_ptr<const Value> held;

  bool has_rank(std::size_t rank) const { return shape && shape->size() == rank; }
};

using Values = std::vector<Value>;

// Contents are tracked for tensors of up to this many elements.
inline constexpr std::int64_t kFollowed = 256;

Value tensor(ElementType type, std::optional<Shape> shape);
// The value without its contents: type and shape only.
Value without_contents(const Value& value);
Value sequence_of(const Value& item);
Value optional_of(const Value& held);
// The element of a sequence or the value of an optional; an unknown value otherwise.
Value held_by(const Value& value);
// Whether both types can describe the same value: element types and holders, not shapes.
bool types_agree(const Value& one, const Value& other);
// "float32[2, n]", "seq(int64)", "undefined"
std::string to_string(const Value& value);
// The value of a constant, with its contents if they are few integers.
Value value_of(const graph::Tensor& constant);
// One-dimensional int64 contents.
Value int64_vector(std::vector<Dim> elements);
// The contents of a float constant of at most kFollowed elements.
std::optional<std::vector<double>> reals(const Value& value);

// An inferred subgraph or function body, for given inputs.
struct Body {
  Values outputs;
  std::size_t first = 0, last = 0;                  // range of its nodes in Inference::nodes
  std::size_t first_problem = 0, last_problem = 0;  // range of its errors in Inference::problems
};

// One node to infer, with the services of the surrounding inference.
struct Call : Attributes {
  using Attributes::Attributes;
  std::span<const Value* const> inputs;

  // Infers a subgraph of this node. Inputs that are not given are as the graph declares them. A second call
  // for the same subgraph replaces the first result.
  virtual Result<Body> enter(const graph::Graph& graph, const Values& given,
                             std::string_view which) const = 0;
  // Sets how often a subgraph runs per run of the node; 0 if another branch is counted instead.
  virtual void repeat(const Body& body, const Dim& runs) const = 0;
  // Marks a subgraph as dead: errors in its nodes are ignored. Rule out later bodies first.
  virtual void rule_out(const Body& body) const = 0;
  // Reports a contradiction in the model, for its loader.
  virtual void contradict(const std::string&) const {}
  // Multiply-accumulates of the nodes of a subgraph, as far as they are known.
  virtual std::int64_t work(const Body& body) const = 0;

  bool has(std::size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  // An unknown value if the input is omitted.
  const Value& in(std::size_t i) const;
  std::size_t output_count() const { return node.outputs.size(); }

  // The contents of input `i`, or of attribute `name` in opset versions that have the attribute instead.
  std::optional<std::vector<Dim>> list(std::size_t i, std::string_view name) const;
};

// An error in a node: "input 1 has shape [2, 3], …". The caller adds the location.
Error wrong(std::string message, std::string hint = {});

}  // namespace anybit::ops
