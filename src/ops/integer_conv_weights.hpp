// The constant weights of an integer convolution, packed, and the algorithms that use them.
#pragma once

#include "kernels/conv_direct.hpp"
#include "kernels/conv_winograd.hpp"
#include "ops/integer_conv_numbers.hpp"
#include "ops/remembered.hpp"

namespace anybit::ops {

enum class IntegerConvAlgorithm : std::uint8_t {
  direct,     // from the definition
  depthwise,  // a kernel of its own
  gemm,       // products of windows, which are copied
  image,      // products of windows of an image of 16 bits, as they lie
  dot4,       // the same of bytes, four at a time
  winograd,
};

// How a convolution of certain sizes is done.
struct IntegerConvPlan {
  kernels::ConvSizes sizes;
  IntegerConvAlgorithm algorithm;
};
struct IntegerConvCase {
  Dims x;
  ElementType x_type;
  bool sums_fit;  // the algorithm's sums with their biases
  friend bool operator==(const IntegerConvCase&, const IntegerConvCase&) = default;
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
  bool has_numbers_for(ElementType x) const {
    return fixed && (fixed->x_type == ElementType::undefined || fixed->x_type == x);
  }
  bool fixed_sums_fit = false;  // IntegerConvCase::sums_fit with the fixed numbers
  Remembered<IntegerConvCase, IntegerConvPlan> plans;

  std::int64_t bytes() const override {
    return bytes_of_all(groups) + (winograd ? winograd->bytes() : 0) + std::ssize(depthwise) * 2 +
           std::ssize(depthwise_upper) * 2 + std::ssize(depthwise_sums) * 4;
  }
};

}  // namespace anybit::ops
