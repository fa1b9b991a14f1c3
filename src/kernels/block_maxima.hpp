// The largest magnitudes of blocks, from which their parameters are chosen.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/group_kernel.hpp"

namespace anybit::kernels {

// Of each block, as the bits of a float; infinities and NaNs come out as such. Block g's goes to
// maxima[g · shape.stride].
void block_maxima(const Groups& shape, const float* x, std::uint32_t* maxima);

// Calls choose(block, its largest magnitude's bits) for every block, a few at a time.
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
