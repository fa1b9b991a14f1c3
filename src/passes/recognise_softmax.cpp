// Decomposed softmax: exp(x − max x) / sum.
#include "passes/view.hpp"

namespace anybit::passes {
namespace {

std::optional<Group> match(const View& view, int node) {
  if (!view.is(node, "Div") || view.node(node).inputs.size() != 2) return std::nullopt;
  const auto& inputs = view.node(node).inputs;
  const int exp = view.maker(inputs[0], "Exp"), sum = view.maker(inputs[1], "ReduceSum");
  if (exp < 0 || sum < 0 || view.in(sum, 0) != inputs[0]) return std::nullopt;
  std::vector<int> nodes = {exp, sum, node};
  const int sub = view.maker(view.in(exp, 0), "Sub");
  if (sub >= 0) {
    const int largest = view.maker(view.in(sub, 1), "ReduceMax");
    if (largest >= 0 && view.in(largest, 0) == view.in(sub, 0)) {
      nodes.push_back(sub);
      nodes.push_back(largest);
    }
  }
  return view.group("softmax", nodes, node);
}

}  // namespace

std::span<const Descriptor> recognise_softmax_descriptors() {
  static const Descriptor all[] = {
      {.name = "softmax", .order = 270, .summary = "exp(x − max x) / sum", .match = match}};
  return all;
}

}  // namespace anybit::passes
