// A graph as patterns look at it.
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
  // Input i, and the first output; empty if it is not there.
  const std::string& in(int node, std::size_t i) const;
  const std::string& out(int node) const;
  bool is(int node, std::string_view op_type) const;  // false for node -1
  bool is_any(int node, std::initializer_list<std::string_view> op_types) const;
  // Null if it is none.
  const graph::Tensor* constant(std::string_view name) const;
  bool is_constant(std::string_view name) const { return constant(name) != nullptr; }
  // The node that makes it, if it is of this type; -1 otherwise.
  int maker(std::string_view name, std::string_view op_type) const;
  // A single number, of float32; or any of them close to `value`.
  std::optional<double> number(std::string_view name) const;
  bool is_number(std::string_view name, double value) const;
  // Of a node with two inputs, one of them constant: the other one; empty if it is not so.
  const std::string& beside_constant(int node) const;
  // The only node that uses the first output of `node`; -1 if there are more.
  int next(int node) const;

  // A group of these nodes with what goes in and out; nothing if an inner value is used elsewhere.
  std::optional<Group> group(std::string_view kind, std::vector<int> nodes, int last) const;

  // What element_group has computed for the node that it was asked about last: patterns ask one after the
  // other.
  mutable std::shared_ptr<const ElementChains> chains;

 private:
  const graph::Graph& graph_;
  const graph::Index index_;
  const graph::Constants* around_;
};

// The largest group that begins at the first user of a value and computes one of `functions` from each of its
// elements: nodes are evaluated, so that any spelling is found. It must have two nodes at least.
using Function = double (*)(double);
std::optional<Group> element_group(const View& view, int node, std::string_view kind,
                                   std::initializer_list<Function> functions);

}  // namespace anybit::passes
