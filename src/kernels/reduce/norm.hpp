// Normalization of float32 rows. Pointers to scales and shifts may be null; x and y may be the same memory.
#pragma once

#include <cstddef>

namespace anybit::kernels {

struct Moments {
  double mean = 0, variance = 0;
};

// y = (x - mean) · inverse · scale + shift
void normalize_row(const float* x, std::size_t n, float mean, float inverse, const float* scale,
                   const float* shift, float* y);
// y = x · scale + shift, with one scale for the row
void scale_row(const float* x, std::size_t n, float scale, float shift, float* y);
// y += x
void add_row(const float* x, std::size_t n, float* y);

}  // namespace anybit::kernels
