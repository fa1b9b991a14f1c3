#include "passes/masks.hpp"

#include <algorithm>

#include "graph/index.hpp"
#include "ops/table.hpp"

namespace anybit::passes {
namespace {

using graph::Node;
using graph::Tensor;

// Largest constant that is searched, in elements: a mask of 4096 × 4096.
constexpr std::int64_t kMost = 1 << 24;

// Operators that keep a mask, besides pass-through ones: added to scores, multiplied with zeros and ones,
// selected.
constexpr std::string_view kPassing[] = {"Add", "Sub", "Mul", "Div", "Where", "Cast"};

bool passes_on(const Node& node) {
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  return (descriptor && descriptor->traits.moves(node)) ||
         std::ranges::find(kPassing, node.op_type.str()) != std::end(kPassing);
}

// Index of the input that is a mask or scores that include one; -1: none.
int masked_input(const Node& node) {
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  return descriptor ? descriptor->traits.mask : -1;
}

bool hides(const Tensor& tensor, float hidden) {
  if (tensor.type() != graph::ElementType::float32 || tensor.count() > kMost) return false;
  const auto count = std::min(static_cast<std::size_t>(tensor.count()), tensor.data.size() / sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    if (tensor.data.at<float>(i) <= hidden) return true;
  }
  return false;
}

// The fill value of a ConstantOfShape; its shape does not matter.
const Tensor* filling(const Node& node) {
  if (node.op_type.str() != "ConstantOfShape") return nullptr;
  const graph::Attribute* value = node.attribute("value");
  return value ? std::get_if<Tensor>(&value->value) : nullptr;
}

// Collects the values that reach a Softmax, from the last node to the first.
std::set<std::string> before_softmax(const graph::Graph& graph) {
  std::set<std::string> reached;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (const int input = masked_input(node); input >= 0 && input < static_cast<int>(node.inputs.size()))
      reached.insert(node.inputs[static_cast<std::size_t>(input)]);
    const bool used =
        std::ranges::any_of(node.outputs, [&](const auto& one) { return reached.count(one) != 0; });
    if (used && passes_on(node)) reached.insert(node.inputs.begin(), node.inputs.end());
  }
  reached.erase("");
  return reached;
}

}  // namespace

std::set<std::string> masks_in(const graph::Graph& graph, float hidden) {
  const std::set<std::string> reached = before_softmax(graph);
  std::set<std::string> masks;
  if (reached.empty()) return masks;
  const graph::Index index(graph);
  std::unordered_map<const Tensor*, bool> hiding;  // many nodes may share a constant
  for (const Node& node : graph.nodes) {
    const bool used =
        std::ranges::any_of(node.outputs, [&](const auto& one) { return reached.count(one) != 0; });
    if (!used) continue;
    bool carries = filling(node) && hides(*filling(node), hidden);
    for (std::size_t i = 0; passes_on(node) && !carries && i < node.inputs.size(); ++i) {
      const Tensor* constant = index.constant(node.inputs[i]);
      if (!constant) {
        carries = masks.count(node.inputs[i]) != 0;
        continue;
      }
      const auto [known, is_new] = hiding.try_emplace(constant, false);
      if (is_new) known->second = hides(*constant, hidden);
      carries = known->second;
    }
    if (carries) masks.insert(node.outputs.begin(), node.outputs.end());
  }
  return masks;
}

}  // namespace anybit::passes
