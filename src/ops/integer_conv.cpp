#include "ops/integer_conv.hpp"

#include <cmath>

#include "formats/affine.hpp"
#include "ops/conv_call.hpp"
#include "ops/integer_conv_parts.hpp"
#include "ops/layout.hpp"
#include "ops/window.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;

// A zero point: of the tensor's type, one, or one for each channel.
Result<void> check_zero(const Frame& frame, std::size_t i, ElementType type, std::int64_t channels) {
  if (!frame.has(i)) return {};
  const Array& zero = frame.in(i);
  const bool fits = zero.count() == 1 || (zero.rank() == 1 && zero.count() == channels);
  if (zero.type() == type && fits) return {};
  return wrong(
      fmt::format("zero point {} is {}", i, to_string(zero)),
      fmt::format("{}, one{}", graph::name_of(type), channels > 1 ? " or one for each channel" : ""));
}

Result<void> check_scale(const Array& scale, std::size_t i, std::int64_t channels) {
  const bool fits = scale.count() == 1 || (scale.rank() == 1 && scale.count() == channels);
  if (scale.type() == ElementType::float32 && fits) return {};
  return wrong(fmt::format("scale {} is {}", i, to_string(scale)), "float32, one or one for each channel");
}

Result<IntegerConvNumbers> numbers_of(Frame& frame, const IntegerConvInputs& inputs, std::int64_t count) {
  IntegerConvNumbers numbers;
  if (frame.has(inputs.x_zero)) numbers.x_zero = octet(frame.in(inputs.x_zero), 0);
  numbers.w_zero = TRY(frame.scratch_of<std::int32_t>(count)).data();
  const auto pick = [](const Array& array, std::int64_t c) { return array.count() == 1 ? 0 : c; };
  const bool w_zero = frame.has(inputs.w_zero);
  for (std::int64_t c = 0; c < count; ++c) {
    numbers.w_zero[c] = w_zero ? octet(frame.in(inputs.w_zero), pick(frame.in(inputs.w_zero), c)) : 0;
  }
  if (!inputs.quantized) return numbers;
  numbers.y_zero = octet(frame.in(7), 0);
  numbers.bias = TRY(frame.scratch_of<std::int32_t>(count)).data();
  numbers.multiplier = TRY(frame.scratch_of<float>(count)).data();
  const Array& scale = frame.in(inputs.w + 1);
  for (std::int64_t c = 0; c < count; ++c) {
    numbers.multiplier[c] = formats::requantization_multiplier(
        *frame.in(1).data<float>(), scale.data<float>()[pick(scale, c)], *frame.in(6).data<float>());
    if (!std::isfinite(numbers.multiplier[c])) {
      return wrong(fmt::format("the scales of channel {} make a factor of {}", c, numbers.multiplier[c]),
                   "finite scales above 0");
    }
    numbers.bias[c] = frame.has(8) ? frame.in(8).data<std::int32_t>()[c] : 0;
    numbers.largest_bias = std::max(numbers.largest_bias, std::abs(std::int64_t{numbers.bias[c]}));
  }
  return numbers;
}

Result<void> check(const Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes) {
  TRY(check_zero(frame, inputs.x_zero, frame.in(inputs.x).type(), 1));
  TRY(check_zero(frame, inputs.w_zero, frame.in(inputs.w).type(), sizes.out_channels));
  if (!inputs.quantized) return {};
  TRY(check_scale(frame.in(1), 1, 1));
  TRY(check_scale(frame.in(4), 4, sizes.out_channels));
  TRY(check_scale(frame.in(6), 6, 1));
  if (!is_octet(frame.in(7).type())) return wrong_type(frame, 7);
  TRY(check_zero(frame, 7, frame.in(7).type(), 1));
  if (frame.has(8)) TRY(check_bias(frame.in(8), ElementType::int32, sizes.out_channels));
  return {};
}

// From the definition. Products are less than 2^16, so 64 bits hold any sum there can be.
template <class X, class W, class Finish>
void direct(Frame& frame, const ConvSizes& sizes, const Array& x, const Array& w,
            const IntegerConvNumbers& numbers, const Finish& finish) {
  const auto body = [&](std::int64_t first, std::int64_t last) {
    kernels::conv_direct<std::int64_t>(
        sizes, x.data<X>(), w.data<W>(), first, last,
        [&](X one) { return static_cast<std::int64_t>(one) - numbers.x_zero; },
        [&](W one, std::int64_t c) { return static_cast<std::int64_t>(one) - numbers.w_zero[c]; }, finish);
  };
  const double cost = static_cast<double>(sizes.depth() * sizes.window[2].output);
  parallel(frame, sizes.rows(), cost, [&body](std::int64_t a, std::int64_t b) { body(a, b); });
}

Result<void> run_direct(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
                        const IntegerConvNumbers& numbers) {
  const Array x = TRY(in_layout(frame, frame.in(inputs.x), Layout::plain));
  const Array w = TRY(in_layout(frame, frame.in(inputs.w), Layout::plain));
  const ElementType type = inputs.quantized ? frame.in(7).type() : ElementType::int32;
  Array* out = TRY(frame.out(0, type, output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank())));
  for_octet(x.type(), [&]<class X>(X) {
    for_octet(w.type(), [&]<class W>(W) {
      if (!inputs.quantized) {
        direct<X, W>(frame, sizes, x, w, numbers, [&](std::int64_t sum, std::int64_t, std::int64_t i) {
          out->mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(sum);
        });
        return;
      }
      for_octet(type, [&]<class Y>(Y) {
        using Limits = std::numeric_limits<Y>;
        direct<X, W>(frame, sizes, x, w, numbers, [&](std::int64_t sum, std::int64_t c, std::int64_t i) {
          out->mutable_data<Y>()[i] = static_cast<Y>(formats::requantize(
              sum, numbers.bias[c], numbers.multiplier[c], numbers.y_zero, Limits::min(), Limits::max()));
        });
      });
    });
  });
  return {};
}

}  // namespace

bool is_octet(ElementType type) { return type == ElementType::int8 || type == ElementType::uint8; }

std::int32_t octet(const Array& array, std::int64_t i) {
  if (array.type() == ElementType::uint8) return array.data<std::uint8_t>()[i];
  return array.data<std::int8_t>()[i];
}

Result<void> run_integer_conv(Frame& frame, const IntegerConvInputs& inputs) {
  for (const std::size_t i : {inputs.x, inputs.w}) {
    if (!is_octet(frame.in(i).type())) return wrong_type(frame, i);
  }
  const Dims& x = frame.in(inputs.x).dims();
  const ConvSizes sizes = TRY(conv_sizes(frame, x, frame.in(inputs.w).dims()));
  TRY(check(frame, inputs, sizes));
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.size());
  if (dims.count() == 0) {
    TRY(frame.out(0, inputs.quantized ? frame.in(7).type() : ElementType::int32, dims));
    return {};
  }
  const IntegerConvNumbers numbers = TRY(numbers_of(frame, inputs, sizes.out_channels));
  const auto* weights = frame.prepared<IntegerConvWeights>();
  if (weights && TRY(run_integer_conv_fast(frame, inputs, sizes, numbers, *weights))) return {};
  return run_direct(frame, inputs, sizes, numbers);
}

}  // namespace anybit::ops
