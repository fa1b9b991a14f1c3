// The interface of refinements that round weights to a grid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "base/thread_pool.hpp"
#include "calibrate/collector_table.hpp"
#include "formats/value.hpp"

namespace anybit::quantizing {

// A weight as a set of outputs: the weights of output `i` begin at i · stride, at distance `step`.
struct Outputs {
  std::int64_t count = 0, length = 0;  // number of outputs, and of weights per output
  std::int64_t stride = 1, step = 1;
};

// Outputs are the indices of the first axis or the columns of a matrix; none for other axes.
Outputs outputs_of(std::span<const std::int64_t> dims, std::int64_t axis);

// neighbours(at, values, rounded, other): for the values at `at`, at + step, …: the nearest value of the
// format and the neighbor on the other side; the nearest again if that neighbor is much farther away.
using Neighbours = FunctionRef<std::int64_t, std::span<const float>, std::span<float>, std::span<float>>;
// at(place, step, values, rounded): the values of the format nearest to `values` for the weights at `place`,
// place + step, …, with the scales that these have.
using NearestAt = FunctionRef<std::int64_t, std::int64_t, std::span<const float>, std::span<float>>;
// nearest(values, rounded): rounds a whole tensor to nearest.
using Nearest = FunctionRef<std::span<const float>, std::span<float>>;

// The value to round for finding the other neighbor of a rounded value: at twice the distance. It is beyond
// the midpoint if less than a quarter step remains to it, and never beyond the neighbor.
inline float mirrored(float value, float rounded) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return std::min(std::max(value + (value - rounded), -kMost), kMost);
}

struct RoundingTask {
  const float* values;
  Outputs outputs;
  const Neighbours& neighbours;
  const Nearest* nearest;  // null: uniform steps, so that the two neighbors are the only choice
  std::span<float> rounded;
  ThreadPool& pool;
  const NearestAt* at = nullptr;
  const formats::Values* parameters = nullptr;  // of the refinement, including defaults
  // Requested statistics of the inputs of each layer with this weight; null: no sample reached it.
  std::span<const calibrate::Collector* const> collected = {};
};

struct Rounded {
  std::int64_t moved = 0;  // values not rounded to nearest
  double signal = 0,
         noise = 0;  // sums of squares of the values and of their errors; not set with `nearest`
};

// Rounds all values of the task.
void round_to_nearest(const RoundingTask& task);

struct Descriptor;

// A refinement that rounds a weight, with its parameters and statistics.
struct Rounder {
  const Descriptor* row = nullptr;  // null: round to nearest
  formats::Values parameters = {};
  bool optional = false;                                    // Refinement::optional
  std::vector<calibrate::WantedOf> needs = {};              // of layer inputs
  std::vector<const calibrate::Collector*> collected = {};  // for `needs`, after calibration

  // What rounds it where no statistics were collected; null: to nearest.
  const Descriptor* otherwise = nullptr;
  formats::Values otherwise_parameters = {};

  // What chooses the scales; null: the range of the values.
  const Descriptor* ranges = nullptr;
  bool ranges_optional = false;  // only with the statistics for `needs`

  explicit operator bool() const { return row != nullptr; }
  // Completes the task with the members above and runs the refinement.
  Rounded round(RoundingTask task) const;
  // Returns true if both round a weight in the same way.
  friend bool operator==(const Rounder& a, const Rounder& b) {
    return a.row == b.row && a.parameters == b.parameters && a.otherwise == b.otherwise &&
           a.otherwise_parameters == b.otherwise_parameters && a.ranges == b.ranges;
  }
};

}  // namespace anybit::quantizing
