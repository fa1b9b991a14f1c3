// Sums and extremes of float32 rows and columns. The order of additions depends on the sizes and the CPU's
// vectors alone.
#pragma once

#include <cstddef>

namespace anybit::kernels {

// What is added up.
enum class Summand { value, magnitude, square };

// Partial sums of a few thousand floats are floats, their sum is a double.
double row_sum(Summand what, const float* x, std::size_t n);
// Σ (x - center)²
double row_deviation(const float* x, std::size_t n, float center);
// NaN if one of them is; ∓infinity of nothing.
float row_max(const float* x, std::size_t n);
float row_min(const float* x, std::size_t n);

// For a matrix of which the rows are `stride` apart: one result for each column.
void column_sums(Summand what, const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                 double* sums);
void column_max(const float* x, std::size_t rows, std::size_t stride, std::size_t columns, float* largest);
void column_min(const float* x, std::size_t rows, std::size_t stride, std::size_t columns, float* smallest);

}  // namespace anybit::kernels
