#include "graph/names.hpp"

#include <fmt/format.h>

#include "graph/index.hpp"

namespace anybit::graph {

Names::Names(const Graph& graph) { add_all(graph); }

Names::Names(const Model& model) {
  if (model.graph) add_all(*model.graph);
  for (const TrainingInfo& one : model.training) {
    for (const auto* part : {&one.initialization, &one.algorithm}) {
      if (*part) add_all(***part);
    }
  }
}

void Names::add_all(const Graph& graph) {
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
    for (const ValueInfo& one : *list) taken_.insert(one.name.str());
  }
  for (const Tensor& one : graph.initializers) taken_.insert(one.name.str());
  for (const SparseTensor& one : graph.sparse_initializers) {
    if (one.values) taken_.insert(one.values->name.str());
  }
  add_all(graph.nodes);
}

void Names::add_all(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    taken_.insert(node.name.str());
    for (const auto* list : {&node.inputs, &node.outputs}) taken_.insert(list->begin(), list->end());
    each_graph(node, [&](const Graph& inner) { add_all(inner); });
  }
}

std::string Names::next(std::string_view stem, std::size_t& number) {
  std::string name;
  do name = fmt::format("{}_{}", stem, number++);
  while (!taken_.insert(name).second);
  return name;
}

std::string Names::fresh(std::string_view wanted) {
  std::string name(wanted);
  if (!name.empty() && taken_.insert(name).second) return name;
  return next(wanted, numbers_.try_emplace(std::move(name), 2).first->second);
}

std::string Names::numbered(std::string_view stem) {
  return next(stem, numbers_.try_emplace(std::string(stem), 0).first->second);
}

}  // namespace anybit::graph
