// Going over all graphs of a model, and changing many nodes at once. Renames rely on names that are unique in
// the whole model (the pass `unique_names`).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/index.hpp"
#include "graph/model.hpp"

namespace anybit::graph {

// Calls `see` with the graph and all graphs inside its nodes, the inner ones first.
template <class AnyGraph, class See>
void each_graph_inside(AnyGraph& graph, const See& see) {
  for (auto& node : graph.nodes) each_graph(node, [&](auto& inner) { each_graph_inside(inner, see); });
  see(graph);
}
template <class AnyModel, class See>
void each_graph_of(AnyModel& model, const See& see) {
  if (model.graph) each_graph_inside(*model.graph, see);
}

// Whether a node of ONNX's own domain anywhere in the model is of this type.
bool has_any(const Model& model, std::string_view op_type);

// Values that take another's place: collected first, then put in place all at once.
class Renames {
 public:
  void add(std::string from, std::string to) { to_.emplace(std::move(from), std::move(to)); }
  bool empty() const { return to_.empty(); }
  bool has(const std::string& name) const { return to_.contains(name); }
  // Through all renames. Chains are made short on the way.
  const std::string& of(const std::string& name) const;
  // What the nodes of the graph, and of those inside them, use. What they make stays.
  void apply(Graph& graph) const;

 private:
  mutable std::unordered_map<std::string, std::string> to_;
};

// Takes out the nodes that are marked.
void remove_nodes(Graph& graph, const std::vector<bool>& removed);

}  // namespace anybit::graph
