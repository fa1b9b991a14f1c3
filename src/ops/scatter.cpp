// Scatter, ScatterElements, ScatterND: the first input with some elements replaced.
#include "ops/rules.hpp"

namespace anybit::ops {

std::span<const Descriptor> scatter_descriptors() {
  static const Descriptor all[] = {
      {.name = "Scatter", .domain = "", .since = {9, 11}, .infer = infer_same},
      {.name = "ScatterElements", .domain = "", .since = {11, 13, 16, 18}, .infer = infer_same},
      {.name = "ScatterND", .domain = "", .since = {11, 13, 16, 18}, .infer = infer_same},
  };
  return all;
}

}  // namespace anybit::ops
