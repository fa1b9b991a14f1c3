#include "base/checked.hpp"
#include "kernels/conv_rows.hpp"
#include "kernels/conv_winograd.hpp"
#include "ops/conv_call.hpp"
#include "ops/integer_conv_parts.hpp"
#include "ops/layout.hpp"
#include "ops/window.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;

kernels::Whole whole_of(ElementType type) {
  return type == ElementType::uint8 ? kernels::Whole::uint8 : kernels::Whole::int8;
}

kernels::WholeResult result_of(ElementType type) {
  if (type == ElementType::int32) return kernels::WholeResult::int32;
  return type == ElementType::uint8 ? kernels::WholeResult::uint8 : kernels::WholeResult::int8;
}

bool is_depthwise(const ConvSizes& sizes) {
  return sizes.in_per_group() == 1 && sizes.out_per_group() == 1 && sizes.groups > 1;
}

std::int32_t low_of(ElementType type) { return type == ElementType::uint8 ? 0 : -128; }
std::int32_t high_of(ElementType type) { return type == ElementType::uint8 ? 255 : 127; }

kernels::WholeProduct product_of(const IntegerConvInputs& inputs, const ConvSizes& sizes,
                                 const IntegerConvNumbers& numbers, const IntegerConvWeights& weights,
                                 std::int64_t group, Array& out) {
  const std::int64_t outputs = sizes.out_per_group(),
                     bytes = static_cast<std::int64_t>(element_bytes(out.type()));
  kernels::WholeProduct product{.m = sizes.batch * output_size(sizes.window),
                                .n = outputs,
                                .k = sizes.depth(),
                                .b = &weights.groups[static_cast<std::size_t>(group)],
                                .c = out.mutable_bytes() + group * outputs * bytes,
                                .c_stride = sizes.out_channels};
  product.epilogue.type = result_of(out.type());
  if (inputs.quantized) {
    product.epilogue.bias = {numbers.bias + group * outputs, 0, 1};
    product.epilogue.scale = {numbers.multiplier + group * outputs, 0, 1};
    product.epilogue.zero_point = numbers.y_zero;
    product.epilogue.low = low_of(out.type());
    product.epilogue.high = high_of(out.type());
  }
  return product;
}

void multiply(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
              const IntegerConvNumbers& numbers, const IntegerConvWeights& weights, const Array& x,
              Array& out) {
  const auto padding = static_cast<std::uint8_t>(numbers.x_zero);
  const bool plain = kernels::ConvRows::is_plain(sizes);
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    const kernels::ConvRows rows(sizes, group, x.bytes(), 1, &padding);
    kernels::WholeProduct product = product_of(inputs, sizes, numbers, weights, group, out);
    product.a.type = whole_of(x.type());
    if (plain) {
      product.a.data = x.bytes() + group * sizes.in_per_group();
      product.a.row_stride = sizes.in_channels;
    } else {
      product.rows = &rows;
    }
    product.a_zero = {&numbers.x_zero, 0, 0};
    kernels::gemm(product, frame.pool());
  }
}

// Ways to do a convolution.
enum class Way { depthwise, winograd, image, product };

// Whether the input with its padding can be counted.
bool has_image(const ConvSizes& sizes) {
  Dims dims{sizes.batch, sizes.in_channels};
  for (const kernels::WindowAxis& axis : sizes.window) {
    if (axis.before < 0 || axis.after < 0) return false;
    const auto padding = checked_add(axis.before, axis.after);
    const auto size = padding ? checked_add(*padding, axis.input + 1) : std::nullopt;
    if (!size) return false;
    dims.push_back(*size);
  }
  const auto count = element_count(dims.span());
  return count && *count < INT64_MAX / 4;
}

Way way_of(const IntegerConvInputs& inputs, const ConvSizes& sizes, const IntegerConvNumbers& numbers,
           const IntegerConvWeights& weights) {
  if (is_depthwise(sizes)) return Way::depthwise;
  if (!kernels::ConvRuns::fit(sizes) || kernels::ConvRows::is_plain(sizes) || !has_image(sizes))
    return Way::product;
  const std::int64_t largest = sizes.depth() * 255 * weights.groups.front().largest();
  if (inputs.quantized && largest + numbers.largest_bias > INT32_MAX) return Way::product;
  if (weights.winograd && winograd_pays(sizes) && largest <= kernels::WinogradWeights::kLargestSum)
    return Way::winograd;
  const bool padded = kernels::ConvRuns{sizes}.length() % 2 == 0 || weights.runs_padded;
  return padded && !weights.groups.front().zeros() ? Way::image : Way::product;
}

// Few channels are interleaved while they are widened.
constexpr std::int64_t kFewChannels = 4;

// A weight of zero, whose code is `zero`, after each run, in place.
void pad_runs(const ConvSizes& sizes, std::uint8_t zero, std::vector<std::uint8_t>& columns) {
  const kernels::ConvRuns runs{sizes};
  const std::int64_t length = runs.length();
  for (std::int64_t i = sizes.out_channels * sizes.window[1].kernel; i-- > 0;) {
    std::uint8_t* to = columns.data() + i * (length + 1);
    std::copy_backward(columns.data() + i * length, columns.data() + (i + 1) * length, to + length);
    to[length] = zero;
  }
}

Result<void> on_image(Frame& frame, Way way, const IntegerConvNumbers& numbers,
                      const IntegerConvWeights& weights, const ConvSizes& sizes, const Array& x,
                      kernels::WholeProduct product) {
  const ConvSizes even = way == Way::winograd ? kernels::winograd_sizes(sizes) : sizes;
  const kernels::ConvRuns runs{even};
  std::int16_t* image = TRY(frame.scratch_of<std::int16_t>(runs.elements())).data();
  runs.widen(whole_of(x.type()), x.bytes(), x.layout() == Layout::channels_last, numbers.x_zero, image,
             frame.pool());
  if (way == Way::winograd) {
    kernels::conv_winograd(runs, image, *weights.winograd, product, frame.pool());
  } else {
    product.k = runs.depth();
    kernels::conv_whole(runs, image, product, frame.pool());
  }
  return {};
}

// Weights [O, I, 3, 3] less their zero points.
kernels::WinogradWeights winograd_of(const ConvSizes& sizes, const Array& w,
                                     const std::vector<std::int32_t>& zeros) {
  std::vector<std::int16_t> wide(static_cast<std::size_t>(w.count()));
  for (std::int64_t i = 0; i < w.count(); ++i) {
    const auto o = static_cast<std::size_t>(i / sizes.depth());
    wide[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(octet(w, i) - zeros[o]);
  }
  return {sizes, wide.data()};
}

}  // namespace

Result<std::shared_ptr<const Prepared>> prepare_integer_conv(const Setup& setup,
                                                             const IntegerConvInputs& inputs) {
  std::shared_ptr<IntegerConvWeights> none;
  const Array* w = setup.constant(inputs.w);
  const Array* zero = setup.constant(inputs.w_zero);
  const bool zero_given =
      inputs.w_zero < setup.node.inputs.size() && !setup.node.inputs[inputs.w_zero].empty();
  const auto known = w ? weight_sizes(setup, w->dims()) : std::nullopt;
  if (!known || !is_octet(w->type()) || zero_given != (zero != nullptr))
    return std::shared_ptr<const Prepared>(none);
  const ConvSizes& sizes = *known;
  if (zero && (zero->type() != w->type() || (zero->count() != 1 && zero->count() != w->dim(0))))
    return std::shared_ptr<const Prepared>(none);
  std::vector<std::int32_t> zeros(static_cast<std::size_t>(w->dim(0)));
  for (std::int64_t c = 0; zero && c < w->dim(0); ++c)
    zeros[static_cast<std::size_t>(c)] = octet(*zero, zero->count() == 1 ? 0 : c);
  auto weights = std::make_shared<IntegerConvWeights>();
  weights->fixed = fixed_numbers(setup, inputs, w->dim(0));
  if (is_depthwise(sizes)) {
    pack_depthwise(sizes, inputs, *w, zeros, *weights);
    return std::shared_ptr<const Prepared>(std::move(weights));
  }
  const auto dilations = setup.ints("dilations");
  // Packing makes unsigned codes signed: with this zero point, nothing is left to subtract.
  const std::int32_t middle = w->type() == ElementType::uint8 ? 128 : 0;
  weights->runs_padded = kernels::ConvRuns::fit(sizes) && kernels::ConvRuns{sizes}.length() % 2 != 0 &&
                         std::ranges::count(zeros, middle) == w->dim(0) &&
                         (!dilations || dilations->empty() || dilations->back() == 1);
  if (kernels::WinogradWeights::fit(sizes)) weights->winograd.emplace(winograd_of(sizes, *w, zeros));
  const std::int64_t depth = weights->runs_padded ? kernels::ConvRuns{sizes}.depth() : sizes.depth();
  std::vector<std::uint8_t> columns(static_cast<std::size_t>(sizes.out_per_group() * depth));
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    kernels::conv_columns(sizes, group, w->data<std::uint8_t>(), columns.data());
    if (weights->runs_padded) pad_runs(sizes, static_cast<std::uint8_t>(middle), columns);
    weights->groups.emplace_back(
        kernels::WholeView{whole_of(w->type()), columns.data(), 1, depth}, depth, sizes.out_per_group(),
        kernels::Spread<std::int32_t>{zeros.data() + group * sizes.out_per_group(), 0, 1});
  }
  return std::shared_ptr<const Prepared>(std::move(weights));
}

Result<bool> run_integer_conv_fast(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
                                   const IntegerConvNumbers& numbers, const IntegerConvWeights& weights) {
  const Way way = way_of(inputs, sizes, numbers, weights);
  if (way == Way::depthwise && !fits_depthwise(inputs, sizes, numbers)) return false;
  if (way == Way::product && weights.runs_padded) return false;
  const Array& given = frame.in(inputs.x);
  const bool as_it_is =
      way == Way::image && sizes.in_channels <= kFewChannels && given.layout() == Layout::plain;
  const Array x = as_it_is ? given : TRY(in_layout(frame, given, Layout::channels_last));
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank());
  const ElementType type = inputs.quantized ? frame.in(7).type() : ElementType::int32;
  const Layout layout = output_size(sizes.window) > 1 ? Layout::channels_last : Layout::plain;
  Array* out = TRY(frame.out(0, type, dims, layout));
  switch (way) {
    case Way::depthwise:
      TRY(run_depthwise(frame, sizes, numbers, weights, x, *out));
      break;
    case Way::winograd:
    case Way::image:
      TRY(on_image(frame, way, numbers, weights, sizes, x,
                   product_of(inputs, sizes, numbers, weights, 0, *out)));
      break;
    case Way::product:
      multiply(frame, inputs, sizes, numbers, weights, x, *out);
      break;
  }
  return true;
}

}  // namespace anybit::ops
