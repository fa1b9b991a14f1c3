// Softmax of float32 rows and columns; x and y may be the same memory.
#pragma once

#include <cstddef>

namespace anybit::kernels {

// y = e^x / Σ e^x for each row of n; `log`: the logarithm of that.
void softmax_rows(const float* x, std::size_t rows, std::size_t n, bool log, float* y);
// The same for the columns of a matrix of n rows that are `stride` apart.
void softmax_columns(const float* x, std::size_t n, std::size_t stride, std::size_t columns, bool log,
                     float* y);

}  // namespace anybit::kernels
