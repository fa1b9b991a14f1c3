// One axis of Resize: taps and weights of each output, computed here so that the C code has tables.
#pragma once

#include <vector>

#include "node.hpp"

namespace anybit::cgen {

struct ResizeAxis {
  std::int64_t in = 0, out = 0;
  double scale = 1, start = 0, end = 1;  // start and end: the region of interest
  bool still = true;                     // identity: outputs equal inputs
  // Output j is Σ weights[j · taps + t] · input[first[j] + t]; first is -1 where it is extrapolated.
  std::int64_t taps = 1;
  std::vector<std::int32_t> first = {};
  std::vector<float> weights = {};
};

// The axes of a Resize or Upsample node.
std::vector<ResizeAxis> resize_axes(const Node& node);

}  // namespace anybit::cgen
