// The samples on which two models differ most, with thumbnails of those that are images.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "anybit/compare.hpp"
#include "ops/array.hpp"

namespace anybit {

class WorstSamples {
 public:
  void add(std::int64_t sample, double sqnr, const std::map<std::string, ops::Datum>& inputs);
  // Lowest SQNR first.
  std::vector<SampleError> take() { return std::move(worst_); }

 private:
  std::vector<SampleError> worst_;
};

// The first input that looks like one image: [1, 1 or 3, H, W] or [1, H, W, 1 or 3]. Empty if there is none.
Thumbnail thumbnail_of(const std::map<std::string, ops::Datum>& inputs);

}  // namespace anybit
