// Gradients of depthwise float32 convolutions in Layout::blocked8. Gradients by the weights are added up over
// fixed parts of the batch, then the parts in order.
#include <algorithm>

#include "kernels/conv/depthwise_gradient.hpp"
#include "ops/layout.hpp"
#include "ops/training/conv_gradient_blocked.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
constexpr std::int64_t kBlock = 8;
constexpr std::int64_t kPartsOfBatch = 8;

// [C][taps] as [C / 8][taps][8], or back; the padding is zero.
void block_weights(std::int64_t channels, std::int64_t taps, const float* w, float* blocks) {
  std::fill_n(blocks, (channels + kBlock - 1) / kBlock * kBlock * taps, 0.0f);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t k = 0; k < taps; ++k)
      blocks[(c / kBlock * taps + k) * kBlock + c % kBlock] = w[c * taps + k];
  }
}
void unblock_weights(std::int64_t channels, std::int64_t taps, const float* blocks, float* w) {
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t k = 0; k < taps; ++k)
      w[c * taps + k] = blocks[(c / kBlock * taps + k) * kBlock + c % kBlock];
  }
}

double cost_of_block(const ConvSizes& sizes) {
  return 0.3 * static_cast<double>(output_size(sizes.window) * kernel_size(sizes.window));
}

}  // namespace

Result<void> gradient_by_input_depthwise(Frame& frame, const ConvSizes& sizes, const Array& given_dy,
                                         const Array& w, const Dims& dims) {
  const Array dy = TRY(in_layout(frame, given_dy, Layout::blocked8));
  Array* out = TRY(frame.out(0, ElementType::float32, dims, Layout::blocked8));
  const std::int64_t taps = kernel_size(sizes.window), blocks = (sizes.in_channels + kBlock - 1) / kBlock;
  const std::int64_t in = input_size(sizes.window) * kBlock, positions = output_size(sizes.window) * kBlock;
  const auto weights = TRY(frame.scratch_of<float>(blocks * taps * kBlock));
  block_weights(sizes.in_channels, taps, w.data<float>(), weights.data());
  parallel(frame, sizes.batch * blocks, cost_of_block(sizes), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      kernels::depthwise_gradient_by_input(sizes.window, dy.data<float>() + i * positions,
                                           weights.data() + i % blocks * taps * kBlock,
                                           out->mutable_data<float>() + i * in);
    }
  });
  return {};
}

Result<void> gradient_by_weight_depthwise(Frame& frame, const ConvSizes& sizes, const Array& given_dy,
                                          const Array& given_x, const Dims& dims) {
  const Array dy = TRY(in_layout(frame, given_dy, Layout::blocked8));
  const Array x = TRY(in_layout(frame, given_x, Layout::blocked8));
  Array* out = TRY(frame.out(0, ElementType::float32, dims));
  const std::int64_t taps = kernel_size(sizes.window), blocks = (sizes.in_channels + kBlock - 1) / kBlock;
  const std::int64_t in = input_size(sizes.window) * kBlock, positions = output_size(sizes.window) * kBlock;
  const std::int64_t images = (sizes.batch + kPartsOfBatch - 1) / kPartsOfBatch;
  const std::int64_t parts = (sizes.batch + images - 1) / images, size = taps * kBlock;
  const auto sums = TRY(frame.scratch_of<float>(parts * blocks * size));
  std::ranges::fill(sums, 0.0f);
  const double cost = cost_of_block(sizes) * static_cast<double>(images);
  parallel(frame, parts * blocks, cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t image = i / blocks * images, block = image * blocks + i % blocks;
      kernels::depthwise_gradient_by_weight(sizes.window, {.dy = dy.data<float>() + block * positions,
                                                           .x = x.data<float>() + block * in,
                                                           .dy_stride = blocks * positions,
                                                           .x_stride = blocks * in,
                                                           .count = std::min(images, sizes.batch - image),
                                                           .dw = sums.data() + i * size});
    }
  });
  for (std::int64_t part = 1; part < parts; ++part) {
    const float* more = sums.data() + part * blocks * size;
    for (std::int64_t i = 0; i < blocks * size; ++i) sums.data()[i] += more[i];
  }
  unblock_weights(sizes.in_channels, taps, sums.data(), out->mutable_data<float>());
  return {};
}

}  // namespace anybit::ops
