// Clamps integers to a range.
#pragma once

#include <cstdint>

namespace anybit::kernels {

// out[i] = min(max(x[i], low), high). `out` may be x. T: integers of 8 to 64 bits.
template <class T>
void clamp(const T* x, T* out, std::int64_t n, T low, T high);

}  // namespace anybit::kernels
