// Packed constant weights of an integer convolution, and the algorithms that use them.
#pragma once

#include "kernels/conv/conv_direct.hpp"
#include "kernels/conv/conv_int8_winograd.hpp"
#include "ops/conv/conv_quantized_parameters.hpp"
#include "ops/lru_cache.hpp"

namespace anybit::ops {

enum class IntegerConvAlgorithm : std::uint8_t {
  direct,     // plain loops
  depthwise,  // a separate kernel
  gemm,       // GEMM over copied windows (im2col)
  image,      // GEMM over windows read in place from a 16-bit image
  dot4,       // the same with bytes, by VNNI
  winograd,
};

// The algorithm for a convolution of certain sizes.
struct IntegerConvPlan {
  kernels::ConvSizes sizes;
  IntegerConvAlgorithm algorithm;
};
struct IntegerConvCase {
  Dims x;
  ElementType x_type;
  bool sums_fit;  // the accumulators of the algorithm hold the sums with biases
  friend bool operator==(const IntegerConvCase&, const IntegerConvCase&) = default;
};

// Weights packed for the kernels.
struct IntegerConvWeights : Prepared {
  std::vector<kernels::PackedIntegers> groups;  // one matrix per group
  bool runs_padded = false;                     // rows are padded as in kernels::ConvRuns
  std::optional<kernels::WinogradWeights> winograd;
  // Or depthwise weights, packed as in kernels::IntegerDepthwise, and their sums by slot.
  std::vector<std::int16_t> depthwise, depthwise_upper;
  std::vector<std::int32_t> depthwise_sums;
  std::optional<FixedConvNumbers> fixed;
  bool has_numbers_for(ElementType x) const {
    return fixed && (fixed->x_type == ElementType::undefined || fixed->x_type == x);
  }
  bool fixed_sums_fit = false;  // IntegerConvCase::sums_fit for `fixed`
  LruCache<IntegerConvCase, IntegerConvPlan> plans;

  std::int64_t bytes() const override {
    return bytes_of_all(groups) + (winograd ? winograd->bytes() : 0) + std::ssize(depthwise) * 2 +
           std::ssize(depthwise_upper) * 2 + std::ssize(depthwise_sums) * 4;
  }
};

}  // namespace anybit::ops
