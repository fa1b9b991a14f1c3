// Visits all graphs of a model, and changes many nodes at once. Renames require names that are unique in the
// whole model (pass `unique_names`).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/index.hpp"
#include "graph/model.hpp"

namespace anybit::graph {

// Calls `see` with the graph and all graphs inside its nodes, inner ones first.
template <class AnyGraph, class See>
void each_graph_inside(AnyGraph& graph, const See& see) {
  for (auto& node : graph.nodes) each_graph(node, [&](auto& inner) { each_graph_inside(inner, see); });
  see(graph);
}
template <class AnyModel, class See>
void each_graph_of(AnyModel& model, const See& see) {
  if (model.graph) each_graph_inside(*model.graph, see);
}

// Whether the model has a node of this type in ONNX's own domain, in any graph.
bool has_any(const Model& model, std::string_view op_type);

// Values that are replaced by others: collected first, applied at once.
class Renames {
 public:
  void add(std::string from, std::string to) { to_.emplace(std::move(from), std::move(to)); }
  bool empty() const { return to_.empty(); }
  bool has(const std::string& name) const { return to_.contains(name); }
  // The final name after all renames; shortens chains.
  const std::string& of(const std::string& name) const;
  // Renames the inputs of nodes, in the graph and in the graphs inside its nodes. Their outputs keep their
  // names.
  void apply(Graph& graph) const;

 private:
  mutable std::unordered_map<std::string, std::string> to_;
};

// Removes the marked nodes.
void remove_nodes(Graph& graph, const std::vector<bool>& removed);

}  // namespace anybit::graph
