#include "anybit/prepare.hpp"

#include "base/guard.hpp"
#include "base/try.hpp"
#include "graph/index.hpp"
#include "passes/prepare.hpp"
#include "session/model_access.hpp"

namespace anybit {
namespace {

std::int64_t count_nodes(const graph::Graph& graph) {
  std::int64_t count = std::ssize(graph.nodes);
  for (const graph::Node& node : graph.nodes)
    graph::each_graph(node, [&](const graph::Graph& inner) { count += count_nodes(inner); });
  return count;
}

}  // namespace

std::vector<PassInfo> preparation_passes() {
  std::vector<PassInfo> list;
  for (const passes::Descriptor* one : passes::table()) {
    if (one->run) list.push_back({std::string(one->name), std::string(one->summary), one->always});
  }
  return list;
}

Result<Preparation> prepare(const Model& model, const PrepareOptions& options) noexcept {
  return guarded([&]() -> Result<Preparation> {
    const Model::Content& content = ModelAccess::content(model);
    graph::Model changed = content.model;
    passes::PrepareOptions with;
    with.only = options.passes;
    with.keep = {options.keep.begin(), options.keep.end()};
    std::vector<PassChanges> ran;
    for (const passes::PassResult& one : TRY(passes::prepare(changed, with)))
      ran.push_back({std::string(one.name), std::string(one.summary), one.changes});
    const std::int64_t before = count_nodes(*content.model.graph), after = count_nodes(*changed.graph);
    return Preparation{ModelAccess::make({std::move(changed), content.path, content.file_bytes}),
                       std::move(ran), before, after};
  });
}

}  // namespace anybit
