// Removes nodes whose results are unused, unused constants, and value_info of values that no longer exist.
#include "passes/remove_unused.hpp"

#include <algorithm>
#include <unordered_set>

#include "graph/rewrite.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;
using Used = std::unordered_set<std::string_view>;

// Names that a subgraph uses, which may come from the enclosing graphs.
void add_uses(const Graph& graph, Used& used) {
  for (const graph::ValueInfo& one : graph.outputs) used.insert(one.name.str());
  for (const Node& node : graph.nodes) {
    used.insert(node.inputs.begin(), node.inputs.end());
    graph::each_graph(node, [&](const Graph& inner) { add_uses(inner, used); });
  }
}

// Whether a value of the graph, or of a subgraph, is watched.
bool is_watched(const Graph& graph, const PassOptions& options) {
  if (options.watched.empty()) return false;
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    bool found = std::ranges::any_of(node.outputs,
                                     [&](const std::string& name) { return options.watched.contains(name); });
    graph::each_graph(node, [&](const Graph& inner) { found = found || is_watched(inner, options); });
    return found;
  });
}

std::int64_t drop_nodes(Graph& graph, const PassOptions& options) {
  Used used;
  for (const graph::ValueInfo& one : graph.outputs) used.insert(one.name.str());
  std::vector<bool> removed(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    // The watched values are not copied into `used`: a model may have many graphs.
    removed[i] = std::ranges::none_of(node.outputs, [&](const std::string& name) {
      return !name.empty() && (used.contains(name) || options.watched.contains(name));
    });
    graph::each_graph(node,
                      [&](const Graph& inner) { removed[i] = removed[i] && !(is_watched(inner, options)); });
    if (removed[i]) continue;
    used.insert(node.inputs.begin(), node.inputs.end());
    graph::each_graph(node, [&](const Graph& inner) { add_uses(inner, used); });
  }
  const auto changes = std::ranges::count(removed, true);
  if (changes > 0) remove_nodes(graph, removed);
  return changes;
}

std::int64_t drop_constants(Graph& graph, const PassOptions& options) {
  Used used;
  add_uses(graph, used);
  for (const graph::ValueInfo& one : graph.inputs) used.insert(one.name.str());  // defaults of inputs
  for (const graph::QuantizationAnnotation& one : graph.annotations) {
    for (const graph::Property& parameter : one.parameters) used.insert(parameter.value.str());
  }
  const auto unused = [&](const graph::Text& name) {
    return !used.contains(name.str()) && !options.watched.contains(name.str());
  };
  return static_cast<std::int64_t>(
      std::erase_if(graph.initializers, [&](const graph::Tensor& one) { return unused(one.name); }) +
      std::erase_if(graph.sparse_initializers,
                    [&](const graph::SparseTensor& one) { return one.values && unused(one.values->name); }));
}

// Not counted as a change: it only cleans up after other changes.
void drop_notes(Graph& graph) {
  std::unordered_set<std::string_view> there;
  for (const graph::ValueInfo& one : graph.inputs) there.insert(one.name.str());
  for (const graph::Tensor& one : graph.initializers) there.insert(one.name.str());
  for (const graph::SparseTensor& one : graph.sparse_initializers) {
    if (one.values) there.insert(one.values->name.str());
  }
  for (const Node& node : graph.nodes) there.insert(node.outputs.begin(), node.outputs.end());
  std::erase_if(graph.value_info, [&](const graph::ValueInfo& one) { return !there.count(one.name.str()); });
  std::erase_if(graph.annotations,
                [&](const graph::QuantizationAnnotation& one) { return !there.count(one.tensor.str()); });
}

std::int64_t clean_model(graph::Model& model, const PassOptions& options) {
  std::int64_t changes = 0;
  const bool trains = !model.training.empty();  // training graphs refer to the model's values by name
  // Outer graphs first: nodes that are removed there take their subgraphs, and the uses in them, along.
  const auto clean = [&](auto& self, Graph& graph, bool outermost) -> void {
    if (!(outermost && trains)) changes += drop_nodes(graph, options);
    for (Node& node : graph.nodes) {
      graph::each_graph(node, [&](Graph& inner) { self(self, inner, false); });
    }
    if (!(outermost && trains)) changes += drop_constants(graph, options);
    drop_notes(graph);
  };
  if (model.graph) clean(clean, *model.graph, true);
  return changes;
}

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  return clean_model(model, options);
}

}  // namespace

std::int64_t remove_unused(graph::Model& model) { return clean_model(model, {}); }

std::span<const Descriptor> remove_unused_descriptors() {
  static const Descriptor all[] = {{.name = "remove_unused",
                                    .order = 100,
                                    .summary = "removes unused nodes and constants",
                                    .run = run,
                                    .also = Also::running}};
  return all;
}

}  // namespace anybit::passes
