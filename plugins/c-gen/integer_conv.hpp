// Convolution of integers of 8 or 16 bits: what QLinearConv and ConvInteger share.
#pragma once

#include "conv_shape.hpp"
#include "parts.hpp"
#include "quantized.hpp"

namespace anybit::cgen {

struct IntegerConv : ConvShape {
  std::size_t x = 0, w = 0;                    // inputs
  bool quantized = false;                      // else the sums are the output
  std::string x_zero = "0";                    // an expression: it may be known only when the model runs
  std::optional<std::int64_t> known_zero = 0;  // the same, if it is known
  std::int64_t padding = 0;                    // what the padding has, less the zero point
  std::int64_t y_zero = 0;
  // By output channel.
  std::vector<std::int32_t> w_zero = {}, bias = {};
  std::vector<float> factors = {};
  bool wide = false;             // sums may be beyond 32 bits
  bool narrow = true;            // what is multiplied has 16 bits: inputs and weights less their zero points
  std::int64_t largest_sum = 0;  // of any channel, without its bias
  std::optional<Parts> parts =
      Parts{};  // of the inputs, by which sums are made in 32 bits; nothing: there are none
};

// From the definition: small, and slow.
void emit_direct_conv(Node& node, const IntegerConv& conv);
// Two spatial axes, constant weights of 16 bits, sums of 32 bits or inputs in parts.
void emit_tiled_conv(Node& node, const IntegerConv& conv);
// The same for groups of one channel.
void emit_depthwise_conv(Node& node, const IntegerConv& conv);

}  // namespace anybit::cgen
