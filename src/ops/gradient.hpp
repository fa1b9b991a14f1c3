// The gradient rule of an operator: emits ordinary operators that compute the gradients of a node's inputs
// from those of its outputs. The backward graph runs in the same executor as the forward graph.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/node.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

// The domain of operators that only backward graphs have.
inline constexpr std::string_view kTraining = "ai.anybit.training";

// One node of the forward graph, and the nodes that its rule adds. Values are names in the graph: a rule uses
// inputs and outputs of the forward node as it likes; they live as long as something needs them.
class Gradient : public Attributes {
 public:
  using Attributes::Attributes;
  using NodeAttributes = std::vector<graph::Attribute>;

  bool has(std::size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  // Values of the forward graph.
  const std::string& input(std::size_t i) const { return node.inputs[i]; }
  const std::string& output(std::size_t i = 0) const { return node.outputs[i]; }
  // Known facts about them: type, shape, contents of small integer tensors, constants.
  virtual const Value& in(std::size_t i) const = 0;
  virtual const Value& out(std::size_t i = 0) const = 0;

  // The gradient of output i; empty: nothing depends on the output.
  virtual std::string dy(std::size_t i = 0) const = 0;
  // Whether the gradient of input i is needed.
  virtual bool wants(std::size_t i) const = 0;
  // The gradient of input i. It may have the shape to which the input was broadcast: the builder sums over
  // the broadcast axes. Several calls for one input are added up. An input without a call has a gradient of
  // zero.
  virtual void set(std::size_t i, std::string gradient) = 0;

  // Adds a node and returns its first output, or all of them. Inputs may be empty: left out.
  virtual std::string add(std::string_view op_type, std::vector<std::string> inputs,
                          NodeAttributes attributes = {}, std::string_view domain = {}) = 0;
  virtual std::vector<std::string> add_all(std::string_view op_type, std::vector<std::string> inputs,
                                           std::size_t outputs, NodeAttributes attributes = {},
                                           std::string_view domain = {}) = 0;
  // Constants; equal ones are created once. `number` is a scalar, of the type of input 0 by default.
  virtual std::string number(double value) = 0;
  virtual std::string number(double value, ElementType type) = 0;
  using Attributes::integers;
  virtual std::string integers(std::span<const std::int64_t> elements) = 0;
  std::string integers(std::initializer_list<std::int64_t> elements) {
    return integers(std::span(elements.begin(), elements.size()));
  }

  // Facts about any value: of the forward graph, or added.
  virtual const Value& facts(const std::string& value) const = 0;
  // The shape of any value as an int64 tensor: a constant if it is known, otherwise computed at run time. The
  // value itself is not kept alive by it.
  virtual std::string shape(const std::string& value) = 0;
  // Zeros of the type and shape of a value.
  virtual std::string zeros_like(const std::string& value) = 0;
};

// The rule of operators whose outputs do not change when their inputs change a little: comparisons, Shape.
inline Result<void> no_gradient(Gradient&) { return {}; }
// dx = dy.
Result<void> gradient_unchanged(Gradient& gradient);
// dx = dy in the shape of x: Reshape and its relatives.
Result<void> gradient_reshaped(Gradient& gradient);
// dx = op_type(dy, x) or op_type(dy, y), an operator of kTraining with the attributes of the node.
Result<void> gradient_by_input(Gradient& gradient, std::string_view op_type);
Result<void> gradient_by_output(Gradient& gradient, std::string_view op_type);

// The attributes of these names that the node has.
Gradient::NodeAttributes attributes_of(const Gradient& gradient,
                                       std::initializer_list<std::string_view> names);
// 1 where a boolean value is true, otherwise 0, in the type of input 0.
std::string as_numbers(Gradient& gradient, const std::string& condition);
// The value where the condition holds, otherwise 0.
std::string only_where(Gradient& gradient, const std::string& condition, const std::string& value);
std::string in_type_of(Gradient& gradient, const std::string& value, const Value& like);

}  // namespace anybit::ops
