#include "runtime/prepare.hpp"

#include "base/try.hpp"
#include "graph/rewrite.hpp"
#include "passes/prepare.hpp"
#include "portable/to_operators.hpp"
#include "runtime/operators.hpp"

namespace anybit::runtime {
namespace {

// Bytes by which a constant of generated code may be larger than those it is computed from.
constexpr std::int64_t kGrowth = std::int64_t{64} << 10;

void number_nodes(std::vector<graph::Node>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].position = static_cast<std::int32_t>(i);
    graph::each_graph(nodes[i], [](graph::Graph& inner) { number_nodes(inner.nodes); });
  }
}

std::vector<std::string> passes_for(const BuildOptions& options) {
  using passes::Also;
  std::vector<std::string> names;
  for (const passes::Descriptor* one : passes::table()) {
    const bool wanted = one->also == Also::running || (one->also == Also::fusing && options.fuse) ||
                        (one->also == Also::generating && options.purpose == Purpose::generate);
    if (wanted) names.emplace_back(one->name);
  }
  return names;
}

}  // namespace

Result<graph::Model> prepared(const graph::Model& model, const BuildOptions& options, graph::Budget& budget,
                              const std::shared_ptr<ops::Memory>& memory) {
  graph::Model copy = model;
  number_nodes(copy.graph->nodes);
  portable::to_operators(copy);
  passes::PrepareOptions each;
  each.limits = options.limits;
  each.budget = &budget;
  each.memory = memory;
  each.watched.insert(options.watch.begin(), options.watch.end());
  each.verify = false;
  each.to_run = true;
  if (!copy.functions.empty()) {
    each.only = {"inline_functions"};
    TRY(passes::prepare(copy, each));
  }
  TRY(Operators(copy, options.limits).check(*copy.graph));  // before passes can leave nodes out
  if (options.purpose == Purpose::generate) {
    each.to_run = false;
    each.growth = kGrowth;
    each.keep_narrow = true;
  }
  each.only = passes_for(options);
  TRY(passes::prepare(copy, each));
  return copy;
}

}  // namespace anybit::runtime
