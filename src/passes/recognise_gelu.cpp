// GELU: x·Φ(x), with the error function or its tanh or sigmoid approximation.
#include <algorithm>
#include <cmath>

#include "passes/view.hpp"

namespace anybit::passes {
namespace {

double exact(double x) { return 0.5 * x * (1 + std::erf(x * 0.70710678118654752)); }
double by_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
}
double quick(double x) { return x / (1 + std::exp(-1.702 * x)); }

std::optional<Group> match(const View& view, int node) {
  return element_group(view, node, "gelu", {exact, by_tanh, quick});
}

}  // namespace

std::span<const Descriptor> recognise_gelu_descriptors() {
  static const Descriptor all[] = {{.name = "gelu",
                                    .order = 220,
                                    .summary = "x·Φ(x) as Erf, Tanh or Sigmoid with arithmetic",
                                    .match = match}};
  return all;
}

}  // namespace anybit::passes
