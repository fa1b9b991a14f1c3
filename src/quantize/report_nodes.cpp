#include "quantize/report_nodes.hpp"

#include <algorithm>
#include <functional>

#include "base/error.hpp"

namespace anybit::quantizing {

bool anything(const GraphNotes& notes) {
  return !notes.constants.empty() || !notes.values.empty() ||
         std::ranges::any_of(notes.inner, [](const GraphNotes& one) { return anything(one); });
}

std::string reasons(const GraphNotes& notes) {
  constexpr std::size_t kShown = 3;
  std::string text;
  std::size_t left = 0;
  const std::function<void(const GraphNotes&)> add = [&](const GraphNotes& one) {
    for (const NodeNote& node : one.nodes) {
      if (node.reason.empty() || left++ >= kShown) continue;
      text += fmt::format("{}'{}' ({}): {}", text.empty() ? "" : "; ", node.name, node.op, node.reason);
    }
    for (const GraphNotes& inner : one.inner) add(inner);
  };
  add(notes);
  if (left > kShown) text += fmt::format("; and {} more", left - kShown);
  return text;
}

void report_nodes(const GraphNotes& notes, const graph::Graph& graph, QuantizationReport& report) {
  for (std::size_t i = 0; i < notes.nodes.size(); ++i) {
    const NodeNote& note = notes.nodes[i];
    const graph::Node& node = graph.nodes[i];
    if (note.op == "Constant") continue;
    std::string what;
    if (note.outcome == Outcome::quantized || note.outcome == Outcome::dynamic)
      what = to_string(*note.scheme.data_in) + ", " + to_string(*note.scheme.weight);
    if (note.outcome == Outcome::weights_only) what = to_string(*note.scheme.weight);
    const bool chosen =
        !note.choice.empty() && (note.outcome != Outcome::left || note.scheme.data_in->is_float());
    report.nodes.push_back({notes.place, note.name, note.op, std::string(name_of(note.outcome)),
                            std::move(what), chosen ? note.choice : note.reason, node.inputs, node.outputs});
  }
  for (const GraphNotes& inner : notes.inner) report_nodes(inner, subgraph_of(graph, inner), report);
}

}  // namespace anybit::quantizing
