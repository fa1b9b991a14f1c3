// The largest magnitude of each block, from which block parameters are chosen.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/codec/group_kernel.hpp"

namespace anybit::kernels {

// Results are float32 bit patterns, so that infinities and NaNs stay visible. Block g goes to maxima[g ·
// shape.stride].
void block_maxima(const Groups& shape, const float* x, std::uint32_t* maxima);

// Calls choose(block, bits of its largest magnitude) for every block; maxima are computed for many blocks at
// once.
template <class Choose>
void with_block_maxima(const Groups& shape, const float* x, const Choose& choose) {
  constexpr std::size_t kAtOnce = 256;
  std::array<std::uint32_t, kAtOnce> maxima;
  for (std::size_t first = 0; first < shape.groups; first += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, shape.groups - first);
    block_maxima({shape.size, n, 1}, x + first * shape.size, maxima.data());
    for (std::size_t i = 0; i < n; ++i) choose(first + i, maxima[i]);
  }
}

}  // namespace anybit::kernels
