// Attention: softmax(q · kᵀ · scale + mask) · v, from the first MatMul to the second.
#include <algorithm>

#include "passes/view.hpp"

namespace anybit::passes {
namespace {

constexpr int kLongest = 8;  // nodes between a MatMul and the softmax

// The nodes from the input of the softmax back to its MatMul; empty if there is none. Scales and masks may be
// other inputs of these nodes.
std::vector<int> scores_before(const View& view, const std::string& name, int depth) {
  const int node = view.index().producer(name);
  if (node < 0 || depth > kLongest || view.index().only_user(name) < 0) return {};
  if (view.is(node, "MatMul")) return {node};
  if (!view.is_any(
          node, {"Mul", "Div", "Add", "Sub", "Where", "Min", "Max", "Cast", "Clip", "Reshape", "Identity"}))
    return {};
  for (const std::string& input : view.node(node).inputs) {
    if (input.empty() || view.is_constant(input)) continue;
    auto nodes = scores_before(view, input, depth + 1);
    if (nodes.empty()) continue;
    nodes.push_back(node);
    return nodes;
  }
  return {};
}

std::optional<Group> match(const View& view, int node) {
  if (!view.is(node, "Softmax")) return std::nullopt;
  auto nodes = scores_before(view, view.in(node, 0), 0);
  if (nodes.empty()) return std::nullopt;
  nodes.push_back(node);
  int last = node;
  for (int i = 0; i < kLongest; ++i) {
    const int next = view.next(last);
    if (next < 0) return std::nullopt;
    const bool matmul = view.is(next, "MatMul");
    if (matmul && view.in(next, 0) != view.out(last)) return std::nullopt;
    if (!matmul && !view.is_any(next, {"Dropout", "Identity", "Where", "Cast", "Reshape", "Mul"}))
      return std::nullopt;
    nodes.push_back(next);
    last = next;
    if (matmul) return view.group("attention", nodes, last);
  }
  return std::nullopt;
}

}  // namespace

std::span<const Descriptor> recognise_attention_descriptors() {
  static const Descriptor all[] = {
      {.name = "attention", .order = 210, .summary = "softmax(q · k · scale + mask) · v", .match = match}};
  return all;
}

}  // namespace anybit::passes
