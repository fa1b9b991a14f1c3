// Depthwise convolution of integers of 8 or 16 bits, exact. Channels are last.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/conv_direct.hpp"
#include "kernels/gemm.hpp"

namespace anybit::kernels {

// The kernel takes channels in blocks of 16. The last block begins earlier where channels are no multiple of
// that: some channels are then in two blocks. A block has a slot for each channel, in the order in which the
// kernel's vectors hold them.
struct DepthwiseBlocks {
  static constexpr std::int64_t kBlock = 16;
  std::int64_t channels;

  std::int64_t count() const { return (channels + kBlock - 1) / kBlock; }
  std::int64_t slots() const { return count() * kBlock; }
  std::int64_t start(std::int64_t block) const {
    return std::min(block * kBlock, std::max<std::int64_t>(channels - kBlock, 0));
  }
  // The second and the third of a block's four fours change places, there and back.
  static std::int64_t turned(std::int64_t place) {
    const std::int64_t four = place / 4;
    return (four == 1 ? 2 : four == 2 ? 1 : four) * 4 + place % 4;
  }
  // Outputs beside each other that make one block: few channels repeat themselves in it.
  std::int64_t outputs() const { return channels < kBlock && kBlock % channels == 0 ? kBlock / channels : 1; }
  // May be beyond the last channel if there are fewer than 16.
  std::int64_t channel(std::int64_t slot) const {
    const std::int64_t place = turned(slot % kBlock);
    return start(slot / kBlock) + (outputs() > 1 ? place % channels : place);
  }
  std::int64_t slot(std::int64_t channel) const {
    const std::int64_t block = channel / kBlock;
    return block * kBlock + turned(channel - start(block));
  }
};

struct DepthwiseWhole {
  const ConvSizes& sizes;
  // [block][ceil(taps / 2)][slot][2], less their zero points; zero beyond the last tap and channel.
  const std::int16_t* weights;
  // By slot, less left_zero() · the sum of the slot's weights, modulo 2³².
  const std::int32_t* bias;
  const float* multiplier;  // by slot, of real results and codes
  const float* addend;      // by slot, of real results
  Whole x_type;
  WholeResult result;  // of x of 16 bits, codes
  std::int32_t x_zero, y_zero;
  const void* x;
  void* y;
  // For x of 16 bits and weights or sums that are too large for one part: a weight is its lower part, which
  // is `weights`, and 256 times its upper one. The bias is this one instead, exact.
  const std::int16_t* upper = nullptr;
  const double* wide_bias = nullptr;

  static constexpr std::int64_t kMostTaps = 256, kMostTapsOfTwoParts = 255;

  // What is left of x's zero point when x is a signed number: the kernel takes 2¹⁵ off uint16.
  std::int32_t left_zero() const { return x_type == Whole::uint16 ? x_zero - 32768 : x_zero; }
  // Parts of a weight: those of a sum of kMostTapsOfTwoParts products fit 32 bits each.
  static std::int32_t lower_part(std::int32_t weight) { return ((weight + 128) & 255) - 128; }
  static std::int32_t upper_part(std::int32_t weight) { return (weight - lower_part(weight)) / 256; }
};

// Output rows [first, last) of batch · depth · height. Each sum, with its true bias, fits 32 bits, or weights
// have two parts.
void depthwise_whole(const DepthwiseWhole& work, std::int64_t first, std::int64_t last);

}  // namespace anybit::kernels
