// A weight on its way to a grid: what a refinement that chooses the roundings is given.
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

// A tensor as the weights of outputs: those of output `i` begin at i · stride, and lie `step` apart.
struct Outputs {
  std::int64_t count = 0, length = 0;  // of outputs; of the weights of each
  std::int64_t stride = 1, step = 1;
};

// Outputs are the indices of the first axis, or the columns of a matrix; of anything else there are none.
Outputs outputs_of(std::span<const std::int64_t> dims, std::int64_t axis);

// neighbours(at, values, rounded, other): of the values at `at`, at + step, …: the nearest that the format
// has, and the one on the other side of the value; the nearest again where that is much farther away.
using Neighbours = FunctionRef<std::int64_t, std::span<const float>, std::span<float>, std::span<float>>;
// nearest(values, rounded): those of a whole tensor.
using Nearest = FunctionRef<std::span<const float>, std::span<float>>;

// Where a value that was rounded is to be rounded once more to find its other neighbour: at twice the
// distance, which is beyond the middle if less than a quarter of the step is left to it, and never beyond the
// neighbour.
inline float mirrored(float value, float rounded) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return std::min(std::max(value + (value - rounded), -kMost), kMost);
}

struct RoundingTask {
  const float* values;
  Outputs outputs;
  const Neighbours& neighbours;
  const Nearest* nearest;  // null: steps are even, so neighbours are all there is to choose from
  std::span<float> rounded;
  ThreadPool& pool;
  const formats::Values* parameters = nullptr;  // of the refinement, all of them
  // What it needs, of the inputs of each layer that takes the weight; null: no sample reached that.
  std::span<const calibrate::Collector* const> collected = {};
};

struct Rounded {
  std::int64_t moved = 0;  // values that are not the nearest
  double signal = 0,
         noise = 0;  // sums of squares: of the values, and of what they lost; not told with `nearest`
};

struct Descriptor;

// The refinement that chooses the roundings of a weight, how, and with what.
struct Rounder {
  const Descriptor* row = nullptr;  // null: every value is rounded to the nearest
  formats::Values parameters = {};
  std::vector<calibrate::WantedOf> needs = {};              // of what layers take
  std::vector<const calibrate::Collector*> collected = {};  // these, once samples have run

  explicit operator bool() const { return row != nullptr; }
  // The task is completed with what is above.
  Rounded round(RoundingTask task) const;
  // Whether they round a weight in the same way.
  friend bool operator==(const Rounder& a, const Rounder& b) {
    return a.row == b.row && a.parameters == b.parameters;
  }
};

}  // namespace anybit::quantizing
