// Unsigned by signed byte dot products of four elements (VNNI dot4, vpdpbusd): unlike vpmaddubsw it does not
// saturate. Sums are exact modulo 2³².
#pragma once

#include <cstdint>

namespace anybit::kernels {

inline constexpr int kDot4Rows = 6, kDot4Panels = 2;  // maximal tile

// Rows of bytes. Each has `runs` runs that start `stride` bytes apart; a run is `pairs` pairs long. Up to
// three bytes past a run are read and ignored.
struct Dot4Rows {
  const std::uint8_t* const* at;
  std::int64_t runs, pairs, stride;
};

// sums[p][r][c] = Σ a·b for a tile of `rows` rows and `panels` panels of 16 columns. A panel holds the runs
// one after another, in the layout of IntegerRhs::narrow; panels are `panel_stride` bytes apart.
void multiply_dot4(int rows, int panels, const Dot4Rows& a, const std::int8_t* b, std::int64_t panel_stride,
                   std::int32_t (*sums)[kDot4Rows * 16]);

}  // namespace anybit::kernels
