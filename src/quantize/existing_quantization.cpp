#include "quantize/existing_quantization.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "graph/quantization.hpp"
#include "ops/quantized/fix_neuron.hpp"
#include "ops/table.hpp"

namespace anybit::quantizing {

bool is_quantized(const graph::Model& model) {
  bool found = false;
  each_node(*model.graph, [&](const graph::Node& node) {
    const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
    found |= descriptor && !descriptor->quantized.empty();
    found |= node.domain.str() == graph::kAnybit || ops::is_fix_neuron(node);
  });
  return found;
}

bool has_strange_functions(const graph::Model& model) {
  return std::ranges::any_of(model.functions,
                             [](const graph::Function& one) { return one.domain == graph::kAnybit; });
}

std::string integer_operators_remark(const graph::Model& model) {
  std::map<std::string, std::int64_t> found;
  each_node(*model.graph, [&](const graph::Node& node) {
    const std::string& op = node.op_type.str();
    const ops::Descriptor* descriptor = ops::find(node.domain.str(), op);
    if (!descriptor || descriptor->quantized.empty()) return;
    if (!graph::quantizes(node) && !graph::dequantizes(node)) ++found[op];
  });
  std::vector<std::string> kinds;
  for (const auto& [op, count] : found) kinds.push_back(fmt::format("{} {}", count, op));
  if (kinds.empty()) return {};
  return fmt::format(
      "integer operators are left as they are ({}): only Q/DQ pairs can be removed. Quantize the float model "
      "to requantize all of it",
      fmt::join(kinds, ", "));
}

}  // namespace anybit::quantizing
