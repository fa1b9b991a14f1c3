#include "base/checked.hpp"
#include "kernels/conv_rows.hpp"
#include "kernels/conv_winograd.hpp"
#include "kernels/instructions.hpp"
#include "kernels/quad_product.hpp"
#include "ops/conv_call.hpp"
#include "ops/integer_conv_parts.hpp"
#include "ops/layout.hpp"
#include "ops/whole_product.hpp"
#include "ops/window.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;

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
  product.epilogue.type = kernel_result(out.type());
  if (inputs.result != ConvResult::sums)
    product.epilogue.scale = {numbers.multiplier + group * outputs, 0, 1};
  if (numbers.addend) product.epilogue.addend = {numbers.addend + group * outputs, 0, 1};
  if (inputs.result == ConvResult::codes) {
    product.epilogue.bias = {numbers.bias + group * outputs, 0, 1};
    product.epilogue.zero_point = numbers.y_zero;
    product.epilogue.low = range_of(out.type()).low;
    product.epilogue.high = range_of(out.type()).high;
  }
  return product;
}

void multiply(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
              const IntegerConvNumbers& numbers, const IntegerConvWeights& weights, const Array& x,
              Array& out) {
  const auto byte_padding = static_cast<std::uint8_t>(numbers.x_zero);
  const auto wide_padding = static_cast<std::uint16_t>(numbers.x_zero);
  const std::int64_t bytes = kernels::bytes_of(*whole_of(x.type()));
  const void* padding = bytes == 1 ? static_cast<const void*>(&byte_padding) : &wide_padding;
  const bool plain = kernels::ConvRows::is_plain(sizes);
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    const kernels::ConvRows rows(sizes, group, x.bytes(), bytes, padding);
    kernels::WholeProduct product = product_of(inputs, sizes, numbers, weights, group, out);
    product.a.type = *whole_of(x.type());
    if (plain) {
      product.a.data = x.bytes() + group * sizes.in_per_group() * bytes;
      product.a.row_stride = sizes.in_channels;
    } else {
      product.rows = &rows;
    }
    product.a_zero = {&numbers.x_zero, 0, 0};
    kernels::gemm(product, frame.pool());
  }
}

// Ways to do a convolution.
enum class Way { depthwise, quads, winograd, image, product };

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

// Whether 32 bits hold every sum with its bias that there may be.
bool fits_32_bits(const kernels::PackedWholes& weights, ElementType x, const IntegerConvNumbers& numbers) {
  const std::int64_t far = kernels::farthest(*whole_of(x), numbers.x_zero);
  return far * weights.largest_sum() + numbers.largest_bias <= INT32_MAX;
}

Way way_of(const IntegerConvInputs& inputs, const ConvSizes& sizes, const IntegerConvNumbers& numbers,
           const IntegerConvWeights& weights, ElementType x) {
  if (!weights.depthwise.empty()) return Way::depthwise;
  const bool plain = kernels::ConvRows::is_plain(sizes) && !weights.runs_padded;
  const kernels::PackedWholes& matrix = weights.groups.front();
  if (!kernels::ConvRuns::fit(sizes) || plain || !has_image(sizes) || matrix.parts() == 2)
    return Way::product;
  if (inputs.result != ConvResult::sums && !fits_32_bits(matrix, x, numbers)) return Way::product;
  const bool padded = kernels::ConvRuns{sizes}.length() % 2 == 0 || weights.runs_padded;
  const bool on_image = padded && !matrix.zeros();
  if (on_image && is_byte(x) && kernels::usable(kernels::Instructions::avx512_vnni)) return Way::quads;
  if (weights.winograd && winograd_pays(sizes) &&
      sizes.depth() * 255 * matrix.largest() <= kernels::WinogradWeights::kLargestSum)
    return Way::winograd;
  return on_image ? Way::image : Way::product;
}

// Few channels are interleaved while they are widened.
constexpr std::int64_t kFewChannels = 4;

// Packing makes unsigned codes signed: with this zero point, nothing is left to subtract.
std::int32_t middle_of(ElementType w) { return w == ElementType::uint8 ? 128 : 0; }

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
  const kernels::Whole type = *whole_of(x.type());
  const auto image_of = [&](auto* image) {
    runs.lay_out(type, x.bytes(), x.layout() == Layout::channels_last, numbers.x_zero, image, frame.pool());
    return image;
  };
  if (way != Way::winograd) product.k = runs.depth();
  if (way == Way::quads) {
    product.a.type = type;
    product.a_zero = {&numbers.x_zero, 0, 0};
    const auto* image = image_of(TRY(frame.scratch_of<std::uint8_t>(runs.elements())).data());
    kernels::quad_conv(runs, image, product, frame.pool());
    return {};
  }
  const std::int32_t left = kernels::left_zero(type, numbers.x_zero);
  if (left != 0) {  // taken off the sums, with the bias; modulo 2³²
    const auto bias = TRY(frame.scratch_of<std::int32_t>(sizes.out_channels));
    const std::int64_t* sums = weights.groups.front().column_sums();
    for (std::size_t c = 0; c < bias.size(); ++c)
      bias[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(numbers.bias[c] - left * sums[c]));
    product.epilogue.bias = {bias.data(), 0, 1};
  }
  const auto* image = image_of(TRY(frame.scratch_of<std::int16_t>(runs.elements())).data());
  if (way == Way::winograd) {
    kernels::conv_winograd(runs, image, *weights.winograd, product, frame.pool());
  } else {
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
    wide[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(code_at(w, i) - zeros[o]);
  }
  return {sizes, wide.data()};
}

// Whether runs can be padded: lengths that are odd, of weights whose zero points leave nothing to subtract.
bool pads_runs(const Setup& setup, const ConvSizes& sizes, const Array& w,
               const std::vector<std::int32_t>& zeros) {
  if (!is_byte(w.type()) || !kernels::ConvRuns::fit(sizes) || kernels::ConvRuns{sizes}.length() % 2 == 0)
    return false;
  const auto dilations = setup.ints("dilations"), pads = setup.ints("pads");
  if (dilations && !dilations->empty() && dilations->back() != 1) return false;
  if (pads && std::ranges::any_of(*pads, [](std::int64_t one) { return one < 0; })) return false;
  return std::ranges::count(zeros, middle_of(w.type())) == w.dim(0);
}

template <class T>
void pack_groups(const ConvSizes& sizes, const Array& w, const std::vector<std::int32_t>& zeros,
                 IntegerConvWeights& weights) {
  const std::int64_t depth = weights.runs_padded ? kernels::ConvRuns{sizes}.depth() : sizes.depth();
  std::vector<T> columns(static_cast<std::size_t>(sizes.out_per_group() * depth));
  weights.groups.clear();
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    kernels::conv_columns(sizes, group, w.data<T>(), columns.data());
    if constexpr (sizeof(T) == 1) {
      if (weights.runs_padded) pad_runs(sizes, static_cast<T>(middle_of(w.type())), columns);
    }
    weights.groups.emplace_back(
        kernels::WholeView{*whole_of(w.type()), columns.data(), 1, depth}, depth, sizes.out_per_group(),
        kernels::Spread<std::int32_t>{zeros.data() + group * sizes.out_per_group(), 0, 1});
    if (weights.fixed && is_code(weights.fixed->x_type) && !is_byte(weights.fixed->x_type))
      weights.groups.back().keep_column_sums();
  }
}

void pack_groups(const ConvSizes& sizes, const Array& w, const std::vector<std::int32_t>& zeros,
                 IntegerConvWeights& weights) {
  if (is_byte(w.type())) {
    pack_groups<std::uint8_t>(sizes, w, zeros, weights);
  } else {
    pack_groups<std::uint16_t>(sizes, w, zeros, weights);
  }
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
  if (is_depthwise(sizes) && pack_depthwise(sizes, inputs, *w, zeros, *weights))
    return std::shared_ptr<const Prepared>(std::move(weights));
  weights->runs_padded = pads_runs(setup, sizes, *w, zeros);
  pack_groups(sizes, *w, zeros, *weights);
  // Longer sums are those of a plain product, which has no use for padding.
  if (inputs.wide && weights->runs_padded &&
      !fits_32_bits(weights->groups.front(), weights->fixed->x_type, weights->fixed->numbers)) {
    weights->runs_padded = false;
    pack_groups(sizes, *w, zeros, *weights);
  }
  const bool bytes = is_byte(w->type()) && (!inputs.wide || is_byte(weights->fixed->x_type));
  const bool even = kernels::ConvRuns{sizes}.length() % 2 == 0;
  const bool quads = kernels::usable(kernels::Instructions::avx512_vnni) &&
                     !weights->groups.front().zeros() && (even || weights->runs_padded);
  if (bytes && !quads && kernels::WinogradWeights::fit(sizes))
    weights->winograd.emplace(winograd_of(sizes, *w, zeros));
  return std::shared_ptr<const Prepared>(std::move(weights));
}

Result<Array*> run_integer_conv_fast(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
                                     const IntegerConvNumbers& numbers, const IntegerConvWeights& weights) {
  Array* const none = nullptr;
  const Array& given = frame.in(inputs.x);
  const Way way = way_of(inputs, sizes, numbers, weights, given.type());
  if (way == Way::depthwise && !fits_depthwise(inputs, sizes, numbers)) return none;
  if (way == Way::product && weights.runs_padded) return none;
  const bool as_it_is = (way == Way::image || way == Way::quads) && sizes.in_channels <= kFewChannels &&
                        given.layout() == Layout::plain;
  const Array x = as_it_is ? given : TRY(in_layout(frame, given, Layout::channels_last));
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank());
  const Layout layout = output_size(sizes.window) > 1 ? Layout::channels_last : Layout::plain;
  Array* out = TRY(frame.out(0, result_type(frame, inputs), dims, layout));
  switch (way) {
    case Way::depthwise:
      TRY(run_depthwise(frame, inputs, sizes, numbers, weights, x, *out));
      break;
    case Way::quads:
    case Way::winograd:
    case Way::image:
      TRY(on_image(frame, way, numbers, weights, sizes, x,
                   product_of(inputs, sizes, numbers, weights, 0, *out)));
      break;
    case Way::product:
      multiply(frame, inputs, sizes, numbers, weights, x, *out);
      break;
  }
  return out;
}

}  // namespace anybit::ops
