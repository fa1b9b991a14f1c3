#include "quantize/annotation.hpp"

#include <set>

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/modules.hpp"
#include "quantize/annotate_graph.hpp"

namespace anybit::quantizing {
namespace {

Result<void> annotate_graph(const Scope& scope, Matcher& matcher, const Target& target, GraphNotes& notes) {
  TRY(annotate_one(scope, matcher, target, notes));
  for (std::size_t i = 0; i < scope.graph.nodes.size(); ++i) {
    std::size_t which = 0;
    Result<void> done;
    graph::each_graph(scope.graph.nodes[i], [&](const graph::Graph& inner) {
      GraphNotes& below = notes.inner.emplace_back();
      below.node = static_cast<int>(i);
      below.which = which++;
      below.place = scope.facts().place(inner);
      if (below.place.empty()) below.place = graph::place_of(scope.graph.nodes[i], i);  // unknown operators
      if (done.ok()) done = annotate_graph(Scope(inner, scope.facts(), &scope), matcher, target, below);
    });
    TRY(std::move(done));
  }
  return {};
}

// Adds remarks for operator types that a recipe names and that get less quantization than requested.
void remark_named(const GraphNotes& notes, const Matcher& matcher, std::set<std::string>& remarks) {
  for (const NodeNote& note : notes.nodes) {
    if (note.less && matcher.by_type(note.op)) remarks.insert(fmt::format("{}: {}", note.op, note.reason));
    if (note.less && matcher.named({note.name, {}}))
      remarks.insert(fmt::format("{} '{}': {}", note.op, shown(note.name), note.reason));
  }
  for (const GraphNotes& inner : notes.inner) remark_named(inner, matcher, remarks);
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  static constexpr std::string_view kNames[] = {"quantized",    "weights only", "dynamic",
                                                "pass-through", "fused",        "float"};
  return kNames[static_cast<std::size_t>(outcome)];
}

const graph::Graph& subgraph_of(const graph::Graph& graph, const GraphNotes& notes) {
  const graph::Graph* found = &graph;
  std::size_t at = 0;
  graph::each_graph(graph.nodes[static_cast<std::size_t>(notes.node)], [&](const graph::Graph& one) {
    if (at++ == notes.which) found = &one;
  });
  return *found;
}

Result<Annotation> annotate(const graph::Model& model, const Recipe& recipe, const Target& target,
                            const Limits& limits) {
  TRY(check(recipe, target));
  Matcher matcher = TRY(Matcher::make(recipe, graph::module_classes(model)));
  const Facts facts = TRY(Facts::of(model, limits));
  Annotation annotation;
  TRY(annotate_graph(Scope(*model.graph, facts, nullptr), matcher, target, annotation.graph));
  annotation.remarks = TRY(matcher.unused());
  annotation.remarks.insert(annotation.remarks.end(), recipe.remarks.begin(), recipe.remarks.end());
  std::set<std::string> named;
  remark_named(annotation.graph, matcher, named);
  annotation.remarks.insert(annotation.remarks.end(), named.begin(), named.end());
  if (const auto& problems = facts.problems(); !problems.empty()) {
    annotation.remarks.push_back(
        fmt::format("the model has {} that 'anybit inspect' lists: {}: {}",
                    problems.size() == 1 ? "a problem" : fmt::format("{} problems", problems.size()),
                    problems[0].place, problems[0].message));
  }
  return annotation;
}

}  // namespace anybit::quantizing
