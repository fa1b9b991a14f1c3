#include "quantize/default_weights.hpp"

#include <set>
#include <string_view>

#include "base/error.hpp"
#include "ops/table.hpp"

namespace anybit::quantizing {
namespace {

// Since this IR version, an initializer among the inputs is a default; before, all of them had to be there.
constexpr std::int64_t kDefaults = 4;

// An operator with weights, or with a normalization's scale and shift, behind its data input.
bool has_weights(const graph::Node& node) {
  const ops::Descriptor* op = ops::find(node.domain.str(), node.op_type.str());
  return op && (!op->traits.weights.empty() || op->traits.normalizes);
}

}  // namespace

std::string fix_default_weights(graph::Model& model) {
  if (!model.graph || model.ir_version.value_or(0) < kDefaults) return {};
  graph::Graph& graph = *model.graph;
  std::set<std::string_view> initialized, weights;
  for (const graph::Tensor& one : graph.initializers) initialized.insert(one.name.str());
  for (const graph::Node& node : graph.nodes) {
    if (!has_weights(node)) continue;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (initialized.contains(node.inputs[i])) weights.insert(node.inputs[i]);
    }
  }
  const auto fixed = std::erase_if(
      graph.inputs, [&](const graph::ValueInfo& input) { return weights.contains(input.name.str()); });
  if (fixed == 0) return {};
  return fmt::format("weights that the model lists among its inputs are constants now: {}", fixed);
}

}  // namespace anybit::quantizing
