#include "lower/names.hpp"

#include <fmt/format.h>

#include "graph/index.hpp"

namespace anybit::lower {

std::string Names::fresh(std::string_view wanted) {
  std::string name(wanted);
  if (taken_.insert(name).second) return name;
  int& number = numbers_.try_emplace(name, 1).first->second;
  do name = fmt::format("{}_{}", wanted, ++number);
  while (!taken_.insert(name).second);
  return name;
}

// Names of nodes and of values share one set: a name that is new for both is new for either.
void Names::add(const graph::Graph& graph) {
  for (const graph::ValueInfo& one : graph.inputs) taken_.insert(one.name.str());
  for (const graph::Tensor& one : graph.initializers) taken_.insert(one.name.str());
  for (const graph::SparseTensor& one : graph.sparse_initializers) {
    if (one.values) taken_.insert(one.values->name.str());
  }
  for (const graph::Node& node : graph.nodes) {
    taken_.insert(node.name.str());
    taken_.insert(node.outputs.begin(), node.outputs.end());
    graph::each_graph(node, [&](const graph::Graph& inner) { add(inner); });
  }
}

}  // namespace anybit::lower
