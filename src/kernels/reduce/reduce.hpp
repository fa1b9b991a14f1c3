// Sums and extremes of float32 rows and columns. The order of additions depends only on the sizes and the
// CPU's vector length.
#pragma once

#include <cstddef>

namespace anybit::kernels {

// The function that is summed.
enum class Summand { value, magnitude, square };

// Blocks of a few thousand values are summed in float, the blocks in double.
double row_sum(Summand what, const float* x, std::size_t n);
// Σ (x - center)²
double row_deviation(const float* x, std::size_t n, float center);
// NaN if any value is; ∓infinity if n is 0.
float row_max(const float* x, std::size_t n);
float row_min(const float* x, std::size_t n);

// For a matrix whose rows are `stride` apart: one result per column.
void column_sums(Summand what, const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                 double* sums);
void column_max(const float* x, std::size_t rows, std::size_t stride, std::size_t columns, float* largest);
void column_min(const float* x, std::size_t rows, std::size_t stride, std::size_t columns, float* smallest);

}  // namespace anybit::kernels
