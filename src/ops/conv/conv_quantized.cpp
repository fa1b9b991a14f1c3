#include "ops/conv/conv_quantized.hpp"

#include "formats/affine.hpp"
#include "ops/check.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/conv/conv_quantized_depthwise.hpp"
#include "ops/conv/conv_quantized_gemm.hpp"
#include "ops/conv/window.hpp"
#include "ops/layout.hpp"
#include "ops/matmul/integer_gemm.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using Algorithm = IntegerConvAlgorithm;

// Direct loops, for 8 bits. Products are less than 2^16, so 64 bits hold any possible sum.
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

Result<Array*> run_direct(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
                          const IntegerConvNumbers& numbers) {
  const Array x = TRY(in_layout(frame, frame.in(inputs.x), Layout::plain));
  const Array w = TRY(in_layout(frame, frame.in(inputs.w), Layout::plain));
  const ElementType type = result_type(frame, inputs);
  Array* out = TRY(frame.out(0, type, output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank())));
  for_octet(x.type(), [&]<class X>(X) {
    for_octet(w.type(), [&]<class W>(W) {
      if (inputs.result == ConvResult::sums) {
        direct<X, W>(frame, sizes, x, w, numbers, [&](std::int64_t sum, std::int64_t, std::int64_t i) {
          out->mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(sum);
        });
        return;
      }
      if (inputs.result == ConvResult::reals) {
        direct<X, W>(frame, sizes, x, w, numbers, [&](std::int64_t sum, std::int64_t c, std::int64_t i) {
          const float scaled = static_cast<float>(sum) * numbers.multiplier[c];
          out->mutable_data<float>()[i] = numbers.addend ? scaled + numbers.addend[c] : scaled;
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
  return out;
}

// Whether sums with these biases are small enough for the packed weights' kernel.
bool sums_fit(const IntegerConvInputs& inputs, const ConvSizes& sizes, const IntegerConvWeights& weights,
              ElementType x, const IntegerConvNumbers& numbers) {
  if (!weights.depthwise.empty()) return fits_depthwise(inputs, sizes, numbers);
  return inputs.result == ConvResult::sums || fits_32_bits(weights.groups.front(), x, numbers);
}

Algorithm algorithm_of(const ConvSizes& sizes, const IntegerConvWeights& weights, ElementType x,
                       bool sums_fit) {
  if (weights.depthwise.empty()) return gemm_algorithm(sizes, weights, x, sums_fit);
  return sums_fit ? Algorithm::depthwise : Algorithm::direct;
}

// The plan for these sizes; made at their first use.
Result<std::shared_ptr<const IntegerConvPlan>> plan_of(const Frame& frame, const IntegerConvInputs& inputs,
                                                       const IntegerConvWeights& weights, bool sums_fit) {
  const Array& x = frame.in(inputs.x);
  const IntegerConvCase now{x.dims(), x.type(), sums_fit};
  if (auto known = weights.plans.find(now)) return known;
  const ConvSizes sizes = TRY(conv_sizes(frame, x.dims(), frame.in(inputs.w).dims()));
  return weights.plans.keep(now, {sizes, algorithm_of(sizes, weights, x.type(), sums_fit)});
}

// Runs on channels-last tensors.
Result<Array*> run_packed(Frame& frame, const IntegerConvInputs& inputs, const IntegerConvPlan& plan,
                          const IntegerConvNumbers& numbers, const IntegerConvWeights& weights) {
  const ConvSizes& sizes = plan.sizes;
  const Array& given = frame.in(inputs.x);
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, given.rank());
  if (dims.count() == 0) return frame.out(0, result_type(frame, inputs), dims);
  if (plan.algorithm == Algorithm::direct) {
    if (inputs.wide) return wrong("the padded input is too large");
    return run_direct(frame, inputs, sizes, numbers);
  }
  const bool as_it_is = takes_plain(plan) && given.layout() == Layout::plain;
  const Array x = as_it_is ? given : TRY(in_layout(frame, given, Layout::channels_last));
  const Layout layout = output_size(sizes.window) > 1 ? Layout::channels_last : Layout::plain;
  Array* out = TRY(frame.out(0, result_type(frame, inputs), dims, layout));
  if (plan.algorithm == Algorithm::depthwise) {
    TRY(run_depthwise(frame, inputs, sizes, numbers, weights, x, *out));
  } else {
    TRY(run_gemm(frame, inputs, plan, numbers, weights, x, *out));
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const Prepared>> prepare_integer_conv(const Setup& setup,
                                                             const IntegerConvInputs& inputs) {
  const std::shared_ptr<const Prepared> none;
  const Array* w = setup.constant(inputs.w);
  const Array* zero = setup.constant(inputs.w_zero);
  const bool zero_given =
      inputs.w_zero < setup.node.inputs.size() && !setup.node.inputs[inputs.w_zero].empty();
  const auto known = w ? weight_sizes(setup, w->dims()) : std::nullopt;
  if (!known || !(inputs.wide ? is_code(w->type()) : is_byte(w->type())) || zero_given != (zero != nullptr))
    return none;
  const ConvSizes& sizes = *known;
  if (zero && (zero->type() != w->type() || (zero->count() != 1 && zero->count() != w->dim(0)))) return none;
  std::vector<std::int32_t> zeros(static_cast<std::size_t>(w->dim(0)));
  for (std::int64_t c = 0; zero && c < w->dim(0); ++c)
    zeros[static_cast<std::size_t>(c)] = code_at(*zero, zero->count() == 1 ? 0 : c);
  auto weights = std::make_shared<IntegerConvWeights>();
  weights->fixed = fixed_numbers(setup, inputs, w->dim(0));
  if (inputs.wide && !(weights->fixed && is_code(weights->fixed->x_type))) return none;
  if (!is_depthwise(sizes) || !pack_depthwise(sizes, inputs, *w, zeros, *weights))
    pack_matrices(setup, inputs, sizes, *w, zeros, *weights);
  if (weights->fixed) {
    // The same for all 8-bit types.
    const ElementType x = is_code(weights->fixed->x_type) ? weights->fixed->x_type : ElementType::uint8;
    weights->fixed_sums_fit = sums_fit(inputs, sizes, *weights, x, weights->fixed->numbers);
  }
  return std::shared_ptr<const Prepared>(std::move(weights));
}

Result<Array*> run_integer_conv(Frame& frame, const IntegerConvInputs& inputs) {
  for (const std::size_t i : {inputs.x, inputs.w}) {
    const ElementType type = frame.in(i).type();
    if (!(inputs.wide ? is_code(type) : is_byte(type))) return wrong_type(frame, i);
  }
  const Array& x = frame.in(inputs.x);
  const auto* weights = frame.prepared<IntegerConvWeights>();
  if (weights && weights->has_numbers_for(x.type())) {
    const auto plan = TRY(plan_of(frame, inputs, *weights, weights->fixed_sums_fit));
    return run_packed(frame, inputs, *plan, weights->fixed->numbers, *weights);
  }
  const ConvSizes sizes = TRY(conv_sizes(frame, x.dims(), frame.in(inputs.w).dims()));
  if (only_checks(frame)) {
    TRY(check_numbers(frame, inputs, sizes.out_channels));
    return not_known();
  }
  if (inputs.wide)
    return wrong("weights, scales and zero points are inconsistent", "constants, as in QLinearConv");
  const IntegerConvNumbers numbers = TRY(numbers_now(frame, inputs, sizes.out_channels));
  if (weights) {
    const bool fit = sums_fit(inputs, sizes, *weights, x.type(), numbers);
    return run_packed(frame, inputs, *TRY(plan_of(frame, inputs, *weights, fit)), numbers, *weights);
  }
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank());
  if (dims.count() == 0) return frame.out(0, result_type(frame, inputs), dims);
  return run_direct(frame, inputs, sizes, numbers);
}

}  // namespace anybit::ops
