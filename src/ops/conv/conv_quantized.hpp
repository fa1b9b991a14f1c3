// Exact convolution of 8- or 16-bit integers: shared by ConvInteger, ConvIntegerToFloat and QLinearConv. With
// constant weights it runs on channels-last tensors, as integer GEMM or by a depthwise kernel; otherwise as
// direct loops.
#pragma once

#include "ops/frame.hpp"

namespace anybit::ops {

// The output stage, applied to the integer sums.
enum class ConvResult : std::uint8_t {
  sums,       // the output, modulo 2^32
  reals,      // float(sum) · scale of x · scale of w + bias, in float32
  quantized,  // requantized; inputs 6 and 7 are the output's scale and zero point
};

// Input indices. For `sums` there are neither scales nor bias.
struct IntegerConvInputs {
  std::size_t x, x_zero, w, w_zero;
  ConvResult result;
  std::size_t x_scale = 0, w_scale = 0, bias = 0;
  bool wide = false;  // tensors may have 16 bits
};
// As in ONNX's QLinearConv.
inline constexpr IntegerConvInputs kQLinearConvInputs{.x = 0,
                                                      .x_zero = 2,
                                                      .w = 3,
                                                      .w_zero = 5,
                                                      .result = ConvResult::quantized,
                                                      .x_scale = 1,
                                                      .w_scale = 4,
                                                      .bias = 8};
// The same for tensors of up to 16 bits.
inline constexpr IntegerConvInputs kQLinearConv16Inputs = [] {
  IntegerConvInputs inputs = kQLinearConvInputs;
  inputs.wide = true;
  return inputs;
}();

Result<std::shared_ptr<const Prepared>> prepare_integer_conv(const Setup& setup,
                                                             const IntegerConvInputs& inputs);
// The output, in any layout.
Result<Array*> run_integer_conv(Frame& frame, const IntegerConvInputs& inputs);

}  // namespace anybit::ops
