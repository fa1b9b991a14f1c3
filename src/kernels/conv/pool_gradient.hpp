// The adjoints of pooling over windows, map by map (kernels/conv/pool.hpp). T: float, double.
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

}  // namespace anybit::kernels
