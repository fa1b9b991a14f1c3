#include "ops/conv/conv_quantized_depthwise.hpp"

#include <cmath>
#include <limits>

#include "kernels/conv/depthwise_int8.hpp"
#include "ops/matmul/integer_gemm.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using kernels::DepthwiseBlocks;
using kernels::IntegerDepthwise;

// With 8-bit tensors, the kernel adds the bias in 32 bits. A channel whose bias is too large for that
// (quantizers give all-zero channels a tiny scale, and so a huge bias) is computed separately, in 64 bits.
constexpr std::int64_t kLargestProduct = 255 * 255;
constexpr std::int64_t kFewHuge = 8;  // at most one channel in so many

bool is_huge(const IntegerConvInputs& inputs, std::int64_t bias, const ConvSizes& sizes) {
  return !inputs.wide && std::abs(bias) + kernel_size(sizes.window) * kLargestProduct > INT32_MAX;
}

// Index of a channel's weight.
std::size_t depthwise_index(const ConvSizes& sizes, std::int64_t slot, std::int64_t tap) {
  const std::int64_t pairs = (kernel_size(sizes.window) + 1) / 2, block = slot / DepthwiseBlocks::kBlock;
  return static_cast<std::size_t>(
      ((block * pairs + tap / 2) * DepthwiseBlocks::kBlock + slot % DepthwiseBlocks::kBlock) * 2 + tap % 2);
}

template <class X, class Y>
void depthwise_channel(const ConvSizes& sizes, const IntegerConvNumbers& numbers,
                       const IntegerConvWeights& weights, std::int64_t c, const X* x, Y* y) {
  const auto& [d, h, w] = sizes.window;
  const std::int64_t channels = sizes.out_channels, slot = DepthwiseBlocks{channels}.slot(c);
  constexpr float kLow = std::numeric_limits<Y>::min(), kHigh = std::numeric_limits<Y>::max();
  const auto zero = static_cast<float>(numbers.y_zero);
  const std::int64_t places = sizes.batch * output_size(sizes.window);
  for (std::int64_t at = 0; at < places; ++at) {
    const std::int64_t ow = at % w.output, oh = at / w.output % h.output,
                       od = at / (w.output * h.output) % d.output;
    const std::int64_t n = at / output_size(sizes.window);
    const auto depth = taps_inside(d, od), height = taps_inside(h, oh), width = taps_inside(w, ow);
    std::int64_t sum = numbers.bias[c];
    for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
      for (std::int64_t kh = height.first; kh < height.last; ++kh) {
        for (std::int64_t kw = width.first; kw < width.last; ++kw) {
          const std::int64_t id = start_of(d, od) + kd * d.dilation, ih = start_of(h, oh) + kh * h.dilation;
          const std::int64_t iw = start_of(w, ow) + kw * w.dilation;
          const std::int64_t from = (((n * d.input + id) * h.input + ih) * w.input + iw) * channels + c;
          const std::int64_t tap = (kd * h.kernel + kh) * w.kernel + kw;
          sum += (x[from] - numbers.x_zero) * weights.depthwise[depthwise_index(sizes, slot, tap)];
        }
      }
    }
    const float scaled = std::nearbyint(static_cast<float>(sum) * numbers.multiplier[c]) + zero;
    y[at * channels + c] = static_cast<Y>(std::clamp(scaled, kLow, kHigh));
  }
}

// Per-channel parameters in the kernel's slot order, as far as the result needs them.
struct Slots {
  std::span<std::int32_t> bias;
  std::span<double> wide_bias = {};
  std::span<float> multiplier = {}, addend = {};
};

// `left_zero`: see IntegerDepthwise.
void put_in_slots(const IntegerConvInputs& inputs, const ConvSizes& sizes, const IntegerConvNumbers& numbers,
                  const std::vector<std::int32_t>& sums, std::int32_t left_zero, const Slots& to) {
  const DepthwiseBlocks blocks{sizes.out_channels};
  for (std::int64_t slot = 0; slot < blocks.slots(); ++slot) {
    const auto i = static_cast<std::size_t>(slot);
    const std::int64_t c = std::min(blocks.channel(slot), sizes.out_channels - 1);
    if (!to.multiplier.empty()) to.multiplier[i] = numbers.multiplier[c];
    if (!to.addend.empty()) to.addend[i] = numbers.addend ? numbers.addend[c] : 0.0F;
    // Channels with a huge bias are computed separately.
    const std::int32_t own = numbers.bias && !is_huge(inputs, numbers.bias[c], sizes) ? numbers.bias[c] : 0;
    if (!to.wide_bias.empty()) to.wide_bias[i] = own - static_cast<double>(left_zero) * sums[i];
    to.bias[i] =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(own) - static_cast<std::uint32_t>(left_zero) *
                                                                        static_cast<std::uint32_t>(sums[i]));
  }
}

Result<IntegerDepthwise> depthwise_work(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
                                        const IntegerConvNumbers& numbers, const IntegerConvWeights& weights,
                                        const Array& x, Array& out) {
  IntegerDepthwise work{.sizes = sizes,
                        .weights = weights.depthwise.data(),
                        .bias = nullptr,
                        .multiplier = nullptr,
                        .addend = nullptr,
                        .x_type = *integer_type_of(x.type()),
                        .result = kernel_result(out.type()),
                        .x_zero = numbers.x_zero,
                        .y_zero = numbers.y_zero,
                        .x = x.bytes(),
                        .y = out.mutable_bytes()};
  if (numbers.bias && weights.fixed && numbers.bias == weights.fixed->numbers.bias) {
    work.bias = weights.fixed->slot_biases.data();
    work.multiplier = weights.fixed->slot_multipliers.data();
    if (!weights.depthwise_upper.empty()) {
      work.upper = weights.depthwise_upper.data();
      work.wide_bias = weights.fixed->slot_wide_biases.data();
    }
    return work;
  }
  const std::int64_t slots = DepthwiseBlocks{sizes.out_channels}.slots();
  Slots to{.bias = TRY(frame.scratch_of<std::int32_t>(slots))};
  if (inputs.result != ConvResult::sums) to.multiplier = TRY(frame.scratch_of<float>(slots));
  if (inputs.result == ConvResult::reals) to.addend = TRY(frame.scratch_of<float>(slots));
  put_in_slots(inputs, sizes, numbers, weights.depthwise_sums, work.left_zero(), to);
  work.bias = to.bias.data();
  work.multiplier = to.multiplier.data();
  work.addend = to.addend.data();
  return work;
}

std::size_t slots_of(const ConvSizes& sizes) {
  return static_cast<std::size_t>(DepthwiseBlocks{sizes.out_channels}.slots());
}
std::size_t packed_size(const ConvSizes& sizes) {
  const std::int64_t taps = kernel_size(sizes.window);
  return slots_of(sizes) * static_cast<std::size_t>(taps + taps % 2);
}

// Splits weights into two parts if there is memory for the upper parts.
void put_weights(const ConvSizes& sizes, const Array& w, std::span<const std::int32_t> zeros,
                 IntegerConvWeights& weights) {
  const std::int64_t taps = kernel_size(sizes.window);
  const DepthwiseBlocks blocks{w.dim(0)};
  const bool two = !weights.depthwise_upper.empty();
  weights.depthwise.resize(packed_size(sizes));
  weights.depthwise_sums.resize(slots_of(sizes));
  for (std::int64_t slot = 0; slot < blocks.slots(); ++slot) {
    const std::int64_t c = blocks.channel(slot);
    for (std::int64_t k = 0; k < taps && c < w.dim(0); ++k) {
      const std::int32_t weight = code_at(w, c * taps + k) - zeros[static_cast<std::size_t>(c)];
      const std::size_t at = depthwise_index(sizes, slot, k);
      weights.depthwise[at] = static_cast<std::int16_t>(two ? IntegerDepthwise::lower_part(weight) : weight);
      if (two) weights.depthwise_upper[at] = static_cast<std::int16_t>(IntegerDepthwise::upper_part(weight));
      weights.depthwise_sums[static_cast<std::size_t>(slot)] += weight;
    }
  }
}

void put_numbers(const IntegerConvInputs& inputs, const ConvSizes& sizes, std::int32_t left_zero,
                 IntegerConvWeights& weights) {
  FixedConvNumbers& fixed = *weights.fixed;
  fixed.slot_biases.resize(slots_of(sizes));
  fixed.slot_multipliers.resize(slots_of(sizes));
  put_in_slots(inputs, sizes, fixed.numbers, weights.depthwise_sums, left_zero,
               {fixed.slot_biases, fixed.slot_wide_biases, fixed.slot_multipliers, {}});
}

// Whether a weight exceeds int16, or a possible sum exceeds 32 bits.
bool needs_two_parts(const ConvSizes& sizes, const Array& w, ElementType x,
                     const IntegerConvNumbers& numbers) {
  const std::int64_t taps = kernel_size(sizes.window), far = is_byte(x) ? 255 : 65535;
  for (std::int64_t c = 0; c < sizes.out_channels; ++c) {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < taps; ++k) {
      const std::int64_t weight = std::abs(code_at(w, c * taps + k) - numbers.w_zero[c]);
      if (weight > INT16_MAX) return true;
      sum += weight;
    }
    if (far * sum + std::abs(std::int64_t{numbers.bias[c]}) > INT32_MAX) return true;
  }
  return false;
}

}  // namespace

bool is_depthwise(const ConvSizes& sizes) {
  return sizes.in_per_group() == 1 && sizes.out_per_group() == 1 && sizes.groups > 1;
}

bool fits_depthwise(const IntegerConvInputs& inputs, const ConvSizes& sizes,
                    const IntegerConvNumbers& numbers) {
  if (kernel_size(sizes.window) > IntegerDepthwise::kMostTaps) return false;
  if (inputs.result != ConvResult::quantized) return true;
  const auto huge = [&](std::int32_t bias) { return is_huge(inputs, bias, sizes); };
  return std::count_if(numbers.bias, numbers.bias + sizes.out_channels, huge) * kFewHuge <=
         sizes.out_channels;
}

Result<void> run_depthwise(Frame& frame, const IntegerConvInputs& inputs, const ConvSizes& sizes,
                           const IntegerConvNumbers& numbers, const IntegerConvWeights& weights,
                           const Array& x, Array& out) {
  const IntegerDepthwise work = TRY(depthwise_work(frame, inputs, sizes, numbers, weights, x, out));
  const double cost = 0.03 * static_cast<double>(sizes.window[2].output * sizes.out_channels) *
                      static_cast<double>(kernel_size(sizes.window));
  parallel(frame, sizes.batch * sizes.window[0].output * sizes.window[1].output, cost,
           [&work](std::int64_t first, std::int64_t last) { kernels::depthwise_integer(work, first, last); });
  if (!is_huge(inputs, numbers.largest_bias, sizes)) return {};
  for (std::int64_t c = 0; c < sizes.out_channels; ++c) {
    if (!is_huge(inputs, numbers.bias[c], sizes)) continue;
    for_octet(x.type(), [&]<class X>(X) {
      for_octet(out.type(), [&]<class Y>(Y) {
        depthwise_channel(sizes, numbers, weights, c, x.data<X>(), out.mutable_data<Y>());
      });
    });
  }
  return {};
}

bool pack_depthwise(const ConvSizes& sizes, const IntegerConvInputs& inputs, const Array& w,
                    std::span<const std::int32_t> zeros, IntegerConvWeights& weights) {
  if (!inputs.wide) {
    put_weights(sizes, w, zeros, weights);
    if (weights.fixed && inputs.result == ConvResult::quantized)
      put_numbers(inputs, sizes, weights.fixed->numbers.x_zero, weights);
    return true;
  }
  const IntegerConvNumbers& numbers = weights.fixed->numbers;
  const ElementType x = weights.fixed->x_type;
  const bool two = needs_two_parts(sizes, w, x, numbers);
  if (kernel_size(sizes.window) > IntegerDepthwise::kMostTapsOfTwoParts || (two && is_byte(x))) return false;
  if (two) {
    weights.depthwise_upper.resize(packed_size(sizes));
    weights.fixed->slot_wide_biases.resize(slots_of(sizes));
  }
  put_weights(sizes, w, zeros, weights);
  put_numbers(inputs, sizes, x == ElementType::uint16 ? numbers.x_zero - 32768 : numbers.x_zero, weights);
  return true;
}

}  // namespace anybit::ops
