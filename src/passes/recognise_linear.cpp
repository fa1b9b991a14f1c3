// A MatMul with constant weights and the Add of a constant row after it: one linear layer with a bias.
#include "passes/view.hpp"

namespace anybit::passes {
namespace {

std::optional<Group> match(const View& view, int node) {
  if (!view.is(node, "MatMul") || view.node(node).inputs.size() != 2) return std::nullopt;
  const graph::Tensor* weights = view.constant(view.in(node, 1));
  const int add = view.next(node);
  if (!weights || weights->dims.size() != 2 || !view.is(add, "Add") || view.node(add).inputs.size() != 2)
    return std::nullopt;
  const auto& inputs = view.node(add).inputs;
  const graph::Tensor* bias = view.constant(inputs[inputs[0] == view.out(node) ? 1 : 0]);
  const bool row = bias && !bias->dims.empty() && bias->dims.back() == weights->dims[1] &&
                   bias->count() == weights->dims[1];
  return row ? view.group("linear", {node, add}, add) : std::nullopt;
}

}  // namespace

std::span<const Descriptor> recognise_linear_descriptors() {
  static const Descriptor all[] = {{.name = "linear",
                                    .order = 280,
                                    .summary = "MatMul with constant weights, and its bias",
                                    .match = match}};
  return all;
}

}  // namespace anybit::passes
