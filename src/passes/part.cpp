#include "passes/part.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "ops/table.hpp"
#include "passes/remove_unused.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;

// Names that a node uses: its inputs, and what the graphs inside it may take from outside.
void add_uses(const Node& node, std::vector<std::string>& names) {
  names.insert(names.end(), node.inputs.begin(), node.inputs.end());
  graph::each_graph(node, [&](const Graph& inner) {
    for (const graph::ValueInfo& one : inner.outputs) names.push_back(one.name.str());
    for (const Node& below : inner.nodes) add_uses(below, names);
  });
}

bool draws(const Node& node) {
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  bool found = descriptor && !descriptor->pure;
  graph::each_graph(node,
                    [&](const Graph& inner) { found = found || std::ranges::any_of(inner.nodes, draws); });
  return found;
}

}  // namespace

Dependence::Dependence(const Graph& graph) : graph_(graph), index_(graph) {
  for (const Node& node : graph.nodes) {
    add_uses(node, uses_.emplace_back());
    varies_.push_back(draws(node) || std::ranges::any_of(uses_.back(), [&](const std::string& name) {
                        const int producer = index_.producer(name);
                        return producer >= 0 ? varies_[static_cast<std::size_t>(producer)]
                                             : index_.is_input(name);
                      }));
  }
}

Behind Dependence::behind(std::size_t node) const {
  std::unordered_set<std::string_view> changed;
  std::set<std::string> taken;
  for (std::size_t i = node; i < graph_.nodes.size(); ++i) {
    const bool depends = i == node || std::ranges::any_of(uses_[i], [&](const std::string& name) {
                           return changed.contains(name);
                         });
    if (!depends) continue;
    changed.insert(graph_.nodes[i].outputs.begin(), graph_.nodes[i].outputs.end());
    for (const std::string& name : uses_[i]) {
      const int producer = index_.producer(name);
      const bool varies = producer >= 0 ? varies_[static_cast<std::size_t>(producer)] : index_.is_input(name);
      if (varies && !changed.contains(name)) taken.insert(name);
    }
  }
  Behind result{{taken.begin(), taken.end()}, {}};
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    if (changed.contains(graph_.outputs[i].name.str())) result.outputs.push_back(i);
  }
  return result;
}

graph::Model part_of(graph::Model model, const std::vector<PartInput>& inputs,
                     const std::vector<std::size_t>& outputs) {
  Graph& graph = *model.graph;
  std::vector<graph::ValueInfo> wanted;
  for (const std::size_t i : outputs) wanted.push_back(graph.outputs[i]);
  graph.outputs = std::move(wanted);
  graph.inputs.clear();
  std::unordered_set<std::string> given, needed;
  for (const PartInput& one : inputs) {
    given.insert(one.name);
    graph.inputs.emplace_back();
    graph.inputs.back().name = graph::Text(one.name);
    graph.inputs.back().type = one.type;
  }
  for (const graph::ValueInfo& one : graph.outputs) needed.insert(one.name.str());
  std::vector<Node> nodes;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    const bool runs = std::ranges::any_of(node.outputs, [&](const std::string& name) {
      return needed.contains(name) && !given.contains(name);
    });
    if (!runs) continue;
    std::vector<std::string> uses;
    add_uses(node, uses);
    needed.insert(uses.begin(), uses.end());
    nodes.push_back(std::move(node));
  }
  std::ranges::reverse(nodes);
  graph.nodes = std::move(nodes);
  // A given value may have been declared with another shape.
  std::erase_if(graph.value_info,
                [&](const graph::ValueInfo& one) { return given.contains(one.name.str()); });
  remove_unused(model);
  return model;
}

}  // namespace anybit::passes
