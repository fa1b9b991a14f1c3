// Exact depthwise convolution of 8-bit and 16-bit integers. Channels-last.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/conv/conv_direct.hpp"
#include "kernels/gemm/gemm.hpp"

namespace anybit::kernels {

// The kernel takes channels in blocks of 16. If channels are no multiple of 16, the last block starts
// earlier, and some channels are in two blocks. A block has a slot for each channel, in the order of the
// kernel's vector lanes.
struct DepthwiseBlocks {
  static constexpr std::int64_t kBlock = 16;
  std::int64_t channels;

  std::int64_t count() const { return (channels + kBlock - 1) / kBlock; }
  std::int64_t slots() const { return count() * kBlock; }
  std::int64_t start(std::int64_t block) const {
    return std::min(block * kBlock, std::max<std::int64_t>(channels - kBlock, 0));
  }
  // Swaps the second and third group of four in a block. It is its own inverse.
  static std::int64_t turned(std::int64_t place) {
    const std::int64_t four = place / 4;
    return (four == 1 ? 2 : four == 2 ? 1 : four) * 4 + place % 4;
  }
  // Adjacent outputs in one block: with few channels, the channels are repeated.
  std::int64_t outputs() const { return channels < kBlock && kBlock % channels == 0 ? kBlock / channels : 1; }
  // May be past the last channel if there are fewer than 16.
  std::int64_t channel(std::int64_t slot) const {
    const std::int64_t place = turned(slot % kBlock);
    return start(slot / kBlock) + (outputs() > 1 ? place % channels : place);
  }
  std::int64_t slot(std::int64_t channel) const {
    const std::int64_t block = channel / kBlock;
    return block * kBlock + turned(channel - start(block));
  }
};

struct IntegerDepthwise {
  const ConvSizes& sizes;
  // [block][ceil(taps / 2)][slot][2], zero points subtracted; zero past the last tap and channel.
  const std::int16_t* weights;
  // By slot, minus left_zero() · sum of the slot's weights, modulo 2³².
  const std::int32_t* bias;
  const float* multiplier;  // by slot, for all results but int32
  const float* addend;      // by slot, for float32 results
  IntegerType x_type;
  IntegerResult result;  // for 16-bit x, an 8-bit or 16-bit integer type
  std::int32_t x_zero, y_zero;
  const void* x;
  void* y;
  // For 16-bit x, and weights or sums too large for int16 multiplication: a weight is split as `weights` +
  // 256 · `upper`. This bias, which is exact, then replaces `bias`.
  const std::int16_t* upper = nullptr;
  const double* wide_bias = nullptr;

  static constexpr std::int64_t kMostTaps = 256, kMostTapsOfTwoParts = 255;

  // The part of x's zero point that remains when x is made signed: the kernel subtracts 2¹⁵ from uint16.
  std::int32_t left_zero() const { return x_type == IntegerType::uint16 ? x_zero - 32768 : x_zero; }
  // The two parts of a weight. A sum of kMostTapsOfTwoParts terms fits 32 bits for each part.
  static std::int32_t lower_part(std::int32_t weight) { return ((weight + 128) & 255) - 128; }
  static std::int32_t upper_part(std::int32_t weight) { return (weight - lower_part(weight)) / 256; }
};

// Output rows [first, last) of batch · depth · height. Each sum with its true bias fits 32 bits, unless
// weights have two parts.
void depthwise_integer(const IntegerDepthwise& work, std::int64_t first, std::int64_t last);

}  // namespace anybit::kernels
