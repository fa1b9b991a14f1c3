#include "kernels/elementwise/clamp.hpp"

#include <algorithm>

namespace anybit::kernels {

// Compilers vectorize it.
template <class T>
void clamp(const T* x, T* out, std::int64_t n, T low, T high) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = std::min(std::max(x[i], low), high);
}

template void clamp(const std::int8_t*, std::int8_t*, std::int64_t, std::int8_t, std::int8_t);
template void clamp(const std::uint8_t*, std::uint8_t*, std::int64_t, std::uint8_t, std::uint8_t);
template void clamp(const std::int16_t*, std::int16_t*, std::int64_t, std::int16_t, std::int16_t);
template void clamp(const std::uint16_t*, std::uint16_t*, std::int64_t, std::uint16_t, std::uint16_t);
template void clamp(const std::int32_t*, std::int32_t*, std::int64_t, std::int32_t, std::int32_t);
template void clamp(const std::uint32_t*, std::uint32_t*, std::int64_t, std::uint32_t, std::uint32_t);
template void clamp(const std::int64_t*, std::int64_t*, std::int64_t, std::int64_t, std::int64_t);
template void clamp(const std::uint64_t*, std::uint64_t*, std::int64_t, std::uint64_t, std::uint64_t);

}  // namespace anybit::kernels
