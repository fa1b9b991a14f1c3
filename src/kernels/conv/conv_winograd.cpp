// Weights and choice of Winograd's algorithm (conv_winograd.hpp).
#include "kernels/conv/conv_winograd.hpp"

#include <algorithm>

#include "kernels/instructions.hpp"

namespace anybit::kernels {
namespace {

// G·v: the polynomial of three weights at each point, divided by the product of its distances to the others.
void spread_three(const double (&g)[3], double (&to)[6]) {
  constexpr double kPoints[] = {0, 0.625, -0.625, 1.5, -1.5};
  for (int i = 0; i < 5; ++i) {
    double distances = 1;
    for (int j = 0; j < 5; ++j) distances *= j == i ? 1 : kPoints[i] - kPoints[j];
    to[i] = (g[0] + kPoints[i] * (g[1] + kPoints[i] * g[2])) / distances;
  }
  to[5] = g[2];
}

}  // namespace

bool FloatWinogradWeights::fit(const ConvSizes& sizes) {
  constexpr std::int64_t kFewest = 8;
  const auto& [d, h, w] = sizes.window;
  return sizes.groups == 1 && d.kernel == 1 && h.kernel == 3 && w.kernel == 3 &&
         sizes.in_channels >= kFewest && sizes.out_channels >= kFewest;
}

std::int64_t FloatWinogradWeights::bytes(std::int64_t outputs, std::int64_t inputs) {
  return 36 * ((outputs + 15) / 16 * 16) * channel_blocks(inputs) * 8 * 4;
}

void FloatWinogradWeights::transform(std::int64_t outputs, std::int64_t inputs, const float* weights,
                                     float* to) {
  const std::int64_t panels = (outputs + 15) / 16, depth = channel_blocks(inputs) * 8;
  std::fill_n(to, bytes(outputs, inputs) / 4, 0.0F);
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t c = 0; c < inputs; ++c) {
      const float* g = weights + (o * inputs + c) * 9;
      double rows[3][6];
      for (int y = 0; y < 3; ++y) spread_three({g[3 * y], g[3 * y + 1], g[3 * y + 2]}, rows[y]);
      for (int x = 0; x < 6; ++x) {
        double column[6];
        spread_three({rows[0][x], rows[1][x], rows[2][x]}, column);
        for (int y = 0; y < 6; ++y) {
          to[(((y * 6 + x) * panels + o / 16) * depth + c) * 16 + o % 16] = static_cast<float>(column[y]);
        }
      }
    }
  }
}

bool float_winograd_pays(const ConvSizes& sizes) {
  const auto& [d, h, w] = sizes.window;
  if (d.input != 1 || d.output != 1) return false;
  for (const WindowAxis& axis : {h, w}) {
    if (axis.stride != 1 || axis.dilation != 1) return false;
  }
  // Measured: with large weights and few tiles, the time to read the weights decides, unless vectors are
  // narrow.
  const std::int64_t weights = FloatWinogradWeights::bytes(sizes.out_channels, sizes.in_channels);
  const bool streamed = weights > std::int64_t{16} << 20;
  const std::int64_t fewest = streamed && usable(Instructions::avx512) ? 8 : 2;
  const std::int64_t tiles = ((h.output + 3) / 4) * ((w.output + 3) / 4);
  // Tiles past the edges cost as much as others.
  return tiles >= fewest && 16 * tiles <= 2 * h.output * w.output;
}

}  // namespace anybit::kernels
