// Between the files of integer convolution.
#pragma once

#include "kernels/conv_direct.hpp"
#include "kernels/gemm.hpp"
#include "ops/integer_conv.hpp"

namespace anybit::ops {

// What an integer convolution needs beside its tensors; by channel where it is a pointer.
struct IntegerConvNumbers {
  std::int32_t x_zero = 0, y_zero = 0;
  std::int32_t* w_zero = nullptr;
  std::int32_t* bias = nullptr;
  float* multiplier = nullptr;
  std::int64_t largest_bias = 0;  // magnitude
};

// Weights in the order of the kernels.
struct IntegerConvWeights : Prepared {
  std::vector<kernels::PackedWholes> groups;  // a matrix for each
  std::vector<float> depthwise;               // or [taps][channels], less their zero points
};

bool is_octet(ElementType type);
// An 8-bit number as it is, whatever its sign.
std::int32_t octet(const Array& array, std::int64_t i);

// On tensors whose channels are last. False if there is no kernel for it.
Result<bool> run_integer_conv_fast(Frame& frame, const IntegerConvInputs& inputs,
                                   const kernels::ConvSizes& sizes, const IntegerConvNumbers& numbers,
                                   const IntegerConvWeights& weights);

}  // namespace anybit::ops
