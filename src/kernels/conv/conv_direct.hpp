// Direct convolution for any type: the reference for the fast kernels, and the fallback where there is none.
// NCHW.
#pragma once

#include <array>

#include "kernels/conv/window.hpp"

namespace anybit::kernels {

struct ConvSizes {
  std::int64_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
  Window window;

  std::int64_t in_per_group() const { return in_channels / groups; }
  std::int64_t out_per_group() const { return out_channels / groups; }
  // Terms per sum (reduction length).
  std::int64_t depth() const { return in_per_group() * kernel_size(window); }
  std::int64_t rows() const { return batch * out_channels * window[0].output * window[1].output; }

  friend bool operator==(const ConvSizes&, const ConvSizes&) = default;
};

// Adds one input channel's terms to outputs [from, from + count) of a row.
template <class Acc, class X, class W, class ValueX, class ValueW>
void add_channel(const Window& window, std::int64_t od, std::int64_t oh, std::int64_t from,
                 std::int64_t count, const X* x, const W* w, const ValueX& value_x, const ValueW& value_w,
                 Acc* sums) {
  const auto& [d, h, c] = window;
  const Range kd_range = taps_inside(d, od), kh_range = taps_inside(h, oh);
  for (std::int64_t kd = kd_range.first; kd < kd_range.last; ++kd) {
    for (std::int64_t kh = kh_range.first; kh < kh_range.last; ++kh) {
      const std::int64_t id = start_of(d, od) + kd * d.dilation, ih = start_of(h, oh) + kh * h.dilation;
      const X* row = x + (id * h.input + ih) * c.input;
      for (std::int64_t kw = 0; kw < c.kernel; ++kw) {
        const Acc weight = value_w(w[(kd * h.kernel + kh) * c.kernel + kw]);
        const Range inside = outputs_inside(c, kw);
        const std::int64_t first = std::max(inside.first, from), last = std::min(inside.last, from + count);
        const std::int64_t shift = kw * c.dilation - c.before;
        for (std::int64_t o = first; o < last; ++o) {
          sums[o - from] += weight * value_x(row[o * c.stride + shift]);
        }
      }
    }
  }
}

// Rows [first, last) of ConvSizes::rows(). value_x(x) and value_w(w, output channel) give the two factors;
// finish(sum, output channel, index) stores each sum.
template <class Acc, class X, class W, class ValueX, class ValueW, class Finish>
void conv_direct(const ConvSizes& sizes, const X* x, const W* w, std::int64_t first, std::int64_t last,
                 const ValueX& value_x, const ValueW& value_w, const Finish& finish) {
  constexpr std::int64_t kTile = 128;
  std::array<Acc, kTile> sums;
  const Window& window = sizes.window;
  const std::int64_t width = window[2].output, channels = sizes.in_per_group();
  const std::int64_t taps = kernel_size(window), space = input_size(window);
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t oh = row % window[1].output, od = row / window[1].output % window[0].output;
    const std::int64_t map = row / (window[1].output * window[0].output);
    const std::int64_t oc = map % sizes.out_channels, n = map / sizes.out_channels;
    const X* image = x + (n * sizes.in_channels + oc / sizes.out_per_group() * channels) * space;
    const W* weights = w + oc * channels * taps;
    for (std::int64_t from = 0; from < width; from += kTile) {
      const std::int64_t count = std::min(kTile, width - from);
      std::fill_n(sums.begin(), count, Acc());
      for (std::int64_t ic = 0; ic < channels; ++ic) {
        add_channel(
            window, od, oh, from, count, image + ic * space, weights + ic * taps, value_x,
            [&](W one) { return value_w(one, oc); }, sums.data());
      }
      for (std::int64_t i = 0; i < count; ++i)
        finish(sums[static_cast<std::size_t>(i)], oc, row * width + from + i);
    }
  }
}

}  // namespace anybit::kernels
