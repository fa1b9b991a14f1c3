#include "anybit/prepare.hpp"

#include <algorithm>

#include "api/declarations.hpp"
#include "api/model_access.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "graph/index.hpp"
#include "lower/functions.hpp"
#include "passes/prepare.hpp"

namespace anybit {
namespace {

std::int64_t count_nodes(const graph::Graph& graph) {
  std::int64_t count = std::ssize(graph.nodes);
  for (const graph::Node& node : graph.nodes)
    graph::each_graph(node, [&](const graph::Graph& inner) { count += count_nodes(inner); });
  return count;
}

void add_names(const graph::Graph& graph, std::vector<std::string_view>& names) {
  for (const graph::Node& node : graph.nodes) {
    names.push_back(node.name.str());
    graph::each_graph(node, [&](const graph::Graph& inner) { add_names(inner, names); });
  }
}

// An unknown name would be ignored silently.
Result<void> check_kept(const graph::Model& model, const std::vector<std::string>& keep) {
  std::vector<std::string_view> names;
  if (!keep.empty()) add_names(*model.graph, names);
  for (const std::string& one : keep) {
    if (std::ranges::find(names, one) != names.end()) continue;
    const std::string meant = did_you_mean(one, names);
    return invalid_argument(fmt::format("there is no node '{}' to keep", shown(one)),
                            meant.empty() ? "`anybit inspect --nodes MODEL` lists the names" : meant);
  }
  return {};
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
    TRY(check_kept(content.model, options.keep));
    graph::Model changed = content.model;
    passes::PrepareOptions with;
    with.only = options.passes;
    with.keep = {options.keep.begin(), options.keep.end()};
    with.limits = content.limits;
    std::string remark;
    std::vector<std::string> left;
    with.remarks = &left;
    std::vector<PassChanges> ran;
    for (const passes::PassResult& one : TRY(passes::prepare(changed, with, &remark))) {
      ran.push_back({std::string(one.name), std::string(one.summary), one.changes});
      // Its operator becomes a function, so that other runtimes run the model.
      if (one.name == "truth_tables" && one.changes > 0)
        TRY(lower::Functions(changed, lower::Functions::Mode::carried).take_operators(*changed.graph));
    }
    // Folding may reveal types that contradict the declarations.
    TRY(correct_declarations(changed, content.limits));
    const std::int64_t before = count_nodes(*content.model.graph), after = count_nodes(*changed.graph);
    Preparation done{
        ModelAccess::made(std::move(changed), content.limits), std::move(ran), before, after, {}};
    if (!remark.empty()) done.remarks.push_back(std::move(remark));
    std::ranges::move(left, std::back_inserter(done.remarks));
    return done;
  });
}

}  // namespace anybit
