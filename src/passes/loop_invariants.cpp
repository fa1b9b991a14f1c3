// A value that a Loop carries but never changes becomes a value of the graph around it: Keras' converter
// hands the weights of a recurrent layer on from step to step, and weights that vary cannot be packed or
// quantized.
#include <algorithm>

#include "graph/node.hpp"
#include "graph/rewrite.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;

constexpr std::size_t kGiven = 2;  // trip count and condition, before the carried values

Graph* body_of(Node& node) {
  for (graph::Attribute& one : node.attributes) {
    auto* inner = std::get_if<graph::GraphBox>(&one.value);
    if (inner && one.name.str() == "body") return &**inner;
  }
  return nullptr;
}

class Invariants {
 public:
  Invariants(const Graph& graph, const PassOptions& options) : options_(options), index_(graph) {}

  // Takes the unchanged values out of one Loop. A value that the Loop gives out as an output of the graph
  // stays, but the body no longer uses it.
  std::int64_t take_from(Node& node, graph::Renames& after) const {
    Graph* body = body_of(node);
    if (!body || node.inputs.size() < kGiven || options_.keeps(node)) return 0;
    const std::size_t carried = node.inputs.size() - kGiven;
    if (body->inputs.size() != carried + kGiven || body->outputs.size() < carried + 1 ||
        node.outputs.size() < carried)
      return 0;
    graph::Renames inside;
    std::int64_t changes = 0;
    for (std::size_t k = carried; k-- > 0;) {
      const std::string inner = body->inputs[k + kGiven].name.str(), outer = node.inputs[k + kGiven];
      if (!is_handed_on(*body, inner, body->outputs[k + 1].name.str()) || outer.empty() ||
          options_.watched.contains(inner) || options_.watched.contains(node.outputs[k]))
        continue;
      const bool stays = index_.is_output(node.outputs[k]);
      if (stays && !is_used(*body, inner)) continue;
      inside.add(inner, outer);
      ++changes;
      if (stays) continue;
      if (!node.outputs[k].empty()) after.add(node.outputs[k], outer);
      erase(*body, node, k);
    }
    if (!inside.empty()) inside.apply(*body);
    return changes;
  }

 private:
  // Whether an output of the body is this input, maybe through an Identity.
  static bool is_handed_on(const Graph& body, const std::string& input, const std::string& output) {
    if (input == output) return true;
    return std::ranges::any_of(body.nodes, [&](const Node& node) {
      return graph::is(node, "Identity") && node.inputs.front() == input && node.outputs.front() == output;
    });
  }

  static bool is_used(const Graph& graph, const std::string& name) {
    return std::ranges::any_of(graph.nodes, [&](const Node& node) {
      bool found = std::ranges::find(node.inputs, name) != node.inputs.end();
      graph::each_graph(node, [&](const Graph& inner) { found = found || is_used(inner, name); });
      return found;
    });
  }

  static void erase(Graph& body, Node& node, std::size_t k) {
    const auto at = static_cast<std::ptrdiff_t>(k), given = static_cast<std::ptrdiff_t>(kGiven);
    body.inputs.erase(body.inputs.begin() + given + at);
    body.outputs.erase(body.outputs.begin() + 1 + at);
    node.inputs.erase(node.inputs.begin() + given + at);
    node.outputs.erase(node.outputs.begin() + at);
  }

  const PassOptions& options_;
  const graph::Index index_;
};

std::int64_t run_on(Graph& graph, const PassOptions& options) {
  const auto is_loop = [](const Node& node) { return graph::is(node, "Loop"); };
  if (std::ranges::none_of(graph.nodes, is_loop)) return 0;
  const Graph before_edits = graph;  // the index refers to names, which change
  const Invariants invariants(before_edits, options);
  graph::Renames after;
  std::int64_t changes = 0;
  for (Node& node : graph.nodes) {
    if (is_loop(node)) changes += invariants.take_from(node, after);
  }
  if (!after.empty()) after.apply(graph);
  return changes;
}

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  std::int64_t changes = 0;
  each_graph_of(model, [&](Graph& graph) { changes += run_on(graph, options); });
  return changes;
}

}  // namespace

std::span<const Descriptor> loop_invariants_descriptors() {
  static const Descriptor all[] = {{.name = "loop_invariants",
                                    .order = 47,
                                    .summary = "values that a Loop carries unchanged come from around it",
                                    .run = run,
                                    .also = Also::fusing}};
  return all;
}

}  // namespace anybit::passes
