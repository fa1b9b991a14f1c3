// CastLike becomes Cast if the type of its second input is known: its result no longer depends on the values
// of that input, so casts of constants can be folded. PyTorch's exporter writes its scalars this way.
#include "graph/node.hpp"
#include "graph/rewrite.hpp"
#include "passes/facts.hpp"
#include "passes/learned.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  if (!graph::has_any(model, "CastLike")) return 0;
  const Facts facts(model, options);
  std::int64_t changes = 0;
  each_graph_of(model, [&](graph::Graph& graph) {
    for (graph::Node& node : graph.nodes) {
      if (!is(node, "CastLike") || node.inputs.size() != 2 || options.keeps(node)) continue;
      const graph::ElementType type = facts.of(node.inputs[1]).type;
      if (type == graph::ElementType::undefined || facts.fails(node)) continue;
      node = graph::as_operator(std::move(node), "Cast");
      node.inputs.pop_back();
      node.attributes.push_back(graph::attribute("to", static_cast<std::int64_t>(type)));
      ++changes;
    }
  });
  return changes;
}

}  // namespace

std::span<const Descriptor> cast_like_descriptors() {
  static const Descriptor all[] = {{.name = "cast_like",
                                    .order = 45,
                                    .summary = "converts CastLike to Cast where the type is known",
                                    .run = run,
                                    .also = Also::running}};
  return all;
}

}  // namespace anybit::passes
