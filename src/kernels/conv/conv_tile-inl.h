// Tiles of float convolution for each SIMD target, and the choice between them and AVX-512's.
#if defined(ANYBIT_KERNELS_CONV_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_CONV_TILE_INL_H_
#undef ANYBIT_KERNELS_CONV_TILE_INL_H_
#else
#define ANYBIT_KERNELS_CONV_TILE_INL_H_
#endif

#include <utility>

#include "kernels/conv/conv_tile.hpp"
#include "kernels/conv/conv_tile_avx512.hpp"
#include "kernels/gemm/gemm_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

using D8 = hn::CappedTag<float, 8>;  // vectors of a block of 8 channels
using V8 = hn::Vec<D8>;
inline constexpr int kLanes8 = static_cast<int>(hn::MaxLanes(D8()));
inline constexpr int kVectors8 = 8 / kLanes8;  // of a block

// NaN stays, and so does the sign of zero.
HWY_INLINE V8 Clamped(V8 x, V8 low, V8 high) {
#if HWY_ARCH_X86
  return hn::Min(high, hn::Max(low, x));  // the second operand if one is NaN, or if both are zero
#else
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Lt(high, x), high, x);
#endif
}

// Adds the terms of `Count` positions from `first` on to `Vectors` vectors of each.
template <int Count, int Vectors>
HWY_INLINE void AddTerms(const ConvTile& tile, int first, V8 (&sum)[Count][Vectors]) {
  const D8 d;
  const float *w = tile.w[0], *x = tile.x;
  const std::int64_t run = tile.run;
  for (std::int64_t block = 0; block < tile.blocks; ++block, x += tile.block_stride) {
    const std::int64_t* in = tile.in + first;
    for (std::int64_t tap = 0; tap < tile.taps; ++tap, in += kConvTile) {
      const float* row[Count];
      HWY_UNROLL(12)
      for (int p = 0; p < Count; ++p) row[p] = tile.inside || in[p] >= 0 ? x + in[p] : tile.zeros;
      for (std::int64_t i = 0; i < run; ++i, w += 16) {
        V8 weights[Vectors];
        HWY_UNROLL(4)
        for (int v = 0; v < Vectors; ++v) weights[v] = hn::LoadU(d, w + v * kLanes8);
        HWY_UNROLL(12)
        for (int p = 0; p < Count; ++p) {
          const V8 one = hn::Set(d, row[p][i]);
          HWY_UNROLL(4)
          for (int v = 0; v < Vectors; ++v) {
            sum[p][v] = hn::MulAdd(one, weights[v], sum[p][v]);
            ANYBIT_PIN(sum[p][v]);
          }
        }
      }
    }
  }
}

// The last step of a sum. Fields are copied: the compiler would load them again after each store.
template <int Count, int Vectors>
HWY_INLINE void StoreResults(const ConvTile& tile, int first, const V8 (&sum)[Count][Vectors]) {
  const D8 d;
  const V8 low = hn::Set(d, tile.low), high = hn::Set(d, tile.high);
  float* const y = tile.y;
  const float* const addend = tile.addend;
  const std::int64_t* const out = tile.out + first;
  const std::int64_t block = tile.y_block;
  HWY_UNROLL(12)
  for (int p = 0; p < Count; ++p) {
    HWY_UNROLL(4)
    for (int v = 0; v < Vectors; ++v) {
      const std::int64_t at = out[p] + v / kVectors8 * block + v % kVectors8 * kLanes8;
      const V8 one = addend ? hn::Add(sum[p][v], hn::LoadU(d, addend + at)) : sum[p][v];
      hn::StoreU(Clamped(one, low, high), d, y + at);
    }
  }
}

// `Count` positions from `first` on by `Blocks` blocks of 8 output channels.
template <int Count, int Blocks>
HWY_NOINLINE void MultiplyTile(const ConvTile& tile, int first) {
  const D8 d;
  constexpr int kWidth = Blocks * kVectors8;
  V8 sum[Count][kWidth];
  HWY_UNROLL(12)
  for (int p = 0; p < Count; ++p) {
    HWY_UNROLL(4)
    for (int v = 0; v < kWidth; ++v) {
      if (!tile.first) {
        sum[p][v] = hn::LoadU(d, tile.sums + (first + p) * 16 + v * kLanes8);
      } else {
        sum[p][v] = tile.bias ? hn::LoadU(d, tile.bias + v * kLanes8) : hn::Zero(d);
      }
    }
  }
  AddTerms<Count, kWidth>(tile, first, sum);
  if (tile.last) return StoreResults<Count, kWidth>(tile, first, sum);
  HWY_UNROLL(12)
  for (int p = 0; p < Count; ++p) {
    HWY_UNROLL(4)
    for (int v = 0; v < kWidth; ++v) hn::StoreU(sum[p][v], d, tile.sums + (first + p) * 16 + v * kLanes8);
  }
}

using TilePart = void (*)(const ConvTile&, int);
template <int Blocks, int... Counts>
HWY_INLINE TilePart TilePartOf(int count, std::integer_sequence<int, Counts...>) {
  static constexpr TilePart all[] = {MultiplyTile<Counts + 1, Blocks>...};
  return all[count - 1];
}

// One panel at a time, in parts of as many positions as the registers allow.
struct NarrowTiles {
  static constexpr int kPanels = 1;
  template <int Blocks>
  static HWY_INLINE void RunParts(const ConvTile& tile, int count) {
    constexpr int kMost = std::min(kTileRows * 2 / Blocks, kConvTile);
    const int parts = (count + kMost - 1) / kMost;
    for (int i = 0, first = 0; i < parts; ++i) {
      const int size = (count - first + parts - i - 1) / (parts - i);
      TilePartOf<Blocks>(size, std::make_integer_sequence<int, kMost>())(tile, first);
      first += size;
    }
  }
  static HWY_INLINE void Run(const ConvTile& tile, int count, int blocks) {
    blocks == 1 ? RunParts<1>(tile, count) : RunParts<2>(tile, count);
  }
};

struct WideTiles {
  static constexpr int kPanels = 2;
  static HWY_INLINE void Run(const ConvTile& tile, int count, int blocks) {
    conv_tile_avx512(tile, count, blocks);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
