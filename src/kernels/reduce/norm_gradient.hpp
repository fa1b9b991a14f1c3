// Sums and steps of the gradients of normalizations and Softmax, over contiguous rows.
#pragma once

#include <cstdint>

namespace anybit::kernels {

struct GradientSums {
  double dy = 0;    // Σ dy
  double dy_x = 0;  // Σ dy · (x - shift)
};

// Adds a row. T: float or double. Sums of floats are exact to about float precision for each 1024 elements.
template <class T>
void add_gradient_sums(const T* dy, const T* x, T shift, std::int64_t n, GradientSums& sums);

// out = a · dy + b · (x - shift) + c
template <class T>
void combine_gradient(const T* dy, const T* x, T shift, T a, T b, T c, std::int64_t n, T* out);

}  // namespace anybit::kernels
