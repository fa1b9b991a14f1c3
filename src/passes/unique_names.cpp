// Makes the names of values, and of nodes, unique in the entire model, so that rules, ranges and rows of a
// report can refer to them. Values of the main graph keep their names; those of subgraphs are renamed.
#include <fmt/format.h>

#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "graph/index.hpp"
#include "graph/names.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;
using Map = std::unordered_map<std::string, std::string>;

class Namer {
 public:
  std::int64_t run(Graph& graph, bool name_nodes) {
    values(graph);
    if (name_nodes) {
      collect(graph);
      nodes(graph);
    }
    return changed_;
  }

 private:
  // Undo log of the changes that a graph makes to the map; a copy of the map per graph would be too
  // expensive.
  using Before = std::vector<std::pair<std::string, std::optional<std::string>>>;

  void define(const std::string& name, Before& before) {
    if (name.empty()) return;
    const bool is_new = values_.add(name);
    if (const auto found = map_.find(name); found != map_.end()) {
      before.emplace_back(name, std::move(found->second));
      map_.erase(found);  // it shadows a value of an enclosing graph
    } else if (!is_new) {
      before.emplace_back(name, std::nullopt);
    }
    if (is_new) return;
    map_[name] = values_.fresh(name);
    ++changed_;
  }

  void take_back(Before& before) {
    for (; !before.empty(); before.pop_back()) {
      auto& [name, to] = before.back();
      if (to)
        map_[name] = *std::move(to);
      else
        map_.erase(name);
    }
  }

  static void rename(std::string& name, const Map& map) {
    if (const auto found = map.find(name); found != map.end()) name = found->second;
  }
  static void rename(graph::Text& name, const Map& map) {
    if (const auto found = map.find(name.str()); found != map.end()) name = graph::Text(found->second);
  }

  void values(Graph& graph) {
    Before before;
    std::set<std::string> inputs;
    for (const graph::ValueInfo& one : graph.inputs) {
      define(one.name.str(), before);
      inputs.insert(one.name.str());
    }
    for (const graph::Tensor& one : graph.initializers) {
      if (!inputs.count(one.name.str())) define(one.name.str(), before);
    }
    for (const graph::SparseTensor& one : graph.sparse_initializers) {
      if (one.values && !inputs.count(one.values->name.str())) define(one.values->name.str(), before);
    }
    for (const Node& node : graph.nodes) {
      for (const std::string& name : node.outputs) define(name, before);
    }
    if (!map_.empty()) rename_all(graph, map_);
    for (Node& node : graph.nodes) {
      graph::each_graph(node, [&](Graph& inner) { values(inner); });
    }
    take_back(before);
  }

  static void rename_all(Graph& graph, const Map& map) {
    for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
      for (graph::ValueInfo& one : *list) rename(one.name, map);
    }
    for (graph::Tensor& one : graph.initializers) rename(one.name, map);
    for (graph::SparseTensor& one : graph.sparse_initializers) {
      if (one.values) rename(one.values->name, map);
    }
    for (graph::QuantizationAnnotation& one : graph.annotations) {
      rename(one.tensor, map);
      for (graph::Property& parameter : one.parameters) rename(parameter.value, map);
    }
    for (Node& node : graph.nodes) {
      for (auto* list : {&node.inputs, &node.outputs}) {
        for (std::string& name : *list) rename(name, map);
      }
    }
  }

  void collect(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      if (!node.name.empty()) nodes_.add(node.name.str());
      graph::each_graph(node, [&](const Graph& inner) { collect(inner); });
    }
  }

  // The first node with a name keeps it. A node without a name is named after its operator and index.
  void nodes(Graph& graph) {
    for (Node& node : graph.nodes) {
      const std::string wish =
          node.name.empty() ? fmt::format("{}_{}", node.op_type.str(), place_) : node.name.str();
      ++place_;
      if (node.name.empty() || !first_.insert(wish).second) {
        node.name = graph::Text(nodes_.fresh(wish));
        ++changed_;
      }
      graph::each_graph(node, [&](Graph& inner) { nodes(inner); });
    }
  }

  Map map_;  // renamed values of the current graph and its enclosing graphs
  std::int64_t changed_ = 0;
  std::size_t place_ = 0;
  graph::Names values_, nodes_;
  std::unordered_set<std::string> first_;  // node names seen so far
};

bool has_inner_graphs(const Graph& graph) {
  bool found = false;
  for (const Node& node : graph.nodes) graph::each_graph(node, [&](const Graph&) { found = true; });
  return found;
}

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  // Verified graphs have unique value names within one graph.
  if (!model.graph || (options.to_run && !has_inner_graphs(*model.graph))) return 0;
  return Namer().run(*model.graph, !options.to_run);
}

}  // namespace

std::span<const Descriptor> unique_names_descriptors() {
  static const Descriptor all[] = {{.name = "unique_names",
                                    .order = 30,
                                    .summary = "gives every value and node a unique name",
                                    .run = run,
                                    .always = true}};
  return all;
}

}  // namespace anybit::passes
