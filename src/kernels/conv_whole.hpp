// Convolution of 8-bit integers, exact, straight from its input: widened to 16 bits once, less its zero point
// and with its padding, the input holds every window's rows as they are. Nothing is copied window by window.
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
  // The widened input: [batch][height][width][channels], and how many numbers it takes.
  std::int64_t height() const { return padded(sizes.window[1]); }
  std::int64_t width() const { return padded(sizes.window[2]); }
  std::int64_t line() const { return width() * sizes.in_channels; }
  std::int64_t elements() const { return sizes.batch * height() * line() + 1; }  // a run may be longer by one

  // x: [batch][height][width][channels], or [batch][channels][height][width].
  void widen(Whole type, const void* x, bool channels_last, std::int32_t zero, std::int16_t* to,
             ThreadPool& pool) const;

 private:
  static std::int64_t padded(const WindowAxis& axis) { return axis.before + axis.input + axis.after; }
};

// product.m = batch · places, .k = ConvRuns::depth(); A is `image`. B is packed, and its zero points are
// zero. The sums fit 32 bits, or are int32.
void conv_whole(const ConvRuns& runs, const std::int16_t* image, const WholeProduct& product,
                ThreadPool& pool);

}  // namespace anybit::kernels
