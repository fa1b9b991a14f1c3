// Which of its two neighbours each weight is rounded to, so that every output of a product keeps the sum of
// its weights. Values that a product sums over rarely have a mean of zero (what follows an activation, blank
// paper in a picture): an error of the sum then shifts the whole output, while errors that cancel do not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "base/function_ref.hpp"
#include "base/thread_pool.hpp"

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

// Where a value that was rounded is to be rounded once more to find its other neighbour: at twice the
// distance, which is beyond the middle if less than a quarter of the step is left to it, and never beyond the
// neighbour.
inline float mirrored(float value, float rounded) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return std::min(std::max(value + (value - rounded), -kMost), kMost);
}

struct Kept {
  std::int64_t moved = 0;        // values that are not the nearest
  double signal = 0, noise = 0;  // sums of squares: of the values, and of what they lost
};

// Writes what every value becomes. Of the values that are cheap to move, the cheapest are, as long as what
// the sum gains is more than what the values lose. The same for any number of threads.
Kept keep_sums(const float* values, const Outputs& outputs, const Neighbours& neighbours, float* kept,
               ThreadPool& pool);

// Goes on where an output has few weights: if their steps differ, as those of floats do, two neighbours of
// each leave much of the sum. Single weights of `kept` go to any value of the format, as long as their output
// gains by it. nearest(values, rounded): those of a whole tensor.
using Nearest = FunctionRef<std::span<const float>, std::span<float>>;
void trim_sums(const float* values, const Outputs& outputs, const Nearest& nearest, std::span<float> kept);

}  // namespace anybit::quantizing
