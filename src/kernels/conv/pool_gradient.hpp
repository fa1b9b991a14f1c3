// The adjoints of pooling over windows, map by map (kernels/conv/pool.hpp), and maxima in vectors. T: float,
// double.
#pragma once

#include "kernels/conv/pool.hpp"

namespace anybit::kernels {

// Maps [first, last): each gradient goes to the first of the largest inputs of its window.
template <class T>
void max_pool_gradient(const PoolSizes& sizes, const T* dy, const T* x, std::int64_t first, std::int64_t last,
                       T* dx);
// Each gradient is spread evenly over the inputs of its window.
template <class T>
void average_pool_gradient(const PoolSizes& sizes, bool include_padding, const T* dy, std::int64_t first,
                           std::int64_t last, T* dx);

// max_pool for maps [first, last) with lanes that fill vectors: a multiple of 8.
void max_pool_of_lanes(const PoolSizes& sizes, const float* x, std::int64_t first, std::int64_t last,
                       float* y);

}  // namespace anybit::kernels
