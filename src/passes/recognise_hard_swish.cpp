// Hard swish: x·clip(x + 3, 0, 6) / 6.
#include <algorithm>
#include <cmath>

#include "passes/view.hpp"

namespace anybit::passes {
namespace {

double hard_swish(double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }

std::optional<Group> match(const View& view, int node) {
  return element_group(view, node, "hard_swish", {hard_swish});
}

}  // namespace

std::span<const Descriptor> recognise_hard_swish_descriptors() {
  static const Descriptor all[] = {
      {.name = "hard_swish", .order = 250, .summary = "x·clip(x + 3, 0, 6) / 6", .match = match}};
  return all;
}

}  // namespace anybit::passes
