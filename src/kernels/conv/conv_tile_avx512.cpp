#include "kernels/conv/conv_tile_avx512.hpp"

#include <hwy/detect_targets.h>

#include <utility>

// Highway's AVX-512 target would compile every kernel once more.
#if HWY_ARCH_X86
#include <immintrin.h>

namespace anybit::kernels {
namespace {

#define ANYBIT_AVX512 __attribute__((target("avx512f")))
// g++ 12 spills accumulators to memory unless each is pinned to a register once per iteration.
#define ANYBIT_PIN_AVX512(vector) asm("" : "+v"(vector))

// The last step of sums. They are read from memory: taking halves of registers, of which only 16 have names
// as halves, would cost moves in the loop above.
ANYBIT_AVX512 void store_results(const ConvTile& tile, int count, int blocks) {
  const __m256 low = _mm256_set1_ps(tile.low), high = _mm256_set1_ps(tile.high);
  const float* const addend = tile.addend;
  for (int b = 0; b < blocks; ++b) {
    const float* sums = tile.sums + b / 2 * kConvTile * 16 + b % 2 * 8;
    for (int p = 0; p < count; ++p) {
      const std::int64_t at = tile.out[p] + b * tile.y_block;
      __m256 one = _mm256_loadu_ps(sums + p * 16);
      if (addend) one = _mm256_add_ps(one, _mm256_loadu_ps(addend + at));
      one = _mm256_min_ps(high, _mm256_max_ps(low, one));  // the second operand if one is NaN
      _mm256_storeu_ps(tile.y + at, one);
    }
  }
}

template <int Count, int Panels>
ANYBIT_AVX512 void multiply_tile(const ConvTile& tile, int blocks) {
  __m512 sum[Count][Panels];
#pragma GCC unroll 12
  for (int p = 0; p < Count; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < Panels; ++v) {
      if (!tile.first) {
        sum[p][v] = _mm512_loadu_ps(tile.sums + (v * kConvTile + p) * 16);
      } else {
        sum[p][v] = tile.bias ? _mm512_loadu_ps(tile.bias + v * 16) : _mm512_setzero_ps();
      }
    }
  }
  const float* w[2] = {tile.w[0], tile.w[1]};
  const float* x = tile.x;
  const std::int64_t run = tile.run;
  for (std::int64_t block = 0; block < tile.blocks; ++block, x += tile.block_stride) {
    const std::int64_t* in = tile.in;
    for (std::int64_t tap = 0; tap < tile.taps; ++tap, in += kConvTile) {
      const float* row[Count];
#pragma GCC unroll 12
      for (int p = 0; p < Count; ++p) row[p] = tile.inside || in[p] >= 0 ? x + in[p] : tile.zeros;
      for (std::int64_t i = 0; i < run; ++i) {
        __m512 weights[Panels];
#pragma GCC unroll 2
        for (int v = 0; v < Panels; ++v) {
          weights[v] = _mm512_loadu_ps(w[v]);
          w[v] += 16;
        }
#pragma GCC unroll 12
        for (int p = 0; p < Count; ++p) {
          const __m512 one = _mm512_set1_ps(row[p][i]);
#pragma GCC unroll 2
          for (int v = 0; v < Panels; ++v) {
            sum[p][v] = _mm512_fmadd_ps(one, weights[v], sum[p][v]);
            ANYBIT_PIN_AVX512(sum[p][v]);
          }
        }
      }
    }
  }
#pragma GCC unroll 12
  for (int p = 0; p < Count; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < Panels; ++v) _mm512_storeu_ps(tile.sums + (v * kConvTile + p) * 16, sum[p][v]);
  }
  if (tile.last) store_results(tile, Count, blocks);
}

using TileFunction = void (*)(const ConvTile&, int);
template <int Panels, int... Counts>
TileFunction tile_function(int count, std::integer_sequence<int, Counts...>) {
  static constexpr TileFunction all[] = {multiply_tile<Counts + 1, Panels>...};
  return all[count - 1];
}

}  // namespace

void conv_tile_avx512(const ConvTile& tile, int count, int blocks) {
  constexpr std::make_integer_sequence<int, kConvTile> kCounts;
  (blocks > 2 ? tile_function<2>(count, kCounts) : tile_function<1>(count, kCounts))(tile, blocks);
}

}  // namespace anybit::kernels

#else

namespace anybit::kernels {

void conv_tile_avx512(const ConvTile&, int, int) {}

}  // namespace anybit::kernels

#endif  // HWY_ARCH_X86
