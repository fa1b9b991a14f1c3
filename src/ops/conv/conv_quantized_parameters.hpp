// Parameters of an integer convolution: scales, zero points and biases, checked and expanded per channel.
#pragma once

#include <optional>
#include <vector>

#include "kernels/gemm/gemm.hpp"
#include "ops/conv/conv_quantized.hpp"
#include "ops/quantized/quantization.hpp"

namespace anybit::ops {

// Pointers are per channel.
struct IntegerConvNumbers {
  std::int32_t x_zero = 0, y_zero = 0;
  const std::int32_t* w_zero = nullptr;
  const std::int32_t* bias = nullptr;  // for quantized outputs
  const float* multiplier = nullptr;   // for quantized and float outputs
  const float* addend = nullptr;       // for reals; null if there is none
  std::int64_t largest_bias = 0;       // magnitude
};

// The parameters of a node whose scales, zero points and bias are constants.
struct FixedConvNumbers {
  IntegerConvNumbers numbers;
  ElementType x_type = ElementType::undefined;  // they hold for; undefined: any
  std::vector<std::int32_t> integers;
  std::vector<float> multipliers;
  // The same in the slot order of the depthwise kernel.
  std::vector<std::int32_t> slot_biases;
  std::vector<double> slot_wide_biases;
  std::vector<float> slot_multipliers;
};

// Nothing if they change from run to run.
std::optional<FixedConvNumbers> fixed_numbers(const Setup& setup, const IntegerConvInputs& inputs,
                                              std::int64_t channels);

// The parameters of this run.
Result<IntegerConvNumbers> numbers_now(Frame& frame, const IntegerConvInputs& inputs, std::int64_t channels);
// Checks scales, zero points and biases, as far as they are known.
Result<void> check_numbers(const Frame& frame, const IntegerConvInputs& inputs, std::int64_t channels);

// The element type of the output.
ElementType result_type(const Frame& frame, const IntegerConvInputs& inputs);
kernels::IntegerResult kernel_result(ElementType type);

template <class Body>
void for_octet(ElementType type, const Body& body) {
  if (type == ElementType::uint8) {
    body(std::uint8_t());
  } else {
    body(std::int8_t());
  }
}

}  // namespace anybit::ops
