#include "runtime/prepare.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "graph/rewrite.hpp"
#include "passes/prepare.hpp"
#include "portable/to_operators.hpp"
#include "runtime/operators.hpp"

namespace anybit::runtime {
namespace {

// The limit in bytes by which a constant in generated code may exceed the constants it is computed from.
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

// Turns variables into graph inputs, so that no pass takes them for constants.
Result<void> free_variables(graph::Graph& graph, std::span<const std::string> names) {
  if (names.empty()) return {};
  std::unordered_set<std::string_view> wanted;
  for (const std::string& name : names) {
    if (!wanted.insert(name).second)
      return invalid_argument(fmt::format("variable '{}' is named twice", shown(name)));
  }
  std::erase_if(graph.inputs, [&](const graph::ValueInfo& one) { return wanted.contains(one.name.str()); });
  std::vector<std::string_view> there;
  std::erase_if(graph.initializers, [&](const graph::Tensor& one) {
    const auto found = wanted.find(one.name.str());
    if (found == wanted.end()) return false;
    graph::TensorType type;
    type.element = static_cast<std::int32_t>(one.type());
    type.shape.emplace();
    for (const std::int64_t size : one.dims) type.shape->dims.push_back({size, {}, {}});
    graph::ValueInfo& input = graph.inputs.emplace_back();
    input.name = one.name;
    input.type = graph::Type{std::move(type)};
    wanted.erase(found);
    return true;
  });
  if (wanted.empty()) return {};
  for (const graph::Tensor& one : graph.initializers) there.push_back(one.name.str());
  const std::string_view missing =
      *std::ranges::find_if(names, [&](const auto& one) { return wanted.contains(one); });
  const std::string hint = did_you_mean(missing, there);
  return error_at(Code::not_found, {},
                  fmt::format("the model has no initializer '{}' to be a variable", shown(missing)),
                  hint.empty() ? "a dense initializer of the main graph" : hint);
}

void settle_defaults(graph::Model& model, Defaults defaults) {
  constexpr std::int64_t kDefaultsAreInputs = 4;
  if (defaults == Defaults::inputs)
    model.ir_version = std::max(model.ir_version.value_or(0), kDefaultsAreInputs);
  if (defaults != Defaults::constants) return;
  std::unordered_set<std::string_view> initialized;
  for (const graph::Tensor& one : model.graph->initializers) initialized.insert(one.name.str());
  std::erase_if(model.graph->inputs,
                [&](const graph::ValueInfo& one) { return initialized.contains(one.name.str()); });
}

}  // namespace

Result<graph::Model> prepared(const graph::Model& model, const BuildOptions& options, graph::Budget& budget,
                              const std::shared_ptr<ops::Memory>& memory) {
  graph::Model copy = model;
  TRY(free_variables(*copy.graph, options.variables));
  settle_defaults(copy, options.defaults);
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
  TRY(Operators(copy, options.limits).check(*copy.graph));  // before passes can remove nodes
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
