// The traversal of GatherElements and ScatterElements: over the indices row by row (their last axis), with
// the matching offsets in the data.
#pragma once

#include "ops/move/data_movement.hpp"

namespace anybit::ops {

struct ElementRows {
  std::int64_t count = 0, length = 1;         // rows of the indices
  std::int64_t step = 0;                      // data stride between neighbouring indices of a row
  std::int64_t axis_size = 0, axis_step = 0;  // of the indexed axis of the data
  Dims sizes, steps;                          // of the indices' other axes; strides in the data

  // The data offset of a row, without the indexed axis.
  std::int64_t start(std::int64_t row) const {
    std::int64_t at = 0;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      at += row % sizes[i] * steps[i];
      row /= sizes[i];
    }
    return at;
  }
};

// For data in input 0, indices in input 1 and attribute `axis`. Rejects indices out of range.
Result<ElementRows> element_rows(const Frame& frame);

}  // namespace anybit::ops
