// Gradients of a convolution by its input and by its weights, as plain loops: the reference for the fast
// kernels, and the kernels of double. NCHW. T: float, double.
#pragma once

#include <algorithm>

#include "kernels/conv/conv_direct.hpp"

namespace anybit::kernels {

// Calls body(output row, input row, tap) for all pairs of rows and taps that meet; a tap is the first of its
// row.
template <class Body>
void each_meeting_of_rows(const Window& window, const Body& body) {
  const auto& [d, h, w] = window;
  for (std::int64_t kd = 0; kd < d.kernel; ++kd) {
    const Range depth = outputs_inside(d, kd);
    for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
      const Range height = outputs_inside(h, kh);
      for (std::int64_t od = depth.first; od < depth.last; ++od) {
        const std::int64_t id = start_of(d, od) + kd * d.dilation;
        for (std::int64_t oh = height.first; oh < height.last; ++oh) {
          const std::int64_t ih = start_of(h, oh) + kh * h.dilation;
          body(od * h.output + oh, id * h.input + ih, (kd * h.kernel + kh) * w.kernel);
        }
      }
    }
  }
}

// Maps [first, last) of batch · input channels.
template <class T>
void gradient_by_input(const ConvSizes& sizes, const T* dy, const T* w, std::int64_t first, std::int64_t last,
                       T* dx) {
  const WindowAxis& line = sizes.window[2];
  const std::int64_t in = input_size(sizes.window), out = output_size(sizes.window);
  const std::int64_t taps = kernel_size(sizes.window), channels = sizes.in_per_group();
  for (std::int64_t map = first; map < last; ++map) {
    const std::int64_t n = map / sizes.in_channels, ic = map % sizes.in_channels;
    T* sums = dx + map * in;
    std::fill_n(sums, in, T(0));
    for (std::int64_t i = 0; i < sizes.out_per_group(); ++i) {
      const std::int64_t oc = ic / channels * sizes.out_per_group() + i;
      const T* gradients = dy + (n * sizes.out_channels + oc) * out;
      const T* weights = w + (oc * channels + ic % channels) * taps;
      each_meeting_of_rows(sizes.window, [&](std::int64_t row, std::int64_t into, std::int64_t tap) {
        for (std::int64_t kw = 0; kw < line.kernel; ++kw) {
          const Range inside = outputs_inside(line, kw);
          T* to = sums + into * line.input + kw * line.dilation - line.before;
          for (std::int64_t ow = inside.first; ow < inside.last; ++ow)
            to[ow * line.stride] += weights[tap + kw] * gradients[row * line.output + ow];
        }
      });
    }
  }
}

// Pairs [first, last) of output channels · input channels of a group.
template <class T>
void gradient_by_weight(const ConvSizes& sizes, const T* dy, const T* x, std::int64_t first,
                        std::int64_t last, T* dw) {
  const WindowAxis& line = sizes.window[2];
  const std::int64_t in = input_size(sizes.window), out = output_size(sizes.window);
  const std::int64_t taps = kernel_size(sizes.window), channels = sizes.in_per_group();
  for (std::int64_t pair = first; pair < last; ++pair) {
    const std::int64_t oc = pair / channels, ic = oc / sizes.out_per_group() * channels + pair % channels;
    T* sums = dw + pair * taps;
    std::fill_n(sums, taps, T(0));
    for (std::int64_t n = 0; n < sizes.batch; ++n) {
      const T* gradients = dy + (n * sizes.out_channels + oc) * out;
      const T* image = x + (n * sizes.in_channels + ic) * in;
      each_meeting_of_rows(sizes.window, [&](std::int64_t row, std::int64_t from, std::int64_t tap) {
        for (std::int64_t kw = 0; kw < line.kernel; ++kw) {
          const Range inside = outputs_inside(line, kw);
          const T* read = image + from * line.input + kw * line.dilation - line.before;
          T sum = 0;
          for (std::int64_t ow = inside.first; ow < inside.last; ++ow)
            sum += gradients[row * line.output + ow] * read[ow * line.stride];
          sums[tap + kw] += sum;
        }
      });
    }
  }
}

}  // namespace anybit::kernels
