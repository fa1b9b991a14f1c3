#include "kernels/conv/conv_few.hpp"

#include <algorithm>

namespace anybit::kernels {
namespace {

// Places of a row of the copy.
std::int64_t few_line(const WindowAxis& w) { return (w.output - 1) * w.stride + w.kernel; }

// Interleaves the channels of a row; the usual numbers of them are compile-time constants.
template <int Channels>
void interleave(const float* x, std::int64_t channel, std::int64_t count, float* to) {
  for (std::int64_t k = 0; k < count; ++k) {
    for (int c = 0; c < Channels; ++c) to[k * Channels + c] = x[c * channel + k];
  }
}

void copy_row(const FewSource& from, const float* x, std::int64_t channels, std::int64_t count, float* to) {
  if (from.place == 1 && channels == 1) return interleave<1>(x, from.channel, count, to);
  if (from.place == 1 && channels == 3) return interleave<3>(x, from.channel, count, to);
  if (from.place == 1 && channels == 4) return interleave<4>(x, from.channel, count, to);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t k = 0; k < count; ++k) to[k * channels + c] = x[c * from.channel + k * from.place];
  }
}

}  // namespace

bool has_few_channels(const ConvSizes& sizes) {
  return sizes.groups == 1 && sizes.in_channels <= kFewChannels && sizes.window[2].dilation == 1;
}

ConvAxes few_axes(const Window& window) {
  ConvAxes axes = conv_axes(window);
  axes[2].input = few_line(window[2]);
  axes[2].taps = {0};
  return axes;
}

std::int64_t few_size(const ConvSizes& sizes) {
  const auto& [d, h, w] = sizes.window;
  return d.input * h.input * few_line(w) * sizes.in_channels;
}

void few_copy(const ConvSizes& sizes, const FewSource& from, const ConvFinish* start, float* to,
              ThreadPool& pool) {
  const auto& [d, h, w] = sizes.window;
  const std::int64_t channels = sizes.in_channels, line = few_line(w), rows = d.input * h.input;
  const std::int64_t before = std::min(w.before, line), inside = std::min(w.input, line - before);
  const auto fill = [&](std::int64_t i) {
    const float* x = from.x + i / rows * from.image + i % rows * w.input * from.place;
    float* row = to + i * line * channels;
    std::fill_n(row, before * channels, 0.0F);
    copy_row(from, x, channels, inside, row + before * channels);
    std::fill_n(row + (before + inside) * channels, (line - before - inside) * channels, 0.0F);
  };
  constexpr std::int64_t kInCache = 1 << 12;  // floats
  constexpr std::int64_t kFloats = 1 << 16;   // for one thread
  const std::int64_t many = std::max<std::int64_t>(1, kInCache / (line * channels));
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; i += many) {
      const std::int64_t end = std::min(i + many, last);
      for (std::int64_t k = i; k < end; ++k) fill(k);
      if (start) (*start)({to + i * line * channels, static_cast<std::size_t>((end - i) * line * channels)});
    }
  };
  pool.run(sizes.batch * rows, std::max<std::int64_t>(1, kFloats / (line * channels)),
           [&body](std::int64_t first, std::int64_t last) { body(first, last); });
}

std::int64_t few_panels_size(const ConvSizes& sizes) {
  return (sizes.out_channels + 15) / 16 * 16 * sizes.depth();
}

void few_panels(const ConvSizes& sizes, const float* weights, float* to) {
  const std::int64_t columns = sizes.window[2].kernel, taps = kernel_size(sizes.window);
  for (std::int64_t first = 0; first < sizes.out_channels; first += 16) {
    for (std::int64_t tap = 0; tap < taps; tap += columns) {
      for (std::int64_t i = 0; i < columns * sizes.in_channels; ++i, to += 16) {
        const std::int64_t k = tap + i / sizes.in_channels, c = i % sizes.in_channels;
        for (std::int64_t o = 0; o < 16; ++o) {
          const bool real = first + o < sizes.out_channels;
          to[o] = real ? weights[((first + o) * sizes.in_channels + c) * taps + k] : 0;
        }
      }
    }
  }
}

}  // namespace anybit::kernels
