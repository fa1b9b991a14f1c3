// The micro-kernel's view of a float convolution: a tile of adjacent output positions by up to two panels of
// 16 output channels, summed in registers. Direct convolution and Winograd's products are made of these
// tiles.
#pragma once

#include <cstdint>

namespace anybit::kernels {

inline constexpr int kConvTile = 12;  // most output positions of a tile

// Sums run over `blocks` blocks of input channels, each over `taps` taps, each over `run` adjacent inputs, in
// this order. Weights are in the same order, in rows of 16 output channels.
struct ConvTile {
  const float* x = nullptr;       // the first block
  std::int64_t block_stride = 0;  // floats between blocks of x
  const std::int64_t* in =
      nullptr;                   // [taps][kConvTile]: where a position's inputs start; negative: all zeros
  const float* zeros = nullptr;  // `run` zeros
  bool inside = true;            // no element of `in` is negative
  std::int64_t blocks = 1, taps = 1, run = 8;
  const float* w[2] = {};          // panels
  const float* bias = nullptr;     // 16 for each panel; null: zeros
  float* sums = nullptr;           // [panels][kConvTile][16]; results if not `last`
  bool first = true, last = true;  // sums start at the bias; sums are results
  // Results: y[out[position] + block · y_block] is the first of 8 channels. For the last part of a sum only.
  float* y = nullptr;
  const float* addend = nullptr;  // like y, and may be y; null: none
  std::int64_t y_block = 0;
  const std::int64_t* out = nullptr;
  float low = 0, high = 0;  // then clamped; NaN stays
};

}  // namespace anybit::kernels
