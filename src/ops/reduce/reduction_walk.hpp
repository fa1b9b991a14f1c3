// Traversal of a reduction. Neighbouring axes that are both kept or both reduced are merged; the innermost is
// either a run (reduced) or columns (kept).
#pragma once

#include "anybit/result.hpp"
#include "base/function_ref.hpp"
#include "ops/dims.hpp"
#include "ops/frame.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

// Axes of a tensor with their strides; indexes all their combinations, in row-major order.
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

struct AxisReduction {
  Walk kept, reduced;        // without the last axis
  std::int64_t run = 1;      // contiguous elements reduced to one
  std::int64_t columns = 1;  // contiguous elements kept apart; 1 if run is not

  std::int64_t folded() const { return reduced.count() * run; }  // elements reduced to one
};

// `gone` has an entry for each of `dims`: whether that axis is reduced.
AxisReduction axis_reduction_of(const Dims& dims, std::span<const bool> gone);

inline constexpr std::int64_t kFoldedTogether = 256;  // largest number of columns per call

// Computes all results on many threads. Runs: runs(first, last) computes results [first, last). Columns:
// columns(from, count, to) reduces `count` adjacent columns; the first starts at element `from`, its result
// is `to`.
void reduce_in_parallel(const Frame& frame, const AxisReduction& folding,
                        FunctionRef<std::int64_t, std::int64_t> runs,
                        FunctionRef<std::int64_t, std::int64_t, std::int64_t> columns);

struct Reduced {
  AxisReduction folding;
  Dims dims;  // of the result
};
// For an operator's list of axes; `keep`: reduced axes stay, with size 1.
Result<Reduced> reduced_of(const Dims& dims, std::span<const std::int64_t> axes, bool keep);
// The result's dims as far as they are known before a model runs.
Shape reduced_shape(const Shape& shape, const std::vector<std::size_t>& axes, bool keep);

}  // namespace anybit::ops
