// Integer convolution of 8 or 16 bits, shared by QLinearConv and ConvInteger.
#pragma once

#include "conv_shape.hpp"
#include "parts.hpp"
#include "quantized.hpp"

namespace anybit::cgen {

struct IntegerConv : ConvShape {
  std::size_t x = 0, w = 0;                    // inputs
  bool quantized = false;                      // otherwise the accumulators are the output
  std::string x_zero = "0";                    // an expression, which may read a run-time value
  std::optional<std::int64_t> known_zero = 0;  // its value, if constant
  std::int64_t padding = 0;                    // the padding value minus the zero point
  std::int64_t y_zero = 0;
  // Per output channel.
  std::vector<std::int32_t> w_zero = {}, bias = {};
  std::vector<float> factors = {};
  bool wide = false;                     // accumulators may exceed 32 bits
  bool narrow = true;                    // inputs and weights minus zero points fit 16 bits
  std::int64_t largest_sum = 0;          // of any channel, without bias
  std::optional<Parts> parts = Parts{};  // parts of the inputs whose sums fit 32 bits; empty: none
};

// Direct: small and slow.
void emit_direct_conv(Node& node, const IntegerConv& conv);
// Tiled: two spatial axes, constant 16-bit weights, 32-bit accumulators or inputs in parts.
void emit_tiled_conv(Node& node, const IntegerConv& conv);
// Depthwise: groups of one channel.
void emit_depthwise_conv(Node& node, const IntegerConv& conv);

}  // namespace anybit::cgen
