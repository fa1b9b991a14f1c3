#include "train/backward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "graph/node.hpp"
#include "ops/gradient.hpp"
#include "train/recompute.hpp"
#include "train/walk.hpp"

namespace anybit::train {
namespace {

// Rules add operators in the form of this opset, which no later one has changed: axes are inputs.
constexpr std::int64_t kOldest = 18;

// Values of the main graph alone: those inside nodes have no gradients of their own.
std::unordered_set<std::string_view> values_of(const graph::Graph& graph) {
  std::unordered_set<std::string_view> all;
  for (const graph::ValueInfo& one : graph.inputs) all.insert(one.name.str());
  for (const graph::Tensor& one : graph.initializers) all.insert(one.name.str());
  for (const graph::Node& node : graph.nodes) all.insert(node.outputs.begin(), node.outputs.end());
  all.erase("");
  return all;
}

Result<void> check_there(const std::unordered_set<std::string_view>& values, std::string_view name,
                         std::string_view what) {
  if (values.contains(name)) return {};
  std::vector<std::string_view> there(values.begin(), values.end());
  std::ranges::sort(there);
  return error_at(Code::not_found, {},
                  fmt::format("the main graph has no value '{}' ({})", shown(name), what),
                  did_you_mean(name, there));
}

Result<void> check_loss(const Ledger& ledger, const std::string& loss) {
  const ops::Value& facts = ledger.facts(loss);
  const bool single = !facts.shape || std::ranges::all_of(*facts.shape, [](const ops::Dim& size) {
    return size.is(1) || !size.known();
  });
  if (single && (facts.type == ops::ElementType::float32 || facts.type == ops::ElementType::float64))
    return {};
  return invalid_argument(fmt::format("the loss '{}' is {}", shown(loss), ops::to_string(facts)),
                          "a single float32");
}

void import(graph::Model& model, std::string_view domain) {
  if (model.opset(domain)) return;
  graph::OpsetImport& one = model.opsets.emplace_back();
  one.domain = graph::Text(std::string(domain));
  one.version = 1;
}

}  // namespace

Result<std::vector<std::string>> add_gradients(graph::Model& model, std::string_view loss,
                                               std::span<const std::string> wanted,
                                               const BackwardOptions& options) {
  if (const auto opset = model.opset().value_or(1); opset < kOldest) {
    return error_at(Code::unsupported, {}, fmt::format("the model has opset {}", opset),
                    fmt::format("convert it to opset {} or newer for training", kOldest));
  }
  Ledger ledger = TRY(Ledger::of(model));
  graph::Graph& graph = *model.graph;
  const std::string end(loss);
  const auto values = values_of(graph);
  TRY(check_there(values, loss, "the loss"));
  TRY(check_loss(ledger, end));
  for (const std::string& name : wanted) {
    TRY(check_there(values, name, "whose gradient is wanted"));
    if (!ledger.is_float(name))
      return invalid_argument(fmt::format("'{}', whose gradient is wanted, is {}", shown(name),
                                          ops::to_string(ledger.facts(name))),
                              "a value of real numbers");
    ledger.mark(name);
  }
  ledger.spread(graph);
  Writer writer(ledger, graph.nodes);
  Walk walk(writer);
  if (ledger.depends(end)) {
    const std::string one = writer.number(1, ledger.facts(end).type);
    const auto& shape = ledger.facts(end).shape;
    walk.add(end,
             shape && shape->empty() ? one : writer.add_one({"Expand", "", {one, writer.shape(end)}}, end));
    TRY(walk.back(graph.nodes));
  }
  if (options.recompute) recompute(graph.nodes, walk.ends(), writer);
  std::vector<std::string> names;
  std::unordered_set<std::string> taken;
  for (const std::string& name : wanted) {
    const std::string gradient = walk.of(name);
    names.push_back(writer.own(gradient.empty() ? writer.zeros_like(name) : gradient, taken));
  }
  if (writer.failed) return *writer.failed;
  std::ranges::move(writer.added.initializers, std::back_inserter(graph.initializers));
  graph.nodes = std::move(writer).assembled();
  import(model, ops::kTraining);
  return names;
}

}  // namespace anybit::train
