// How a node of an older opset becomes one of a newer: what the rules in the operators' files work with.
#pragma once

#include <string>
#include <vector>

#include "graph/names.hpp"
#include "graph/node.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

// A node that a rule changes. What the rule adds is of the version that the rule leads to; it is raised
// further together with the node.
class Raising final : public Attributes {
 public:
  Raising(graph::Node& node, std::int64_t target, graph::Names& names, std::span<const Value> inputs)
      : Attributes(node), edited(node), target(target), names_(names), inputs_(inputs) {}

  graph::Node& edited;
  std::int64_t target;  // the opset that the whole model goes to
  std::vector<graph::Node> before, after;

  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  // It is a reference to an attribute of the function that the node is in: its value is not known here.
  bool refers(std::string_view name) const { return find(name) && !find(name)->reference.empty(); }
  // What is known of an input; unknown inside functions, which may be called in many ways.
  const Value& in(std::size_t i) const;

  void set(std::string_view name, graph::Attribute::Value value);
  void remove(std::string_view name);
  // Inputs before it that are not there are left out.
  void set_input(std::size_t i, std::string name);

  // A node that stands before (or after) this one; the name of its output.
  std::string add_before(std::string_view op_type, std::vector<std::string> inputs,
                         std::vector<graph::Attribute> attributes = {});
  std::string constant(std::span<const std::int64_t> elements);
  std::string constant(std::span<const float> elements);
  std::string constant(float element, ElementType type);
  // Output i gets a new name; the node that `op_type` names makes the old one from it and `inputs`.
  void wrap_output(std::size_t i, std::string_view op_type, std::vector<std::string> inputs,
                   std::vector<graph::Attribute> attributes = {});

  // An attribute becomes input i; false if it is not given. A single number of the type of input 0, lists, an
  // integer, or a single integer that becomes a list of one.
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
// Axes were an attribute, and are input 1: the reductions, Squeeze, Unsqueeze.
Result<void> raise_axes_to_input(Raising& raising);

}  // namespace anybit::ops
