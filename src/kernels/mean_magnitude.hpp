// The mean of |x|, as scales of binary formats are chosen, for tensors that change from run to run.
#pragma once

#include <span>

#include "base/thread_pool.hpp"

namespace anybit::kernels {

// Over the finite values; 0 if there are none. The same for any number of threads and on every CPU; sums are
// in double, though not in the order of formats::sum_magnitudes.
double mean_magnitude(std::span<const float> values, ThreadPool& pool);

}  // namespace anybit::kernels
