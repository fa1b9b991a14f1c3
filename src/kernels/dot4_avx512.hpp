// Products of unsigned by signed bytes, four at a time, by an instruction that newer x86 CPUs have (AVX-512
// VNNI): unlike the older one for bytes it does not saturate. Sums are exact modulo 2³².
#pragma once

#include <cstdint>

namespace anybit::kernels {

inline constexpr int kDot4Rows = 6, kDot4Panels = 2;  // of a tile, at most

// Rows of bytes, each in `runs` runs that begin `stride` bytes apart. A run is `pairs` pairs long; up to
// three bytes behind it are read, and count for nothing.
struct Dot4Rows {
  const std::uint8_t* const* at;
  std::int64_t runs, pairs, stride;
};

// sums[p][r][c] = Σ a·b for a tile of `rows` rows and `panels` panels of 16 columns. A panel has the runs one
// after another, as WholeRight::narrow keeps them; panels are `panel_stride` bytes apart.
void multiply_dot4(int rows, int panels, const Dot4Rows& a, const std::int8_t* b, std::int64_t panel_stride,
                   std::int32_t (*sums)[kDot4Rows * 16]);

}  // namespace anybit::kernels
