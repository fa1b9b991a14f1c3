// Walks over the axes of a reduction. Neighbouring axes that are treated alike are one; what is left lies
// either in runs (the last axis is reduced) or in columns (it is kept).
#pragma once

#include "anybit/result.hpp"
#include "base/function_ref.hpp"
#include "ops/dims.hpp"
#include "ops/frame.hpp"
#include "ops/op.hpp"

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

inline constexpr std::int64_t kFoldedTogether = 256;  // columns, at most

// All results, by many threads. Those of runs: runs(first, last). Those that lie side by side, as the
// elements do that they are made of, a few columns at a time: columns(from, count, to), from the first of
// `count` elements to the first of as many results.
void fold_in_parallel(const Frame& frame, const Folding& folding,
                      FunctionRef<std::int64_t, std::int64_t> runs,
                      FunctionRef<std::int64_t, std::int64_t, std::int64_t> columns);

struct Reduced {
  Folding folding;
  Dims dims;  // of the result
};
// By an operator's list of axes; `keep`: reduced axes stay, with size 1.
Result<Reduced> reduced_of(const Dims& dims, std::span<const std::int64_t> axes, bool keep);
// What is known of the result's dims before a model runs.
Shape reduced_shape(const Shape& shape, const std::vector<std::size_t>& axes, bool keep);

}  // namespace anybit::ops
