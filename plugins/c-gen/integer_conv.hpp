// Convolution of 8-bit integers: what QLinearConv and ConvInteger share.
#pragma once

#include "quantized.hpp"
#include "window.hpp"

namespace anybit::cgen {

struct IntegerConv {
  std::size_t x = 0, w = 0;  // inputs
  bool quantized = false;    // else the sums are the output
  std::int64_t batch = 1, groups = 1;
  std::int64_t channels = 1, outputs = 1;  // of a group
  Window space = {};                       // three axes; those that the tensors lack have size 1
  std::string x_zero = "0";                // an expression: it may be known only when the model runs
  std::int64_t y_zero = 0;
  // By output channel.
  std::vector<std::int32_t> w_zero = {}, bias = {};
  std::vector<float> factors = {};
  bool wide = false;             // sums may be beyond 32 bits
  std::int64_t largest_sum = 0;  // of any channel, without its bias

  std::int64_t taps() const { return space[0].kernel * space[1].kernel * space[2].kernel; }
  std::int64_t depth() const { return channels * taps(); }
  std::int64_t inputs_of_plane() const { return space[0].input * space[1].input * space[2].input; }
  std::int64_t outputs_of_plane() const { return space[0].output * space[1].output * space[2].output; }
  bool flat() const { return space[0].kernel == 1 && space[0].input == 1 && space[0].output == 1; }
};

// From the definition: small, and slow.
void emit_direct_conv(Node& node, const IntegerConv& conv);
// Two spatial axes, constant weights, sums of 32 bits.
void emit_tiled_conv(Node& node, const IntegerConv& conv);
// The same for groups of one channel.
void emit_depthwise_conv(Node& node, const IntegerConv& conv);

}  // namespace anybit::cgen
