// Exact integer convolution without im2col: the input is copied once, as int16 and with its padding, so that
// each row of a window is one contiguous run.
#pragma once

#include "kernels/conv/conv_direct.hpp"
#include "kernels/gemm/gemm.hpp"

namespace anybit::kernels {

// One or two spatial axes, one group. A window has one run of values for each kernel row; runs are padded to
// an even length, with zero weights.
struct ConvRuns {
  const ConvSizes& sizes;

  // Depends on the sizes of the weights only.
  static bool fit(const ConvSizes& sizes);

  std::int64_t length() const { return sizes.window[2].kernel * sizes.in_channels; }
  std::int64_t even_length() const { return length() + length() % 2; }
  std::int64_t depth() const { return sizes.window[1].kernel * even_length(); }  // rows of the weight matrix
  // The padded image: [batch][height][width][channels], and its number of elements.
  std::int64_t height() const { return padded(sizes.window[1]); }
  std::int64_t width() const { return padded(sizes.window[2]); }
  std::int64_t line() const { return width() * sizes.in_channels; }
  static constexpr std::int64_t kBeyond = 4;  // elements that kernels may read past a run
  std::int64_t elements() const { return sizes.batch * height() * line() + kBeyond; }

  // x: [batch][height][width][channels], or [batch][channels][height][width]. The zero point is subtracted
  // from 8-bit values. 16-bit values are made signed; the rest of their zero point (left_zero) has to be
  // subtracted from the sums.
  void lay_out(IntegerType type, const void* x, bool channels_last, std::int32_t zero, std::int16_t* to,
               ThreadPool& pool) const;
  // For dot4 kernels: 8-bit values as unsigned bytes, zero point included (gemm_int8_vnni.hpp).
  void lay_out(IntegerType type, const void* x, bool channels_last, std::int32_t zero, std::uint8_t* to,
               ThreadPool& pool) const;

 private:
  static std::int64_t padded(const WindowAxis& axis) { return axis.before + axis.input + axis.after; }
};

// Finds the start of windows [first, first + count) in the image.
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
  const IntegerGemmWork& work;
};

// work.m = batch · output positions, .k = ConvRuns::depth(); A is `image`. B is packed and has no zero
// points. The sums fit 32 bits, or the result is int32.
void conv_int16(const ConvRuns& runs, const std::int16_t* image, const IntegerGemmWork& work,
                ThreadPool& pool);

}  // namespace anybit::kernels
