// Sums, means, variances and normalization of rows of float or double; float uses fast kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/reduce/norm.hpp"
#include "kernels/reduce/reduce.hpp"

namespace anybit::ops {

template <class C>
double row_sum(kernels::Summand what, const C* x, std::int64_t n) {
  if constexpr (std::is_same_v<C, float>) {
    return kernels::row_sum(what, x, static_cast<std::size_t>(n));
  } else {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      sum += what == kernels::Summand::value    ? x[i]
             : what == kernels::Summand::square ? x[i] * x[i]
                                                : std::abs(x[i]);
    }
    return sum;
  }
}

template <class C>
double row_deviation(const C* x, std::int64_t n, double center) {
  if constexpr (std::is_same_v<C, float>) {
    return kernels::row_deviation(x, static_cast<std::size_t>(n), static_cast<float>(center));
  } else {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += (x[i] - center) * (x[i] - center);
    return sum;
  }
}

// Mean and population variance.
template <class C>
kernels::Moments row_moments(const C* x, std::int64_t n) {
  const double mean = row_sum(kernels::Summand::value, x, n) / static_cast<double>(n);
  return {mean, row_deviation(x, n, mean) / static_cast<double>(n)};
}

// y = x · scale + shift
template <class C>
void scale_row(const C* x, std::int64_t n, double scale, double shift, C* y) {
  if constexpr (std::is_same_v<C, float>) {
    kernels::scale_row(x, static_cast<std::size_t>(n), static_cast<float>(scale), static_cast<float>(shift),
                       y);
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
  }
}

// y = (x - mean) · inverse · scale + shift; scale and shift may be null.
template <class C>
void normalize_row(const C* x, std::int64_t n, double mean, double inverse, const C* scale, const C* shift,
                   C* y) {
  if constexpr (std::is_same_v<C, float>) {
    kernels::normalize_row(x, static_cast<std::size_t>(n), static_cast<float>(mean),
                           static_cast<float>(inverse), scale, shift, y);
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      y[i] = (x[i] - mean) * inverse * (scale ? scale[i] : 1) + (shift ? shift[i] : 0);
    }
  }
}

}  // namespace anybit::ops
