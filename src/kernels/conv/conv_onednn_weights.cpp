// Reorders weights for oneDNN's kernels.
#include <algorithm>

#include "kernels/conv/conv_onednn.hpp"

namespace anybit::kernels {
namespace {

std::int64_t padded(std::int64_t channels) { return (channels + 7) / 8 * 8; }

// The index of the weight for output channel o and input channel i of a group, at tap k.
std::int64_t place(ConvKind kind, std::int64_t channels, std::int64_t taps, std::int64_t o, std::int64_t i,
                   std::int64_t k) {
  switch (kind) {
    case ConvKind::few:
      return ((o / 8 * taps + k) * channels + i) * 8 + o % 8;
    case ConvKind::depthwise:
      return (o / 8 * taps + k) * 8 + o % 8;
    case ConvKind::blocked:
      break;
  }
  return (((o / 8 * (padded(channels) / 8) + i / 8) * taps + k) * 8 + i % 8) * 8 + o % 8;
}

}  // namespace

std::int64_t conv_weight_count(ConvKind kind, const ConvSizes& sizes) {
  const std::int64_t taps = kernel_size(sizes.window);
  if (kind == ConvKind::depthwise) return padded(sizes.out_channels) * taps;
  if (kind == ConvKind::few) return padded(sizes.out_channels) * sizes.in_channels * taps;
  return sizes.groups * padded(sizes.out_per_group()) * padded(sizes.in_per_group()) * taps;
}

void order_conv_weights(ConvKind kind, const ConvSizes& sizes, const float* weights, float* ordered) {
  std::fill_n(ordered, conv_weight_count(kind, sizes), 0.0f);
  const std::int64_t taps = kernel_size(sizes.window), channels = sizes.in_per_group();
  const std::int64_t outputs = kind == ConvKind::blocked ? sizes.out_per_group() : sizes.out_channels;
  const std::int64_t group_size = padded(outputs) * padded(channels) * taps;
  // Two taps of a channel are as far apart everywhere.
  const std::int64_t step = place(kind, channels, taps, 0, 0, 1);
  for (std::int64_t o = 0; o < sizes.out_channels; ++o) {
    float* group = ordered + o / outputs * group_size;
    for (std::int64_t i = 0; i < channels; ++i) {
      const float* from = weights + (o * channels + i) * taps;
      float* to = group + place(kind, channels, taps, o % outputs, i, 0);
      for (std::int64_t k = 0; k < taps; ++k) to[k * step] = from[k];
    }
  }
}

}  // namespace anybit::kernels
