// A tensor [batch, channels, space…] as rows, for normalizations over each channel: one row of positions per
// image and channel if plain, rows of 8 adjacent channels if blocked. T: float, double.
#pragma once

#include <span>

#include "kernels/reduce/gradient_rows.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

struct ChannelRows {
  std::int64_t batch = 1, channels = 1, space = 1;
  std::int64_t lanes = 1;  // adjacent channels: 1 or 8
};

// Whether the layout is one of these: plain, or blocked without padding in float32.
bool is_by_channel(const Array& array);
ChannelRows channel_rows(const Array& array);

template <class T>
void moments_of_channels(const Frame& frame, const ChannelRows& rows, const T* x, std::span<double> mean,
                         std::span<double> variance);
// Σ dy and Σ dy · (x - mean) of each channel.
template <class T>
void pair_sums_of_channels(const Frame& frame, const ChannelRows& rows, const T* dy, const T* x,
                           std::span<const double> mean, std::span<kernels::PairSums> sums);

// Calls body(first element, number of positions, first channel) for each row, on the threads.
template <class Body>
void over_channel_rows(const Frame& frame, const ChannelRows& rows, const Body& body) {
  const std::int64_t blocks = rows.channels / rows.lanes, size = rows.space * rows.lanes;
  parallel(frame, rows.batch * blocks, 10 + 0.3 * static_cast<double>(size),
           [&](std::int64_t first, std::int64_t last) {
             for (std::int64_t i = first; i < last; ++i) body(i * size, rows.space, i % blocks * rows.lanes);
           });
}

// The numbers of 8 channels as floats.
template <class Of>
struct Eight {
  explicit Eight(const Of& of) {
    for (std::size_t i = 0; i < kernels::kEight; ++i) data[i] = static_cast<float>(of(i));
  }
  float data[kernels::kEight];
};

// y = dy · a + x · b + c with the numbers of the channel.
template <class T, class Mix>
void mix_channels(const Frame& frame, const ChannelRows& rows, const T* dy, const T* x,
                  std::span<const Mix> mixes, T* y) {
  over_channel_rows(frame, rows, [&](std::int64_t at, std::int64_t n, std::int64_t channel) {
    const Mix* mix = mixes.data() + channel;
    if constexpr (std::is_same_v<T, float>) {
      const auto size = static_cast<std::size_t>(n);
      if (rows.lanes == 1) {
        kernels::mix_rows(dy + at, x + at, size, static_cast<float>(mix->a), static_cast<float>(mix->b),
                          static_cast<float>(mix->c), y + at);
      } else {
        const Eight a([&](std::size_t i) { return mix[i].a; }), b([&](std::size_t i) { return mix[i].b; });
        const Eight c([&](std::size_t i) { return mix[i].c; });
        kernels::mix_rows_of_8(dy + at, x + at, size, a.data, b.data, c.data, y + at);
      }
    } else {
      for (std::int64_t i = at; i < at + n; ++i) y[i] = dy[i] * mix->a + x[i] * mix->b + mix->c;
    }
  });
}

}  // namespace anybit::ops
