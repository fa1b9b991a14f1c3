// Convolution of integers, exact, straight from its input: as signed numbers of 16 bits, with its padding,
// the input holds every window's rows as they are. Nothing is copied window by window.
#pragma once

#include "kernels/conv_direct.hpp"
#include "kernels/gemm.hpp"

namespace anybit::kernels {

// One or two spatial axes, one group. A window is one run of numbers for each row of the kernel; runs are
// padded to an even length, with weights of zero.
struct ConvRuns {
  const ConvSizes& sizes;

  // Needs nothing of the sizes but what the weights tell.
  static bool fit(const ConvSizes& sizes);

  std::int64_t length() const { return sizes.window[2].kernel * sizes.in_channels; }
  std::int64_t even_length() const { return length() + length() % 2; }
  std::int64_t depth() const {
    return sizes.window[1].kernel * even_length();
  }  // rows of the weights' matrix
  // The image: [batch][height][width][channels], and how many numbers it takes.
  std::int64_t height() const { return padded(sizes.window[1]); }
  std::int64_t width() const { return padded(sizes.window[2]); }
  std::int64_t line() const { return width() * sizes.in_channels; }
  static constexpr std::int64_t kBeyond = 4;  // that kernels may read behind a run
  std::int64_t elements() const { return sizes.batch * height() * line() + kBeyond; }

  // x: [batch][height][width][channels], or [batch][channels][height][width]. Bytes become less by the zero
  // point; of numbers of 16 bits, what is left of it (left_zero) is to be taken off the sums.
  void lay_out(Whole type, const void* x, bool channels_last, std::int32_t zero, std::int16_t* to,
               ThreadPool& pool) const;
  // Bytes as they are, but unsigned (dot4_product.hpp).
  void lay_out(Whole type, const void* x, bool channels_last, std::int32_t zero, std::uint8_t* to,
               ThreadPool& pool) const;

 private:
  static std::int64_t padded(const WindowAxis& axis) { return axis.before + axis.input + axis.after; }
};

// Where windows [first, first + count) begin in the image.
template <class T>
void find_windows(const ConvRuns& runs, const T* image, std::int64_t first, std::int64_t count,
                  const T** at) {
  const auto& [d, h, w] = runs.sizes.window;
  std::int64_t ow = first % w.output, oh = first / w.output % h.output, n = first / (w.output * h.output);
  for (std::int64_t i = 0; i < count; ++i) {
    at[i] =
        image + (n * runs.height() + oh * h.stride) * runs.line() + ow * w.stride * runs.sizes.in_channels;
    if (++ow < w.output) continue;
    ow = 0;
    if (++oh < h.output) continue;
    oh = 0;
    ++n;
  }
}

struct ImageWindows {
  const ConvRuns& runs;
  const std::int16_t* image;
  const WholeProduct& product;
};

// product.m = batch · places, .k = ConvRuns::depth(); A is `image`. B is packed, and its zero points are
// zero. The sums fit 32 bits, or are int32.
void conv_whole(const ConvRuns& runs, const std::int16_t* image, const WholeProduct& product,
                ThreadPool& pool);

}  // namespace anybit::kernels
