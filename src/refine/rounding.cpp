#include "refine/rounding.hpp"

#include "refine/table.hpp"

namespace anybit::quantizing {

Outputs outputs_of(std::span<const std::int64_t> dims, std::int64_t axis) {
  if (axis < 0 || dims.size() < 2) return {};
  std::int64_t count = 1;
  for (const std::int64_t size : dims) count *= size;
  if (count == 0) return {};
  if (axis == 0) return {dims[0], count / dims[0], count / dims[0], 1};
  if (axis == 1 && dims.size() == 2) return {dims[1], dims[0], 1, dims[1]};
  return {};
}

Rounded Rounder::round(RoundingTask task) const {
  task.parameters = &parameters;
  task.collected = collected;
  return row->round(task);
}

}  // namespace anybit::quantizing
