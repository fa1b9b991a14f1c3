// Converts a node of an older opset to a newer one: the interface of the rules in the operators' files.
#pragma once

#include <string>
#include <vector>

#include "graph/names.hpp"
#include "graph/node.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

// A node that a rule converts. Nodes that the rule adds are of the version that the rule converts to; they
// are converted further together with the node.
class Raising final : public Attributes {
 public:
  Raising(graph::Node& node, std::int64_t target, graph::Names& names, std::span<const Value> inputs)
      : Attributes(node), edited(node), target(target), names_(names), inputs_(inputs) {}

  graph::Node& edited;
  std::int64_t target;  // target opset of the model
  std::vector<graph::Node> before, after;

  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  // Whether the attribute refers to an attribute of the enclosing function, so that its value is unknown
  // here.
  bool refers(std::string_view name) const { return find(name) && !find(name)->reference.empty(); }
  // Known facts about an input; unknown inside functions, which may have several callers.
  const Value& in(std::size_t i) const;

  void set(std::string_view name, graph::Attribute::Value value);
  void remove(std::string_view name);
  // Missing inputs before it become empty.
  void set_input(std::size_t i, std::string name);

  // Adds a node before this one and returns the name of its output.
  std::string add_before(std::string_view op_type, std::vector<std::string> inputs,
                         std::vector<graph::Attribute> attributes = {});
  std::string constant(std::span<const std::int64_t> elements);
  std::string constant(std::span<const float> elements);
  std::string constant(float element, ElementType type);
  // Renames output i and adds a node of type `op_type` that computes the old name from it and `inputs`.
  void wrap_output(std::size_t i, std::string_view op_type, std::vector<std::string> inputs,
                   std::vector<graph::Attribute> attributes = {});

  // Moves an attribute to input i; false if it is not given. In order: a scalar of the type of input 0, a
  // list of integers, a list of floats, an integer, an integer that becomes a list of one.
  Result<bool> real_to_input(std::string_view name, std::size_t i);
  Result<bool> integers_to_input(std::string_view name, std::size_t i);
  Result<bool> reals_to_input(std::string_view name, std::size_t i);
  Result<bool> integer_to_input(std::string_view name, std::size_t i);
  Result<bool> integer_to_list_input(std::string_view name, std::size_t i);

 private:
  std::string reference(std::string_view name, std::string_view as, graph::AttributeKind kind);

  graph::Names& names_;
  std::span<const Value> inputs_;
};

// Rules that several operators share.
// The attribute axes became input 1: the reductions, Squeeze, Unsqueeze.
Result<void> raise_axes_to_input(Raising& raising);

}  // namespace anybit::ops
