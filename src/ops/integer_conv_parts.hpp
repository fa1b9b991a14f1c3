// Between the files of integer convolution.
#pragma once

#include "kernels/conv_direct.hpp"
#include "kernels/conv_winograd.hpp"
#include "kernels/gemm.hpp"
#include "ops/integer_conv.hpp"
#include "ops/quantization.hpp"

namespace anybit::ops {

// What an integer convolution needs beside its tensors; by channel where it is a pointer.
struct IntegerConvNumbers {
  std::int32_t x_zero = 0, y_zero = 0;
  const std::int32_t* w_zero = nullptr;
  const std::int32_t* bias = nullptr;  // of codes
  const float* multiplier = nullptr;   // of codes and reals
  const float* addend = nullptr;       // of reals; null if there is none
  std::int64_t largest_bias = 0;       // magnitude
};

// Those of a node whose scales, zero points and bias are constants.
struct FixedConvNumbers {
  IntegerConvNumbers numbers;
  ElementType x_type = ElementType::undefined;  // that they are for; undefined: any
  std::vector<std::int32_t> integers;
  std::vector<float> multipliers;
  // The same in the order of the depthwise kernel.
  std::vector<std::int32_t> slot_biases;
  std::vector<double> slot_wide_biases;
  std::vector<float> slot_multipliers;
};

// Weights in the order of the kernels.
struct IntegerConvWeights : Prepared {
  std::vector<kernels::PackedWholes> groups;  // a matrix for each
  bool runs_padded = false;                   // its rows are as kernels::ConvRuns pads them
  std::optional<kernels::WinogradWeights> winograd;
  // Or of a depthwise convolution, as kernels::DepthwiseWhole says, and their sums by slot.
  std::vector<std::int16_t> depthwise, depthwise_upper;
  std::vector<std::int32_t> depthwise_sums;
  std::optional<FixedConvNumbers> fixed;

  std::int64_t bytes() const override {
    return bytes_of_all(groups) + (winograd ? winograd->bytes() : 0) + std::ssize(depthwise) * 2 +
           std::ssize(depthwise_upper) * 2 + std::ssize(depthwise_sums) * 4;
  }
};

std::optional<FixedConvNumbers> fixed_numbers(const Setup& setup, const IntegerConvInputs& inputs,
                                              std::int64_t channels);

template <class Body>
void for_octet(ElementType type, const Body& body) {
  if (type == ElementType::uint8) {
    body(std::uint8_t());
  } else {
    body(std::int8_t());
  }
}

// The type of the output.
ElementType result_type(const Frame& frame, const IntegerConvInputs& inputs);
kernels::WholeResult kernel_result(ElementType type);

// Depthwise convolutions with one output for each input channel.
bool is_depthwise(const kernels::ConvSizes& sizes);
// False if there is no kernel for it.
bool pack_depthwise(const kernels::ConvSizes& sizes, const IntegerConvInputs& inputs, const Array& w,
                    std::span<const std::int32_t> zeros, IntegerConvWeights& weights);
// Whether the kernel can do it.
bool fits_depthwise(const IntegerConvInputs& inputs, const kernels::ConvSizes& sizes,
                    const IntegerConvNumbers& numbers);
Result<void> run_depthwise(Frame& frame, const IntegerConvInputs& inputs, const kernels::ConvSizes& sizes,
                           const IntegerConvNumbers& numbers, const IntegerConvWeights& weights,
                           const Array& x, Array& out);

// On tensors whose channels are last. Null if there is no kernel for it.
Result<Array*> run_integer_conv_fast(Frame& frame, const IntegerConvInputs& inputs,
                                     const kernels::ConvSizes& sizes, const IntegerConvNumbers& numbers,
                                     const IntegerConvWeights& weights);

}  // namespace anybit::ops
