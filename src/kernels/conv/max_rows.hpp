// Max pooling of float32, row by row of the result: first the largest values of the window's rows, then along
// the row.
#pragma once

#include "kernels/conv/pool.hpp"

namespace anybit::kernels {

// Whether max_pool_rows takes this window: a padded row is little larger than the input's.
bool max_pool_fits_rows(const PoolSizes& sizes);
// Rows [first, last) of PoolSizes::rows(). NaN propagates.
void max_pool_rows(const PoolSizes& sizes, const float* x, std::int64_t first, std::int64_t last, float* y);

}  // namespace anybit::kernels
