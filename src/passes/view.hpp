// The view of a graph that patterns match against.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/index.hpp"
#include "passes/recognise.hpp"
#include "passes/table.hpp"

namespace anybit::passes {

struct ElementChains;

class View {
 public:
  View(const graph::Graph& graph, const graph::Constants* around)
      : graph_(graph), index_(graph), around_(around) {}

  const graph::Graph& graph() const { return graph_; }
  const graph::Index& index() const { return index_; }
  const graph::Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }
  // Name of input i, and of the first output; empty if absent.
  const std::string& in(int node, std::size_t i) const;
  const std::string& out(int node) const;
  bool is(int node, std::string_view op_type) const;  // false for node -1
  bool is_any(int node, std::initializer_list<std::string_view> op_types) const;
  // Null if it is not a constant.
  const graph::Tensor* constant(std::string_view name) const;
  bool is_constant(std::string_view name) const { return constant(name) != nullptr; }
  // The producer of a value, if it is of this type; -1 otherwise.
  int maker(std::string_view name, std::string_view op_type) const;
  // The value of a scalar constant, nullopt if there is none; and whether it is close to `value`.
  std::optional<double> number(std::string_view name) const;
  bool is_number(std::string_view name, double value) const;
  // For a node with two inputs, one of them constant: the other one; empty otherwise.
  const std::string& beside_constant(int node) const;
  // The only consumer of the first output of `node`; -1 if there are several.
  int next(int node) const;

  // Builds a group of these nodes with its inputs and output; nullopt if an inner value is used elsewhere.
  std::optional<Group> group(std::string_view kind, std::vector<int> nodes, int last) const;

  // Cache of element_group for the last node: the patterns ask for the same node one after the other.
  mutable std::shared_ptr<const ElementChains> chains;

 private:
  const graph::Graph& graph_;
  const graph::Index index_;
  const graph::Constants* around_;
};

// The largest group that starts at the first consumer of a value and computes one of `functions` elementwise.
// The nodes are evaluated at sample points, so any formulation is found. Groups have at least two nodes.
using Function = double (*)(double);
std::optional<Group> element_group(const View& view, int node, std::string_view kind,
                                   std::initializer_list<Function> functions);

}  // namespace anybit::passes
