#include "ops/conv/conv_quantized_parameters.hpp"

#include <cmath>

#include "formats/affine.hpp"
#include "ops/check.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/matmul/integer_gemm.hpp"

namespace anybit::ops {
namespace {

// A zero point: of the tensor's type, a single one or one per channel.
template <class Inputs>
Result<void> check_zero(const Inputs& given, std::size_t i, ElementType type, std::int64_t channels) {
  if (!given.has(i)) return {};
  const Array& zero = given.in(i);
  const bool fits = zero.count() == 1 || (zero.rank() == 1 && zero.count() == channels);
  if (zero.type() == type && fits) return {};
  return wrong(
      fmt::format("zero point {} is {}", i, to_string(zero)),
      fmt::format("{}, a single one{}", graph::name_of(type), channels > 1 ? " or one per channel" : ""));
}

Result<void> check_scale(const Array& scale, std::size_t i, std::int64_t channels) {
  const bool fits = scale.count() == 1 || (scale.rank() == 1 && scale.count() == channels);
  if (scale.type() == ElementType::float32 && fits) return {};
  return wrong(fmt::format("scale {} is {}", i, to_string(scale)),
               "float32, a single one or one per channel");
}

// Buffers for the per-channel parameters.
struct Room {
  std::int32_t *w_zero, *bias;
  float* multiplier;
};

template <class Inputs>
Result<IntegerConvNumbers> numbers_of(const Inputs& given, const IntegerConvInputs& inputs,
                                      std::int64_t count, const Room& room) {
  IntegerConvNumbers numbers{.w_zero = room.w_zero};
  if (given.has(inputs.x_zero)) numbers.x_zero = code_at(given.in(inputs.x_zero), 0);
  const auto pick = [](const Array& array, std::int64_t c) { return array.count() == 1 ? 0 : c; };
  const bool w_zero = given.has(inputs.w_zero);
  for (std::int64_t c = 0; c < count; ++c) {
    room.w_zero[c] = w_zero ? code_at(given.in(inputs.w_zero), pick(given.in(inputs.w_zero), c)) : 0;
  }
  if (inputs.result == ConvResult::sums) return numbers;
  numbers.multiplier = room.multiplier;
  const float x_scale = *given.in(inputs.x_scale).template data<float>();
  const Array& scale = given.in(inputs.w_scale);
  if (inputs.result == ConvResult::reals) {
    for (std::int64_t c = 0; c < count; ++c)
      room.multiplier[c] = x_scale * scale.data<float>()[pick(scale, c)];
    if (given.has(inputs.bias)) numbers.addend = given.in(inputs.bias).template data<float>();
    return numbers;
  }
  numbers.bias = room.bias;
  numbers.y_zero = code_at(given.in(7), 0);
  for (std::int64_t c = 0; c < count; ++c) {
    room.multiplier[c] = formats::requantization_multiplier(x_scale, scale.data<float>()[pick(scale, c)],
                                                            *given.in(6).template data<float>());
    if (!std::isfinite(room.multiplier[c])) {
      return wrong(fmt::format("the scales of channel {} give a requantization multiplier of {}", c,
                               room.multiplier[c]),
                   "finite scales above 0");
    }
    room.bias[c] = given.has(inputs.bias) ? given.in(inputs.bias).template data<std::int32_t>()[c] : 0;
    numbers.largest_bias = std::max(numbers.largest_bias, std::abs(std::int64_t{room.bias[c]}));
  }
  return numbers;
}

// If the type of x is undefined, any is accepted.
template <class Inputs>
Result<void> check(const Inputs& given, const IntegerConvInputs& inputs, ElementType x_type,
                   ElementType w_type, std::int64_t channels) {
  TRY(check_zero(given, inputs.x_zero, x_type, 1));
  TRY(check_zero(given, inputs.w_zero, w_type, channels));
  if (inputs.result == ConvResult::sums) return {};
  TRY(check_scale(given.in(inputs.x_scale), inputs.x_scale, 1));
  TRY(check_scale(given.in(inputs.w_scale), inputs.w_scale, channels));
  const bool quantized = inputs.result == ConvResult::quantized;
  if (given.has(inputs.bias))
    TRY(check_bias(given.in(inputs.bias), quantized ? ElementType::int32 : ElementType::float32, channels));
  if (!quantized) return {};
  TRY(check_scale(given.in(6), 6, 1));
  const ElementType type = given.in(7).type();
  if (!is_byte(type) && !(inputs.wide && is_code(type))) {
    return wrong(fmt::format("zero point 7 is {}", to_string(given.in(7))),
                 inputs.wide ? "an integer of 8 or 16 bits" : "int8 or uint8");
  }
  return check_zero(given, 7, type, 1);
}

// The constants of a node, with the interface of a frame.
struct ConstantInputs {
  const Setup& setup;
  bool named(std::size_t i) const { return i < setup.node.inputs.size() && !setup.node.inputs[i].empty(); }
  bool has(std::size_t i) const { return named(i) && setup.constant(i) != nullptr; }
  const Array& in(std::size_t i) const { return *setup.constant(i); }
  // Whether only x changes between runs, and all required inputs are there.
  bool suffice(const IntegerConvInputs& inputs) const {
    for (std::size_t i = 0; i < setup.node.inputs.size(); ++i) {
      if (i != inputs.x && named(i) && !setup.constant(i)) return false;
    }
    for (const std::size_t i : {inputs.x_scale, inputs.w_scale, std::size_t{6}, std::size_t{7}}) {
      if (inputs.result == ConvResult::quantized && !has(i)) return false;
    }
    return true;
  }
};

}  // namespace

Result<IntegerConvNumbers> numbers_now(Frame& frame, const IntegerConvInputs& inputs, std::int64_t channels) {
  TRY(check(frame, inputs, frame.in(inputs.x).type(), frame.in(inputs.w).type(), channels));
  Room room{TRY(frame.scratch_of<std::int32_t>(channels)).data(), nullptr, nullptr};
  if (inputs.result == ConvResult::quantized)
    room.bias = TRY(frame.scratch_of<std::int32_t>(channels)).data();
  if (inputs.result != ConvResult::sums) room.multiplier = TRY(frame.scratch_of<float>(channels)).data();
  return numbers_of(frame, inputs, channels, room);
}

Result<void> check_numbers(const Frame& frame, const IntegerConvInputs& inputs, std::int64_t channels) {
  TRY(check(frame, inputs, frame.in(inputs.x).type(), frame.in(inputs.w).type(), channels));
  if (frame.in(inputs.w).count() < channels) return {};  // without elements, `channels` is not bounded
  for (std::size_t i = 0; i < frame.input_count(); ++i) {
    if (i != inputs.x && i != inputs.w && frame.has(i) && !has_elements(frame.in(i))) return {};
  }
  std::vector<std::int32_t> integers(2 * static_cast<std::size_t>(channels));
  std::vector<float> multipliers(static_cast<std::size_t>(channels));
  TRY(numbers_of(frame, inputs, channels,
                 Room{integers.data(), integers.data() + channels, multipliers.data()}));
  return {};
}

ElementType result_type(const Frame& frame, const IntegerConvInputs& inputs) {
  if (inputs.result == ConvResult::quantized) return frame.in(7).type();
  return inputs.result == ConvResult::reals ? ElementType::float32 : ElementType::int32;
}

kernels::IntegerResult kernel_result(ElementType type) {
  if (type == ElementType::int32) return kernels::IntegerResult::int32;
  return type == ElementType::float32 ? kernels::IntegerResult::float32 : *result_of(type);
}

std::optional<FixedConvNumbers> fixed_numbers(const Setup& setup, const IntegerConvInputs& inputs,
                                              std::int64_t channels) {
  const ConstantInputs given{setup};
  // Real results use the input's scale, which dynamic quantization computes at run time.
  if (inputs.result == ConvResult::reals || !given.suffice(inputs)) return std::nullopt;
  FixedConvNumbers fixed;
  if (given.has(inputs.x_zero)) fixed.x_type = given.in(inputs.x_zero).type();
  if (!check(given, inputs, fixed.x_type, given.in(inputs.w).type(), channels).ok()) return std::nullopt;
  const auto count = static_cast<std::size_t>(channels);
  fixed.integers.resize(2 * count);
  fixed.multipliers.resize(count);
  const auto numbers =
      numbers_of(given, inputs, channels,
                 {fixed.integers.data(), fixed.integers.data() + count, fixed.multipliers.data()});
  if (!numbers.ok()) return std::nullopt;  // the node's run reports the error
  fixed.numbers = *numbers;
  return fixed;
}

}  // namespace anybit::ops
