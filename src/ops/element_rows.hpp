// How GatherElements and ScatterElements walk: over the indices row by row (their last axis), each with its
// place in the data.
#pragma once

#include "ops/move.hpp"

namespace anybit::ops {

struct ElementRows {
  std::int64_t count = 0, length = 1;         // rows of the indices
  std::int64_t step = 0;                      // in the data, from one index of a row to the next
  std::int64_t axis_size = 0, axis_step = 0;  // of the axis that the indices name
  Dims sizes, steps;                          // of the indices' other axes, in the data

  // Where the row begins in the data, the indexed axis left out.
  std::int64_t start(std::int64_t row) const {
    std::int64_t at = 0;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      at += row % sizes[i] * steps[i];
      row /= sizes[i];
    }
    return at;
  }
};

// For data in input 0, indices in input 1 and attribute `axis`; every index is inside.
Result<ElementRows> element_rows(const Frame& frame);

}  // namespace anybit::ops
