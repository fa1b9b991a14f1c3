// Mish: x·tanh(log(1 + exp(x))).
#include <algorithm>
#include <cmath>

#include "passes/view.hpp"

namespace anybit::passes {
namespace {

double mish(double x) { return x * std::tanh(std::log1p(std::exp(x))); }

std::optional<Group> match(const View& view, int node) { return element_group(view, node, "mish", {mish}); }

}  // namespace

std::span<const Descriptor> recognise_mish_descriptors() {
  static const Descriptor all[] = {
      {.name = "mish", .order = 240, .summary = "x·tanh(softplus(x))", .match = match}};
  return all;
}

}  // namespace anybit::passes
