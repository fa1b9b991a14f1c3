#include "kernels/reduce/norm_gradient.hpp"

#include <algorithm>

namespace anybit::kernels {
namespace {

constexpr std::int64_t kTogether = 1024;  // elements summed in T before the sum is widened
constexpr std::int64_t kLanes = 8;        // compilers vectorize sums in independent lanes

}  // namespace

template <class T>
void add_gradient_sums(const T* dy, const T* x, T shift, std::int64_t n, GradientSums& sums) {
  for (std::int64_t begin = 0; begin < n; begin += kTogether) {
    const std::int64_t end = std::min(begin + kTogether, n);
    T first[kLanes] = {}, second[kLanes] = {};
    std::int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (std::int64_t k = 0; k < kLanes; ++k) {
        first[k] += dy[i + k];
        second[k] += dy[i + k] * (x[i + k] - shift);
      }
    }
    for (; i < end; ++i) {
      first[0] += dy[i];
      second[0] += dy[i] * (x[i] - shift);
    }
    for (std::int64_t k = 0; k < kLanes; ++k) {
      sums.dy += static_cast<double>(first[k]);
      sums.dy_x += static_cast<double>(second[k]);
    }
  }
}

template <class T>
void combine_gradient(const T* dy, const T* x, T shift, T a, T b, T c, std::int64_t n, T* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = a * dy[i] + b * (x[i] - shift) + c;
}

template void add_gradient_sums(const float*, const float*, float, std::int64_t, GradientSums&);
template void add_gradient_sums(const double*, const double*, double, std::int64_t, GradientSums&);
template void combine_gradient(const float*, const float*, float, float, float, float, std::int64_t, float*);
template void combine_gradient(const double*, const double*, double, double, double, double, std::int64_t,
                               double*);

}  // namespace anybit::kernels
