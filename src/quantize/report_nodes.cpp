#include "quantize/report_nodes.hpp"

#include "graph/index.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Node;

const Graph& inner_graph(const Graph& graph, const GraphNotes& notes) {
  const Graph* found = &graph;
  std::size_t at = 0;
  graph::each_graph(graph.nodes[static_cast<std::size_t>(notes.node)], [&](const Graph& one) {
    if (at++ == notes.which) found = &one;
  });
  return *found;
}

}  // namespace

void report_nodes(const GraphNotes& notes, const Graph& graph, QuantizationReport& report) {
  for (std::size_t i = 0; i < notes.nodes.size(); ++i) {
    const NodeNote& note = notes.nodes[i];
    const Node& node = graph.nodes[i];
    if (note.op == "Constant") continue;
    std::string what;
    if (note.outcome == Outcome::quantized || note.outcome == Outcome::dynamic)
      what = to_string(*note.scheme.data_in) + ", " + to_string(*note.scheme.weight);
    if (note.outcome == Outcome::weights_only) what = to_string(*note.scheme.weight);
    report.nodes.push_back({notes.place, note.name, note.op, std::string(name_of(note.outcome)),
                            std::move(what), note.reason, node.inputs, node.outputs});
  }
  for (const GraphNotes& inner : notes.inner) report_nodes(inner, inner_graph(graph, inner), report);
}

}  // namespace anybit::quantizing
