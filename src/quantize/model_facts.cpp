#include "quantize/model_facts.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <variant>

#include "graph/index.hpp"
#include "ops/table.hpp"
#include "quantize/existing_quantization.hpp"

namespace anybit::quantizing {

using graph::Graph;
using graph::Model;
using graph::Node;

void modernize(Model& model) {
  if (model.ir_version.value_or(0) >= 4) return;
  std::unordered_set<std::string> initialized;
  for (const graph::Tensor& one : model.graph->initializers) initialized.insert(one.name.str());
  std::erase_if(model.graph->inputs,
                [&](const graph::ValueInfo& one) { return initialized.count(one.name.str()) != 0; });
  model.ir_version = 4;
}

std::int64_t constant_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const graph::Tensor& one : graph.initializers) bytes += static_cast<std::int64_t>(one.data.size());
  for (const Node& node : graph.nodes) {
    graph::each_graph(node, [&](const Graph& inner) { bytes += constant_bytes(inner); });
    for (const graph::Attribute& attribute : node.attributes) {
      if (const auto* tensor = std::get_if<graph::Tensor>(&attribute.value))
        bytes += static_cast<std::int64_t>(tensor->data.size());
    }
  }
  return bytes;
}

void import_domains(Model& model) {
  bool used = false;
  each_node(*model.graph, [&](const Node& node) { used |= node.domain.str() == ops::kMicrosoft; });
  const bool imported = std::ranges::any_of(
      model.opsets, [](const graph::OpsetImport& one) { return one.domain.str() == ops::kMicrosoft; });
  if (used && !imported) model.opsets.push_back({graph::Text(std::string(ops::kMicrosoft)), 1, {}});
}

}  // namespace anybit::quantizing
