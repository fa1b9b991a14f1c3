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

void round_to_nearest(const RoundingTask& task) {
  constexpr std::int64_t kChunk = 1 << 14;
  task.pool.run(std::ssize(task.rounded), kChunk, [&](std::int64_t begin, std::int64_t end) {
    const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    (*task.at)(begin, 1, std::span(task.values + first, count), task.rounded.subspan(first, count));
  });
}

namespace {

Rounded nearest_only(const RoundingTask& task) {
  round_to_nearest(task);
  Rounded result;
  for (std::size_t i = 0; i < task.rounded.size(); ++i) {
    const double value = static_cast<double>(task.values[i]);
    const double error = value - static_cast<double>(task.rounded[i]);
    result.signal += value * value;
    result.noise += error * error;
  }
  return result;
}

}  // namespace

Rounded Rounder::round(RoundingTask task) const {
  task.parameters = &parameters;
  task.collected = collected;
  const bool served = row->needs.empty() || std::ranges::count(collected, nullptr) < std::ssize(collected);
  if (served) return row->round(task);
  if (!otherwise) return nearest_only(task);
  task.parameters = &otherwise_parameters;
  return otherwise->round(task);
}

}  // namespace anybit::quantizing
