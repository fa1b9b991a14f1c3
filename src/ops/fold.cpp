#include "ops/fold.hpp"

namespace anybit::ops {

Folding folding_of(const Dims& dims, std::span<const bool> gone) {
  const Dims strides = strides_of(dims);
  Folding folding;
  int last = -1;  // which walk the axis before went to: 0 kept, 1 reduced
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

}  // namespace anybit::ops
