// Rows and blocks of 8 adjacent channels of float32 in the backward pass of normalizations and softmax. Sums
// of a few thousand values are in float, those of the blocks in double; their order depends only on the sizes
// and the CPU's vector length.
#pragma once

#include <cstddef>

namespace anybit::kernels {

inline constexpr std::size_t kEight = 8;

// Σ dy and Σ dy · (x - center).
struct PairSums {
  double plain = 0, weighted = 0;
};
PairSums pair_sums(const float* dy, const float* x, float center, std::size_t n);
// The same for [n][8], added to `sums`.
void pair_sums_of_8(const float* dy, const float* x, const float* center, std::size_t n, PairSums* sums);
// Σ x and Σ (x - center)² of [n][8], added to `sums`.
void sums_of_8(const float* x, std::size_t n, double* sums);
void deviations_of_8(const float* x, const float* center, std::size_t n, double* sums);

// out = a · dy + b · x + c. `out` may be dy or x.
void mix_rows(const float* dy, const float* x, std::size_t n, float a, float b, float c, float* out);
void mix_rows_of_8(const float* dy, const float* x, std::size_t n, const float* a, const float* b,
                   const float* c, float* out);
// out = a · x + c for [n][8].
void scale_rows_of_8(const float* x, std::size_t n, const float* a, const float* c, float* out);

// Of a row y = softmax(x), or its logarithm: dx = y · (dy - Σ dy · y), or dy - e^y · Σ dy. `dx` may be dy or
// y.
void softmax_gradient(const float* dy, const float* y, std::size_t n, bool logarithm, float* dx);

}  // namespace anybit::kernels
