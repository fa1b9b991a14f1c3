// Between the files of integer convolution.
#pragma once

#include "kernels/conv_direct.hpp"
#include "kernels/conv_winograd.hpp"
#include "kernels/gemm.hpp"
#include "ops/integer_conv.hpp"

namespace anybit::ops {

// What an integer convolution needs beside its tensors; by channel where it is a pointer.
struct IntegerConvNumbers {
  std::int32_t x_zero = 0, y_zero = 0;
  const std::int32_t* w_zero = nullptr;
  const std::int32_t* bias = nullptr;
  const float* multiplier = nullptr;
  std::int64_t largest_bias = 0;  // magnitude
};

// Those of a node whose scales, zero points and bias are constants.
struct FixedConvNumbers {
  IntegerConvNumbers numbers;
  ElementType x_type = ElementType::undefined;  // that they are for; undefined: any
  std::vector<std::int32_t> integers;
  std::vector<float> multipliers;
  // The same in the order of the depthwise kernel.
  std::vector<std::int32_t> slot_biases;
  std::vector<float> slot_multipliers;
};

// Weights in the order of the kernels.
struct IntegerConvWeights : Prepared {
  std::vector<kernels::PackedWholes> groups;  // a matrix for each
  bool runs_padded = false;                   // its rows are as kernels::ConvRuns pads them
  std::optional<kernels::WinogradWeights> winograd;
  // Or of a depthwise convolution, as kernels::DepthwiseWhole says, and their sums by slot.
  std::vector<std::int16_t> depthwise;
  std::vector<std::int32_t> depthwise_sums;
  std::optional<FixedConvNumbers> fixed;

  std::int64_t bytes() const override {
    return bytes_of_all(groups) + (winograd ? winograd->bytes() : 0) + std::ssize(depthwise) * 2 +
           std::ssize(depthwise_sums) * 4;
  }
};

std::optional<FixedConvNumbers> fixed_numbers(const Setup& setup, const IntegerConvInputs& inputs,
                                              std::int64_t channels);

bool is_octet(ElementType type);
template <class Body>
void for_octet(ElementType type, const Body& body) {
  if (type == ElementType::uint8) {
    body(std::uint8_t());
  } else {
    body(std::int8_t());
  }
}
// An 8-bit number as it is, whatever its sign.
std::int32_t octet(const Array& array, std::int64_t i);

// Depthwise convolutions with one output for each input channel.
void pack_depthwise(const kernels::ConvSizes& sizes, const IntegerConvInputs& inputs, const Array& w,
                    const std::vector<std::int32_t>& zeros, IntegerConvWeights& weights);
// Whether there is a kernel for it.
bool fits_depthwise(const IntegerConvInputs& inputs, const kernels::ConvSizes& sizes,
                    const IntegerConvNumbers& numbers);
Result<void> run_depthwise(Frame& frame, const kernels::ConvSizes& sizes, const IntegerConvNumbers& numbers,
                           const IntegerConvWeights& weights, const Array& x, Array& out);

// On tensors whose channels are last. False if there is no kernel for it.
Result<bool> run_integer_conv_fast(Frame& frame, const IntegerConvInputs& inputs,
                                   const kernels::ConvSizes& sizes, const IntegerConvNumbers& numbers,
                                   const IntegerConvWeights& weights);

}  // namespace anybit::ops
