#include "ops/conv/conv_quantized_gemm.hpp"

#include "base/checked.hpp"
#include "kernels/conv/im2col.hpp"
#include "kernels/gemm/gemm_int8_vnni.hpp"
#include "kernels/instructions.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/conv/window.hpp"
#include "ops/layout.hpp"
#include "ops/matmul/integer_gemm.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using Algorithm = IntegerConvAlgorithm;

kernels::IntegerGemmWork gemm_work_of(const IntegerConvInputs& inputs, const ConvSizes& sizes,
                                      const IntegerConvNumbers& numbers, const IntegerConvWeights& weights,
                                      std::int64_t group, Array& out) {
  const std::int64_t outputs = sizes.out_per_group(),
                     bytes = static_cast<std::int64_t>(element_bytes(out.type()));
  kernels::IntegerGemmWork work{.m = sizes.batch * output_size(sizes.window),
                                .n = outputs,
                                .k = sizes.depth(),
                                .b = &weights.groups[static_cast<std::size_t>(group)],
                                .c = out.mutable_bytes() + group * outputs * bytes,
                                .c_stride = sizes.out_channels};
  work.epilogue.type = kernel_result(out.type());
  if (inputs.result != ConvResult::sums) work.epilogue.scale = {numbers.multiplier + group * outputs, 0, 1};
  if (numbers.addend) work.epilogue.addend = {numbers.addend + group * outputs, 0, 1};
  if (inputs.result == ConvResult::quantized) {
    work.epilogue.bias = {numbers.bias + group * outputs, 0, 1};
    work.epilogue.zero_point = numbers.y_zero;
    work.epilogue.low = range_of(out.type()).low;
    work.epilogue.high = range_of(out.type()).high;
  }
  return work;
}

void multiply(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
              const IntegerConvNumbers& numbers, const IntegerConvWeights& weights, const Array& x,
              Array& out) {
  const auto byte_padding = static_cast<std::uint8_t>(numbers.x_zero);
  const auto wide_padding = static_cast<std::uint16_t>(numbers.x_zero);
  const std::int64_t bytes = kernels::bytes_of(*integer_type_of(x.type()));
  const void* padding = bytes == 1 ? static_cast<const void*>(&byte_padding) : &wide_padding;
  const bool plain = kernels::ConvRows::is_plain(sizes);
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    const kernels::ConvRows rows(sizes, group, x.bytes(), bytes, padding);
    kernels::IntegerGemmWork work = gemm_work_of(inputs, sizes, numbers, weights, group, out);
    work.a.type = *integer_type_of(x.type());
    if (plain) {
      work.a.data = x.bytes() + group * sizes.in_per_group() * bytes;
      work.a.row_stride = sizes.in_channels;
    } else {
      work.rows = &rows;
    }
    work.a_zero = {&numbers.x_zero, 0, 0};
    kernels::gemm(work, frame.pool());
  }
}

// Whether the element count of the padded input does not overflow.
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

// Packing makes uint8 weights signed by subtracting 128: with this zero point, no further correction is
// needed.
std::int32_t middle_of(ElementType w) { return w == ElementType::uint8 ? 128 : 0; }

// Pads each run with a weight of zero, whose stored value is `zero`, in place.
void pad_runs(const ConvSizes& sizes, std::uint8_t zero, std::vector<std::uint8_t>& columns) {
  const kernels::ConvRuns runs{sizes};
  const std::int64_t length = runs.length();
  for (std::int64_t i = sizes.out_channels * sizes.window[1].kernel; i-- > 0;) {
    std::uint8_t* to = columns.data() + i * (length + 1);
    std::copy_backward(columns.data() + i * length, columns.data() + (i + 1) * length, to + length);
    to[length] = zero;
  }
}

Result<void> on_image(Frame& frame, Algorithm algorithm, const IntegerConvNumbers& numbers,
                      const IntegerConvWeights& weights, const ConvSizes& sizes, const Array& x,
                      kernels::IntegerGemmWork work) {
  const ConvSizes even = algorithm == Algorithm::winograd ? kernels::winograd_sizes(sizes) : sizes;
  const kernels::ConvRuns runs{even};
  const kernels::IntegerType type = *integer_type_of(x.type());
  const auto image_of = [&](auto* image) {
    runs.lay_out(type, x.bytes(), x.layout() == Layout::channels_last, numbers.x_zero, image, frame.pool());
    return image;
  };
  if (algorithm != Algorithm::winograd) work.k = runs.depth();
  if (algorithm == Algorithm::dot4) {
    work.a.type = type;
    work.a_zero = {&numbers.x_zero, 0, 0};
    const auto* image = image_of(TRY(frame.scratch_of<std::uint8_t>(runs.elements())).data());
    kernels::dot4_conv(runs, image, work, frame.pool());
    return {};
  }
  const std::int32_t left = kernels::left_zero(type, numbers.x_zero);
  if (left != 0) {  // folded into the bias; modulo 2³²
    const auto bias = TRY(frame.scratch_of<std::int32_t>(sizes.out_channels));
    const std::int64_t* sums = weights.groups.front().column_sums();
    for (std::size_t c = 0; c < bias.size(); ++c)
      bias[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(numbers.bias[c] - left * sums[c]));
    work.epilogue.bias = {bias.data(), 0, 1};
  }
  const auto* image = image_of(TRY(frame.scratch_of<std::int16_t>(runs.elements())).data());
  if (algorithm == Algorithm::winograd) {
    kernels::conv_winograd(runs, image, *weights.winograd, work, frame.pool());
  } else {
    kernels::conv_int16(runs, image, work, frame.pool());
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

// Whether runs can be padded: odd lengths, and weights whose zero points need no correction.
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
        kernels::IntegerView{*integer_type_of(w.type()), columns.data(), 1, depth}, depth,
        sizes.out_per_group(),
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

void pack_matrices(const Setup& setup, const IntegerConvInputs& inputs, const ConvSizes& sizes,
                   const Array& w, const std::vector<std::int32_t>& zeros, IntegerConvWeights& weights) {
  weights.runs_padded = pads_runs(setup, sizes, w, zeros);
  pack_groups(sizes, w, zeros, weights);
  // If sums exceed 32 bits, the plain GEMM is used, which has no use for padding.
  if (inputs.wide && weights.runs_padded &&
      !fits_32_bits(weights.groups.front(), weights.fixed->x_type, weights.fixed->numbers)) {
    weights.runs_padded = false;
    pack_groups(sizes, w, zeros, weights);
  }
  const bool bytes = is_byte(w.type()) && (!inputs.wide || is_byte(weights.fixed->x_type));
  const bool even = kernels::ConvRuns{sizes}.length() % 2 == 0;
  const bool dot4 = kernels::usable(kernels::Instructions::avx512_vnni) && !weights.groups.front().zeros() &&
                    (even || weights.runs_padded);
  if (bytes && !dot4 && kernels::WinogradWeights::fit(sizes))
    weights.winograd.emplace(winograd_of(sizes, w, zeros));
}

bool fits_32_bits(const kernels::PackedIntegers& weights, ElementType x, const IntegerConvNumbers& numbers) {
  const std::int64_t far = kernels::farthest(*integer_type_of(x), numbers.x_zero);
  return far * weights.largest_sum() + numbers.largest_bias <= INT32_MAX;
}

IntegerConvAlgorithm gemm_algorithm(const ConvSizes& sizes, const IntegerConvWeights& weights, ElementType x,
                                    bool sums_fit) {
  // Matrices with padded runs cannot be used with copied windows (im2col).
  const Algorithm copied = weights.runs_padded ? Algorithm::direct : Algorithm::gemm;
  const bool plain = kernels::ConvRows::is_plain(sizes) && !weights.runs_padded;
  const kernels::PackedIntegers& matrix = weights.groups.front();
  if (!kernels::ConvRuns::fit(sizes) || plain || !has_image(sizes) || matrix.parts() == 2 || !sums_fit)
    return copied;
  const bool padded = kernels::ConvRuns{sizes}.length() % 2 == 0 || weights.runs_padded;
  const bool on_image = padded && !matrix.zeros();
  if (on_image && is_byte(x) && kernels::usable(kernels::Instructions::avx512_vnni)) return Algorithm::dot4;
  if (weights.winograd && winograd_pays(sizes) &&
      sizes.depth() * 255 * matrix.largest() <= kernels::WinogradWeights::kLargestSum)
    return Algorithm::winograd;
  return on_image ? Algorithm::image : copied;
}

bool takes_plain(const IntegerConvPlan& plan) {
  constexpr std::int64_t kFewChannels = 4;
  return (plan.algorithm == Algorithm::image || plan.algorithm == Algorithm::dot4) &&
         plan.sizes.in_channels <= kFewChannels;
}

Result<void> run_gemm(Frame& frame, const IntegerConvInputs& inputs, const IntegerConvPlan& plan,
                      const IntegerConvNumbers& numbers, const IntegerConvWeights& weights, const Array& x,
                      Array& out) {
  if (plan.algorithm != Algorithm::gemm) {
    return on_image(frame, plan.algorithm, numbers, weights, plan.sizes, x,
                    gemm_work_of(inputs, plan.sizes, numbers, weights, 0, out));
  }
  multiply(frame, inputs, plan.sizes, numbers, weights, x, out);
  return {};
}

}  // namespace anybit::ops
