// Convolution of 8-bit integers, exact: what ConvInteger and QLinearConv share. With constant weights it runs
// on tensors whose channels are last, as matrix products or by a kernel for depthwise ones; everything else
// from the definition.
#pragma once

#include "ops/frame.hpp"

namespace anybit::ops {

// Which inputs are what. QLinearConv: scales are beside their tensors, 6 and 7 are the output's, 8 the bias.
struct IntegerConvInputs {
  std::size_t x, x_zero, w, w_zero;
  bool quantized;  // the sums are requantized; otherwise they are the output, modulo 2^32
};

Result<std::shared_ptr<const Prepared>> prepare_integer_conv(const Setup& setup,
                                                             const IntegerConvInputs& inputs);
Result<void> run_integer_conv(Frame& frame, const IntegerConvInputs& inputs);

}  // namespace anybit::ops
