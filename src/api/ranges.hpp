// The content of public Ranges.
#pragma once

#include "anybit/calibrate.hpp"
#include "calibrate/ranges_file.hpp"

namespace anybit {

struct Ranges::Content {
  calibrate::Ranges ranges;
  std::vector<Tensor> tensors;
};

struct RangesAccess {
  static const calibrate::Ranges& inner(const Ranges& ranges) { return ranges.content_->ranges; }
  static Ranges make(calibrate::Ranges ranges);
};

}  // namespace anybit
