// The mean of |x|, the scale of binary formats, for tensors that change from run to run.
#pragma once

#include <span>

#include "base/thread_pool.hpp"

namespace anybit::kernels {

// Over the finite values; 0 if there are none. The same for any number of threads and on every CPU. Sums are
// in double, in another order than formats::sum_magnitudes.
double mean_magnitude(std::span<const float> values, ThreadPool& pool);

}  // namespace anybit::kernels
