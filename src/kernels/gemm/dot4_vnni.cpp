#include "kernels/gemm/dot4_vnni.hpp"

#include <hwy/detect_targets.h>

#include <cstring>

// Highway 1.0 has no function for vpdpbusd, and its target for such CPUs does not use it.
#if HWY_ARCH_X86
#include <immintrin.h>

namespace anybit::kernels {
namespace {

#define ANYBIT_DOT4 __attribute__((target("avx512f,avx512bw,avx512vnni")))

constexpr std::int64_t kAhead = 1024;  // prefetch distance, in bytes of a panel

// Interleaves two pairs of rows, [2][16][2], to [16][4].
alignas(64) constexpr std::uint16_t kInterleaved[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                        21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                        11, 27, 12, 28, 13, 29, 14, 30, 15, 31};

template <int Rows, int Panels>
ANYBIT_DOT4 inline void add_dot4(const std::uint8_t* const (&at)[Rows], std::int64_t k,
                                 const __m512i (&columns)[Panels], __m512i (&sums)[Rows][Panels]) {
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
    std::int32_t dot4_group;
    std::memcpy(&dot4_group, at[r] + k, sizeof(dot4_group));
    const __m512i x = _mm512_set1_epi32(dot4_group);
#pragma GCC unroll 2
    for (int p = 0; p < Panels; ++p) sums[r][p] = _mm512_dpbusd_epi32(sums[r][p], x, columns[p]);
  }
}

template <int Rows, int Panels>
ANYBIT_DOT4 void tile(const Dot4Rows& a, const std::int8_t* b, std::int64_t panel_stride,
                      std::int32_t (*to)[kDot4Rows * 16]) {
  const __m512i interleaved = _mm512_load_si512(kInterleaved);
  const std::uint8_t* at[Rows];
  __m512i sums[Rows][Panels], columns[Panels];
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
    at[r] = a.at[r];
#pragma GCC unroll 2
    for (int p = 0; p < Panels; ++p) sums[r][p] = _mm512_setzero_si512();
  }
  for (std::int64_t run = 0; run < a.runs; ++run) {
    const std::int64_t begin = run * a.stride, end = begin + a.pairs / 2 * 4;
    for (std::int64_t k = begin; k < end; k += 4, b += 64) {
#pragma GCC unroll 2
      for (int p = 0; p < Panels; ++p) {
        const std::int8_t* panel = b + p * panel_stride;
        __builtin_prefetch(panel + kAhead);
        columns[p] = _mm512_permutexvar_epi16(interleaved, _mm512_loadu_si512(panel));
      }
      add_dot4<Rows, Panels>(at, k, columns, sums);
    }
    if (a.pairs % 2 == 0) continue;
#pragma GCC unroll 2
    for (int p = 0; p < Panels; ++p) {
      const __m256i last = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + p * panel_stride));
      columns[p] = _mm512_permutexvar_epi16(interleaved, _mm512_zextsi256_si512(last));
    }
    add_dot4<Rows, Panels>(at, end, columns, sums);
    b += 32;
  }
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int p = 0; p < Panels; ++p) _mm512_storeu_si512(to[p] + r * 16, sums[r][p]);
  }
}

}  // namespace

void multiply_dot4(int rows, int panels, const Dot4Rows& a, const std::int8_t* b, std::int64_t panel_stride,
                   std::int32_t (*sums)[kDot4Rows * 16]) {
  using Tile = void (*)(const Dot4Rows&, const std::int8_t*, std::int64_t, std::int32_t(*)[kDot4Rows * 16]);
  static constexpr Tile all[kDot4Panels][kDot4Rows] = {
      {tile<1, 1>, tile<2, 1>, tile<3, 1>, tile<4, 1>, tile<5, 1>, tile<6, 1>},
      {tile<1, 2>, tile<2, 2>, tile<3, 2>, tile<4, 2>, tile<5, 2>, tile<6, 2>}};
  all[panels - 1][rows - 1](a, b, panel_stride, sums);
}

}  // namespace anybit::kernels

#else

namespace anybit::kernels {

void multiply_dot4(int, int, const Dot4Rows&, const std::int8_t*, std::int64_t,
                   std::int32_t (*)[kDot4Rows * 16]) {}

}  // namespace anybit::kernels

#endif
