// Depthwise convolution of 8-bit integers, exact, requantized. Channels are last.
#pragma once

#include <cstdint>

#include "kernels/conv_direct.hpp"

namespace anybit::kernels {

// Weights and what becomes of the sums, by channel.
struct DepthwiseWhole {
  const float* weights;  // [taps][channels], less their zero points
  const std::int32_t* bias;
  const float* multiplier;

  // Sums of so many products of 8-bit numbers are exact in float32.
  static constexpr std::int64_t kMostTaps = 256;
  static constexpr std::int64_t kFewestChannels = 16;  // those of the widest vectors
};

struct DepthwiseOutput {
  std::int32_t zero_point = 0, low = 0, high = 0;  // low and high are codes
};

// Output rows [first, last) of batch · depth · height. X and Y: std::int8_t, std::uint8_t.
template <class X, class Y>
void depthwise_whole(const ConvSizes& sizes, const DepthwiseWhole& channels, std::int32_t x_zero,
                     const DepthwiseOutput& output, const X* x, std::int64_t first, std::int64_t last, Y* y);

}  // namespace anybit::kernels
