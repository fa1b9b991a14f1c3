// Replaces an If with a constant condition by the branch that runs.
#include <algorithm>

#include "graph/constant.hpp"
#include "graph/node.hpp"
#include "graph/rewrite.hpp"
#include "passes/facts.hpp"
#include "passes/learned.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;

// The branch that runs; null if unknown.
Graph* branch_of(Node& node, const graph::Constants& constants) {
  if (!is(node, "If") || node.inputs.size() != 1) return nullptr;
  const graph::Tensor* condition = constants.find(node.inputs[0]);
  if (!condition || condition->type() != graph::ElementType::boolean || condition->count() != 1)
    return nullptr;
  const std::string_view name = condition->data.at<std::uint8_t>(0) != 0 ? "then_branch" : "else_branch";
  for (graph::Attribute& one : node.attributes) {
    if (auto* box = std::get_if<graph::GraphBox>(&one.value); box && one.name == name) return &**box;
  }
  return nullptr;
}

// Moves nodes and constants of the branch into the enclosing graph. Names are unique, so they stay; Identity
// nodes, which another pass removes, connect the results.
void take_in(Graph& graph, Graph& branch, const Node& node, std::vector<Node>& out) {
  std::ranges::move(branch.initializers, std::back_inserter(graph.initializers));
  std::ranges::move(branch.sparse_initializers, std::back_inserter(graph.sparse_initializers));
  std::ranges::move(branch.value_info, std::back_inserter(graph.value_info));
  std::ranges::move(branch.nodes, std::back_inserter(out));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty())
      out.push_back(graph::make_node("Identity", {branch.outputs[i].name.str()}, {node.outputs[i]}));
  }
}

std::int64_t run_in(Graph& graph, const graph::Constants& constants, const Facts& facts,
                    const PassOptions& options) {
  std::int64_t changes = 0;
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    Graph* branch = options.keeps(node) || facts.fails(node) ? nullptr : branch_of(node, constants);
    if (!branch || branch->outputs.size() < node.outputs.size() || facts.any_fails(*branch)) {
      nodes.push_back(std::move(node));
      continue;
    }
    take_in(graph, *branch, node, nodes);
    ++changes;
  }
  graph.nodes = std::move(nodes);
  return changes;
}

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  if (!model.graph || !has_any(model, "If")) return 0;
  const graph::Constants constants = constants_of(model, options);
  const Facts facts(model, options);
  std::int64_t changes = 0;
  each_graph_of(model, [&](Graph& graph) { changes += run_in(graph, constants, facts, options); });
  return changes;
}

}  // namespace

std::span<const Descriptor> inline_if_descriptors() {
  static const Descriptor all[] = {
      {.name = "inline_if",
       .order = 65,
       .summary = "replaces If with a constant condition by the branch that runs",
       .run = run,
       .also = Also::generating}};
  return all;
}

}  // namespace anybit::passes
