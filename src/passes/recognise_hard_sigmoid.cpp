// Hard sigmoid: clip(x + 3, 0, 6) / 6, and ONNX's default, clip(x / 5 + 1/2, 0, 1).
#include <algorithm>
#include <cmath>

#include "passes/view.hpp"

namespace anybit::passes {
namespace {

double by_six(double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }
double by_five(double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }

std::optional<Group> match(const View& view, int node) {
  return element_group(view, node, "hard_sigmoid", {by_six, by_five});
}

}  // namespace

std::span<const Descriptor> recognise_hard_sigmoid_descriptors() {
  static const Descriptor all[] = {{.name = "hard_sigmoid",
                                    .order = 260,
                                    .summary = "clip(x + 3, 0, 6) / 6, or clip(x / 5 + 1/2, 0, 1)",
                                    .match = match}};
  return all;
}

}  // namespace anybit::passes
