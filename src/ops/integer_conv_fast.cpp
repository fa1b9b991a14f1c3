#include <limits>
#include "kernels/conv_rows.hpp"

#include "kernels/depthwise_whole.hpp"
#include "ops/conv_call.hpp"
#include "ops/integer_conv_parts.hpp"
#include "ops/layout.hpp"
#include "ops/window.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using kernels::DepthwiseWhole;

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

// The kernel adds the bias in 32 bits. A channel whose bias is too large for that (quantizers give channels
// of zeros a tiny scale, and so a huge bias) is done by itself, in 64.
constexpr std::int64_t kLargestProduct = 255 * 255;
constexpr std::int64_t kFewHuge = 8;  // one channel in so many

bool is_huge(std::int64_t bias, const ConvSizes& sizes) {
  return std::abs(bias) + kernel_size(sizes.window) * kLargestProduct > INT32_MAX;
}

template <class X, class Y>
void depthwise_channel(const ConvSizes& sizes, const IntegerConvNumbers& numbers,
                       const IntegerConvWeights& weights, std::int64_t c, std::int32_t bias, const X* x,
                       Y* y) {
  const auto& [d, h, w] = sizes.window;
  const std::int64_t channels = sizes.out_channels;
  constexpr float kLow = std::numeric_limits<Y>::min(), kHigh = std::numeric_limits<Y>::max();
  const auto zero = static_cast<float>(numbers.y_zero);
  const std::int64_t places = sizes.batch * output_size(sizes.window);
  for (std::int64_t at = 0; at < places; ++at) {
    const std::int64_t ow = at % w.output, oh = at / w.output % h.output,
                       od = at / (w.output * h.output) % d.output;
    const std::int64_t n = at / output_size(sizes.window);
    const auto depth = taps_inside(d, od), height = taps_inside(h, oh), width = taps_inside(w, ow);
    std::int64_t sum = bias;
    for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
      for (std::int64_t kh = height.first; kh < height.last; ++kh) {
        for (std::int64_t kw = width.first; kw < width.last; ++kw) {
          const std::int64_t id = start_of(d, od) + kd * d.dilation, ih = start_of(h, oh) + kh * h.dilation;
          const std::int64_t iw = start_of(w, ow) + kw * w.dilation;
          const std::int64_t from = (((n * d.input + id) * h.input + ih) * w.input + iw) * channels + c;
          const std::int64_t tap = ((kd * h.kernel + kh) * w.kernel + kw) * channels + c;
          sum += (x[from] - numbers.x_zero) *
                 static_cast<std::int64_t>(weights.depthwise[static_cast<std::size_t>(tap)]);
        }
      }
    }
    const float scaled = std::nearbyint(static_cast<float>(sum) * numbers.multiplier[c]) + zero;
    y[at * channels + c] = static_cast<Y>(std::clamp(scaled, kLow, kHigh));
  }
}

template <class X, class Y>
void depthwise_as(Frame& frame, const ConvSizes& sizes, const IntegerConvNumbers& numbers,
                  const IntegerConvWeights& weights, const Array& x, Array& out) {
  const DepthwiseWhole channels{weights.depthwise.data(), numbers.bias, numbers.multiplier};
  const kernels::DepthwiseOutput output{numbers.y_zero, low_of(out.type()), high_of(out.type())};
  const auto body = [&](std::int64_t first, std::int64_t last) {
    kernels::depthwise_whole(sizes, channels, numbers.x_zero, output, x.data<X>(), first, last,
                             out.mutable_data<Y>());
  };
  const double cost = 0.1 * static_cast<double>(sizes.window[2].output * sizes.out_channels) *
                      static_cast<double>(kernel_size(sizes.window));
  const std::int64_t rows = sizes.batch * sizes.window[0].output * sizes.window[1].output;
  if (!is_huge(numbers.largest_bias, sizes)) return parallel(frame, rows, cost, body);
  // Their biases are out of the way while the others are done.
  const auto kept = static_cast<std::size_t>(sizes.out_channels);
  const std::vector<std::int32_t> biases(numbers.bias, numbers.bias + kept);
  for (std::size_t c = 0; c < kept; ++c) numbers.bias[c] = is_huge(biases[c], sizes) ? 0 : biases[c];
  parallel(frame, rows, cost, body);
  for (std::size_t c = 0; c < kept; ++c) {
    if (!is_huge(biases[c], sizes)) continue;
    depthwise_channel(sizes, numbers, weights, static_cast<std::int64_t>(c), biases[c], x.data<X>(),
                      out.mutable_data<Y>());
  }
}

void depthwise(Frame& frame, const ConvSizes& sizes, const IntegerConvNumbers& numbers,
               const IntegerConvWeights& weights, const Array& x, Array& out) {
  using S = std::int8_t;
  using U = std::uint8_t;
  const bool to_unsigned = out.type() == ElementType::uint8;
  if (x.type() == ElementType::uint8) {
    (to_unsigned ? depthwise_as<U, U> : depthwise_as<U, S>)(frame, sizes, numbers, weights, x, out);
  } else {
    (to_unsigned ? depthwise_as<S, U> : depthwise_as<S, S>)(frame, sizes, numbers, weights, x, out);
  }
}

void multiply(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
              const IntegerConvNumbers& numbers, const IntegerConvWeights& weights, const Array& x,
              Array& out) {
  const auto padding = static_cast<std::uint8_t>(numbers.x_zero);
  const bool plain = kernels::ConvRows::is_plain(sizes);
  const std::int64_t outputs = sizes.out_per_group();
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    const kernels::ConvRows rows(sizes, group, x.bytes(), 1, &padding);
    kernels::WholeProduct product{.m = sizes.batch * output_size(sizes.window),
                                  .n = outputs,
                                  .k = sizes.depth(),
                                  .b = &weights.groups[static_cast<std::size_t>(group)],
                                  .c_stride = sizes.out_channels};
    product.a.type = whole_of(x.type());
    if (plain) {
      product.a.data = x.bytes() + group * sizes.in_per_group();
      product.a.row_stride = sizes.in_channels;
    } else {
      product.rows = &rows;
    }
    product.a_zero = {&numbers.x_zero, 0, 0};
    product.c = out.mutable_bytes() + group * outputs * static_cast<std::int64_t>(element_bytes(out.type()));
    product.epilogue.type = result_of(out.type());
    if (inputs.quantized) {
      product.epilogue.bias = {numbers.bias + group * outputs, 0, 1};
      product.epilogue.scale = {numbers.multiplier + group * outputs, 0, 1};
      product.epilogue.zero_point = numbers.y_zero;
      product.epilogue.low = low_of(out.type());
      product.epilogue.high = high_of(out.type());
    }
    kernels::gemm(product, frame.pool());
  }
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
  const std::int64_t taps = kernel_size(sizes.window);
  if (is_depthwise(sizes)) {
    weights->depthwise.resize(static_cast<std::size_t>(w->count()));
    for (std::int64_t i = 0; i < w->count(); ++i) {
      const std::int64_t c = i / taps, k = i % taps;
      weights->depthwise[static_cast<std::size_t>(k * w->dim(0) + c)] =
          static_cast<float>(octet(*w, i) - zeros[static_cast<std::size_t>(c)]);
    }
    return std::shared_ptr<const Prepared>(std::move(weights));
  }
  std::vector<std::uint8_t> columns(static_cast<std::size_t>(sizes.out_per_group() * sizes.depth()));
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    kernels::conv_columns(sizes, group, w->data<std::uint8_t>(), columns.data());
    weights->groups.emplace_back(
        kernels::WholeView{whole_of(w->type()), columns.data(), 1, sizes.depth()}, sizes.depth(),
        sizes.out_per_group(),
        kernels::Spread<std::int32_t>{zeros.data() + group * sizes.out_per_group(), 0, 1});
  }
  return std::shared_ptr<const Prepared>(std::move(weights));
}

Result<bool> run_integer_conv_fast(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
                                   const IntegerConvNumbers& numbers, const IntegerConvWeights& weights) {
  const bool by_channel = is_depthwise(sizes);
  if (by_channel) {
    const auto huge = [&](std::int32_t bias) { return is_huge(bias, sizes); };
    if (!inputs.quantized || kernel_size(sizes.window) > DepthwiseWhole::kMostTaps ||
        sizes.out_channels < DepthwiseWhole::kFewestChannels ||
        std::count_if(numbers.bias, numbers.bias + sizes.out_channels, huge) * kFewHuge >
            sizes.out_channels) {
      return false;
    }
  }
  const Array x = TRY(in_layout(frame, frame.in(inputs.x), Layout::channels_last));
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank());
  const ElementType type = inputs.quantized ? frame.in(7).type() : ElementType::int32;
  const Layout layout = output_size(sizes.window) > 1 ? Layout::channels_last : Layout::plain;
  Array* out = TRY(frame.out(0, type, dims, layout));
  if (by_channel) {
    depthwise(frame, sizes, numbers, weights, x, *out);
  } else {
    multiply(frame, inputs, sizes, numbers, weights, x, *out);
  }
  return true;
}

}  // namespace anybit::ops
