#include "graph/shadowed_names.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "graph/index.hpp"
#include "graph/names.hpp"

namespace anybit::graph {
namespace {

using Set = std::unordered_set<std::string>;
using Map = std::unordered_map<std::string, std::string>;

bool has_graphs(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    bool any = false;
    each_graph(node, [&](const Graph&) { any = true; });
    return any;
  });
}

void rename(std::string& name, const Map& map) {
  if (const auto found = map.find(name); found != map.end()) name = found->second;
}
void rename(Text& name, const Map& map) {
  if (const auto found = map.find(name.str()); found != map.end()) name = Text(found->second);
}

// Calls see(name) for the inputs and constants of a graph.
template <class See>
void each_given(const Graph& graph, See see) {
  for (const ValueInfo& one : graph.inputs) see(one.name.str());
  for (const Tensor& one : graph.initializers) see(one.name.str());
  for (const SparseTensor& one : graph.sparse_initializers) {
    if (one.values) see(one.values->name.str());
  }
}

class Renamer {
 public:
  explicit Renamer(const Graph& graph) : names_(graph) {}

  // `visible`: names in the enclosing graphs; `map`: renamed values of the enclosing graphs.
  void run(Graph& graph, Set& visible, Map map) {
    std::vector<std::string> added;
    const auto define = [&](const std::string& name) {
      if (visible.insert(name).second) added.push_back(name);
    };
    Set own;  // an input and its default share a name
    each_given(graph, [&](const std::string& name) { own.insert(name); });
    for (const std::string& name : own) {
      map.erase(name);
      if (visible.contains(name)) map[name] = names_.fresh(name + "_inner");
    }
    if (!map.empty()) rename_all(graph, map);
    each_given(graph, define);
    for (Node& node : graph.nodes) {
      each_graph(node, [&](Graph& inner) { run(inner, visible, map); });
      for (const std::string& name : node.outputs) define(name);
    }
    for (const std::string& name : added) visible.erase(name);
  }

 private:
  static void rename_all(Graph& graph, const Map& map) {
    for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
      for (ValueInfo& one : *list) rename(one.name, map);
    }
    for (Tensor& one : graph.initializers) rename(one.name, map);
    for (SparseTensor& one : graph.sparse_initializers) {
      if (one.values) rename(one.values->name, map);
    }
    for (QuantizationAnnotation& one : graph.annotations) {
      rename(one.tensor, map);
      for (Property& parameter : one.parameters) rename(parameter.value, map);
    }
    for (Node& node : graph.nodes) {
      for (std::string& name : node.inputs) rename(name, map);
      for (std::string& name : node.outputs) rename(name, map);
    }
  }

  Names names_;
};

}  // namespace

void rename_shadowing(Model& model) {
  if (!model.graph || !has_graphs(*model.graph)) return;
  Set visible;
  Renamer(*model.graph).run(*model.graph, visible, {});
}

}  // namespace anybit::graph
