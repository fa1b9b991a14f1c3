// Walks over the axes of a reduction. Neighbouring axes that are treated alike are one; what is left lies
// either in runs (the last axis is reduced) or in columns (it is kept).
#pragma once

#include "ops/dims.hpp"

namespace anybit::ops {

// Axes of a tensor and how far apart their elements are; entry i of all their combinations, in row-major
// order.
struct Walk {
  Dims sizes, strides;

  std::int64_t count() const { return sizes.count(); }
  std::int64_t offset(std::int64_t i) const {
    std::int64_t at = 0;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      at += i % sizes[axis] * strides[axis];
      i /= sizes[axis];
    }
    return at;
  }
};

struct Folding {
  Walk kept, reduced;        // but for the last axis
  std::int64_t run = 1;      // elements next to each other that become one
  std::int64_t columns = 1;  // elements next to each other that stay apart; 1 if run is not

  std::int64_t folded() const { return reduced.count() * run; }  // elements that become one
};

// `gone` has an entry for each of `dims`: whether that axis is reduced.
Folding folding_of(const Dims& dims, std::span<const bool> gone);

}  // namespace anybit::ops
