// SiLU, or Swish: x·sigmoid(x).
#include <algorithm>
#include <cmath>

#include "passes/view.hpp"

namespace anybit::passes {
namespace {

double silu(double x) { return x / (1 + std::exp(-x)); }

std::optional<Group> match(const View& view, int node) { return element_group(view, node, "silu", {silu}); }

}  // namespace

std::span<const Descriptor> recognise_silu_descriptors() {
  static const Descriptor all[] = {{.name = "silu", .order = 230, .summary = "x·sigmoid(x)", .match = match}};
  return all;
}

}  // namespace anybit::passes
