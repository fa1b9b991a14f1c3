#include "graph/rewrite.hpp"

#include <algorithm>

#include "graph/node.hpp"

namespace anybit::graph {

bool has_any(const Model& model, std::string_view op_type) {
  bool found = false;
  each_graph_of(model, [&](const Graph& graph) {
    found = found || std::ranges::any_of(graph.nodes, [&](const Node& node) { return is(node, op_type); });
  });
  return found;
}

const std::string& Renames::of(const std::string& name) const {
  const auto first = to_.find(name);
  if (first == to_.end()) return name;
  auto last = first;
  for (auto next = to_.find(last->second); next != to_.end(); next = to_.find(last->second)) last = next;
  const std::string& now = last->second;
  for (auto one = first; one != last;) {
    const auto next = to_.find(one->second);
    one->second = now;
    one = next;
  }
  return now;
}

void Renames::apply(Graph& graph) const {
  if (to_.empty()) return;
  for (Node& node : graph.nodes) {
    for (std::string& name : node.inputs) name = of(name);
    each_graph(node, [&](Graph& inner) {
      apply(inner);
      // An inner graph may have a value of an enclosing graph as an output.
      for (ValueInfo& one : inner.outputs) {
        if (const std::string& now = of(one.name.str()); now != one.name.str()) one.name = Text(now);
      }
    });
  }
}

void remove_nodes(Graph& graph, const std::vector<bool>& removed) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (removed[i]) continue;
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

}  // namespace anybit::graph
