// Depthwise convolutions of 8-bit integers.
#include <cmath>
#include <limits>

#include "kernels/depthwise_whole.hpp"
#include "ops/integer_conv_parts.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using kernels::DepthwiseBlocks;
using kernels::DepthwiseWhole;

// The kernel adds the bias in 32 bits. A channel whose bias is too large for that (quantizers give channels
// of zeros a tiny scale, and so a huge bias) is done by itself, in 64.
constexpr std::int64_t kLargestProduct = 255 * 255;
constexpr std::int64_t kFewHuge = 8;  // one channel in so many

bool is_huge(std::int64_t bias, const ConvSizes& sizes) {
  return std::abs(bias) + kernel_size(sizes.window) * kLargestProduct > INT32_MAX;
}

// Where the weight of a channel lies.
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

// Bias and scales in the kernel's order.
void put_in_slots(const ConvSizes& sizes, const IntegerConvNumbers& numbers,
                  const std::vector<std::int32_t>& sums, std::span<std::int32_t> bias,
                  std::span<float> multiplier) {
  const DepthwiseBlocks blocks{sizes.out_channels};
  for (std::int64_t slot = 0; slot < blocks.slots(); ++slot) {
    const auto i = static_cast<std::size_t>(slot);
    const std::int64_t c = std::min(blocks.channel(slot), sizes.out_channels - 1);
    multiplier[i] = numbers.multiplier[c];
    // Channels with a huge bias are done apart.
    const std::int32_t own = is_huge(numbers.bias[c], sizes) ? 0 : numbers.bias[c];
    bias[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(own) -
                                        static_cast<std::uint32_t>(numbers.x_zero) *
                                            static_cast<std::uint32_t>(sums[i]));
  }
}

Result<DepthwiseWhole> depthwise_work(Frame& frame, const ConvSizes& sizes, const IntegerConvNumbers& numbers,
                                      const IntegerConvWeights& weights, const Array& x, Array& out) {
  DepthwiseWhole work{.sizes = sizes,
                      .weights = weights.depthwise.data(),
                      .bias = nullptr,
                      .multiplier = nullptr,
                      .x_signed = x.type() == ElementType::int8,
                      .y_signed = out.type() == ElementType::int8,
                      .x_zero = numbers.x_zero,
                      .y_zero = numbers.y_zero,
                      .x = x.bytes(),
                      .y = out.mutable_bytes()};
  if (weights.fixed && numbers.bias == weights.fixed->numbers.bias) {
    work.bias = weights.fixed->slot_biases.data();
    work.multiplier = weights.fixed->slot_multipliers.data();
    return work;
  }
  const std::int64_t slots = DepthwiseBlocks{sizes.out_channels}.slots();
  const auto bias = TRY(frame.scratch_of<std::int32_t>(slots));
  const auto multiplier = TRY(frame.scratch_of<float>(slots));
  put_in_slots(sizes, numbers, weights.depthwise_sums, bias, multiplier);
  work.bias = bias.data();
  work.multiplier = multiplier.data();
  return work;
}

}  // namespace

bool fits_depthwise(const IntegerConvInputs& inputs, const ConvSizes& sizes,
                    const IntegerConvNumbers& numbers) {
  const auto huge = [&](std::int32_t bias) { return is_huge(bias, sizes); };
  return inputs.quantized && kernel_size(sizes.window) <= DepthwiseWhole::kMostTaps &&
         std::count_if(numbers.bias, numbers.bias + sizes.out_channels, huge) * kFewHuge <=
             sizes.out_channels;
}

Result<void> run_depthwise(Frame& frame, const ConvSizes& sizes, const IntegerConvNumbers& numbers,
                           const IntegerConvWeights& weights, const Array& x, Array& out) {
  const DepthwiseWhole work = TRY(depthwise_work(frame, sizes, numbers, weights, x, out));
  const double cost = 0.03 * static_cast<double>(sizes.window[2].output * sizes.out_channels) *
                      static_cast<double>(kernel_size(sizes.window));
  parallel(frame, sizes.batch * sizes.window[0].output * sizes.window[1].output, cost,
           [&work](std::int64_t first, std::int64_t last) { kernels::depthwise_whole(work, first, last); });
  if (!is_huge(numbers.largest_bias, sizes)) return {};
  for (std::int64_t c = 0; c < sizes.out_channels; ++c) {
    if (!is_huge(numbers.bias[c], sizes)) continue;
    for_octet(x.type(), [&]<class X>(X) {
      for_octet(out.type(), [&]<class Y>(Y) {
        depthwise_channel(sizes, numbers, weights, c, x.data<X>(), out.mutable_data<Y>());
      });
    });
  }
  return {};
}

void pack_depthwise(const ConvSizes& sizes, const IntegerConvInputs& inputs, const Array& w,
                    const std::vector<std::int32_t>& zeros, IntegerConvWeights& weights) {
  const std::int64_t taps = kernel_size(sizes.window);
  const DepthwiseBlocks blocks{w.dim(0)};
  weights.depthwise.resize(static_cast<std::size_t>(blocks.slots() * (taps + taps % 2)));
  weights.depthwise_sums.resize(static_cast<std::size_t>(blocks.slots()));
  for (std::int64_t slot = 0; slot < blocks.slots(); ++slot) {
    const std::int64_t c = blocks.channel(slot);
    for (std::int64_t k = 0; k < taps && c < w.dim(0); ++k) {
      const std::int32_t weight = octet(w, c * taps + k) - zeros[static_cast<std::size_t>(c)];
      weights.depthwise[depthwise_index(sizes, slot, k)] = static_cast<std::int16_t>(weight);
      weights.depthwise_sums[static_cast<std::size_t>(slot)] += weight;
    }
  }
  if (weights.fixed && inputs.quantized) {
    FixedConvNumbers& fixed = *weights.fixed;
    fixed.slot_biases.resize(static_cast<std::size_t>(blocks.slots()));
    fixed.slot_multipliers.resize(static_cast<std::size_t>(blocks.slots()));
    put_in_slots(sizes, fixed.numbers, weights.depthwise_sums, fixed.slot_biases, fixed.slot_multipliers);
  }
}

}  // namespace anybit::ops
