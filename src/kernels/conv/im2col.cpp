#include "kernels/conv/im2col.hpp"

#include <cstring>

namespace anybit::kernels {

ConvRows::ConvRows(const ConvSizes& sizes, std::int64_t group, const void* x, std::int64_t bytes,
                   const void* padding)
    : sizes_(sizes),
      x_(static_cast<const std::byte*>(x) + group * sizes.in_per_group() * bytes),
      channels_(sizes.in_per_group()),
      bytes_(bytes) {
  std::memcpy(padding_, padding, static_cast<std::size_t>(bytes));
  padding_is_zero_ =
      std::all_of(padding_, padding_ + bytes, [](std::byte one) { return one == std::byte{0}; });
}

bool ConvRows::is_plain(const ConvSizes& sizes) {
  return std::all_of(sizes.window.begin(), sizes.window.end(), [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.before == 0 && axis.after == 0;
  });
}

void ConvRows::pad(std::byte* to, std::int64_t count) const {
  if (bytes_ == 1 || padding_is_zero_) {
    std::memset(to, std::to_integer<int>(padding_[0]), static_cast<std::size_t>(count * bytes_));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * bytes_, padding_, static_cast<std::size_t>(bytes_));
}

// Columns are read tap by tap; taps that are adjacent in the input are read at once.
void ConvRows::read_row(std::int64_t row, std::int64_t k, std::int64_t count, std::byte* to) const {
  const auto& [d, h, w] = sizes_.window;
  const std::int64_t ow = row % w.output, oh = row / w.output % h.output;
  const std::int64_t od = row / (w.output * h.output) % d.output, n = row / (w.output * h.output * d.output);
  const bool together = w.dilation == 1 && channels_ == sizes_.in_channels;
  const std::int64_t end = k + count;
  while (k < end) {
    const std::int64_t tap = k / channels_, channel = k % channels_, kw = tap % w.kernel;
    const std::int64_t ih = start_of(h, oh) + tap / w.kernel % h.kernel * h.dilation;
    const std::int64_t id = start_of(d, od) + tap / (w.kernel * h.kernel) * d.dilation;
    const std::int64_t iw = start_of(w, ow) + kw * w.dilation;
    const bool inside = id >= 0 && id < d.input && ih >= 0 && ih < h.input;
    std::int64_t taps = 1;
    bool real = inside && iw >= 0 && iw < w.input;
    if (!inside) {
      taps = w.kernel - kw;
    } else if (real && together) {
      taps = std::min(w.kernel - kw, w.input - iw);
    }
    const std::int64_t part = std::min(taps * channels_ - channel, end - k);
    if (real) {
      const std::int64_t place = ((n * d.input + id) * h.input + ih) * w.input + iw;
      std::memcpy(to, x_ + (place * sizes_.in_channels + channel) * bytes_,
                  static_cast<std::size_t>(part * bytes_));
    } else {
      pad(to, part);
    }
    to += part * bytes_;
    k += part;
  }
}

void ConvRows::read(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count, void* to,
                    std::int64_t stride) const {
  for (std::int64_t i = 0; i < rows; ++i) {
    read_row(row + i, k, count, static_cast<std::byte*>(to) + i * stride * bytes_);
  }
}

}  // namespace anybit::kernels
