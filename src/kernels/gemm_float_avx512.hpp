// Products of float32 in vectors of sixteen, on CPUs that have them (AVX-512): the same fused multiply-adds
// in the same order as narrower vectors do, so the same bits.
#pragma once

#include <cstdint>

namespace anybit::kernels {

inline constexpr int kFloatTileRows = 6;  // of a tile, at most

// Two tiles of C side by side: `rows` rows of A, `stride` floats apart, by two panels of 16 columns and
// `count` rows. Sums lie in rows `sum_stride` apart, those of the second panel `sum_step` behind those of the
// first; they begin at zero, or at what is there.
struct TwoTiles {
  const float* a;
  std::int64_t stride;
  const float* b[2];
  std::int64_t count;
  float* sums;
  std::int64_t sum_stride, sum_step;
  bool from_zero;
};
void multiply_tiles_avx512(int rows, const TwoTiles& tiles);

}  // namespace anybit::kernels
