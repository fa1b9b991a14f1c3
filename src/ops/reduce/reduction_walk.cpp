#include "ops/reduce/reduction_walk.hpp"

#include <algorithm>
#include <array>

#include "base/try.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {

AxisReduction axis_reduction_of(const Dims& dims, std::span<const bool> gone) {
  const Dims strides = strides_of(dims);
  AxisReduction folding;
  int last = -1;  // the walk of the previous axis: 0 kept, 1 reduced
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    Walk& walk = gone[axis] ? folding.reduced : folding.kept;
    if (last == static_cast<int>(gone[axis])) {
      walk.sizes.back() *= dims[axis];
      walk.strides.back() = strides[axis];
    } else {
      walk.sizes.push_back(dims[axis]);
      walk.strides.push_back(strides[axis]);
    }
    last = static_cast<int>(gone[axis]);
  }
  if (last < 0) return folding;
  Walk& walk = last == 1 ? folding.reduced : folding.kept;
  (last == 1 ? folding.run : folding.columns) = walk.sizes.back();
  walk.sizes.erase(walk.sizes.size() - 1);
  walk.strides.erase(walk.strides.size() - 1);
  return folding;
}

void reduce_in_parallel(const Frame& frame, const AxisReduction& folding,
                        FunctionRef<std::int64_t, std::int64_t> runs,
                        FunctionRef<std::int64_t, std::int64_t, std::int64_t> columns) {
  const double cost = 0.3 * static_cast<double>(folding.folded()) + 5;
  if (folding.columns == 1) {
    parallel(frame, folding.kept.count(), cost,
             [&](std::int64_t first, std::int64_t last) { runs(first, last); });
    return;
  }
  const std::int64_t parts = (folding.columns + kFoldedTogether - 1) / kFoldedTogether;
  const double width = static_cast<double>(std::min(kFoldedTogether, folding.columns));
  parallel(frame, folding.kept.count() * parts, cost * width, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t outer = i / parts, column = i % parts * kFoldedTogether;
      columns(folding.kept.offset(outer) + column, std::min(kFoldedTogether, folding.columns - column),
              outer * folding.columns + column);
    }
  });
}

Result<Reduced> reduced_of(const Dims& dims, std::span<const std::int64_t> axes, bool keep) {
  std::array<bool, Dims::kCapacity> gone{};
  for (const std::int64_t axis : axes) gone[TRY(axis_of(axis, dims.size()))] = true;
  Reduced result{axis_reduction_of(dims, std::span(gone).first(dims.size())), {}};
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (!gone[axis]) result.dims.push_back(dims[axis]);
    if (gone[axis] && keep) result.dims.push_back(1);
  }
  return result;
}

Shape reduced_shape(const Shape& shape, const std::vector<std::size_t>& axes, bool keep) {
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool gone = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!gone) result.push_back(shape[i]);
    if (gone && keep) result.push_back(1);
  }
  return result;
}

}  // namespace anybit::ops
