// Float depthwise convolution in blocks of 8 channels (Layout::blocked8). Every result is one sum: bias, then
// taps in order; taps in the padding are left out.
#pragma once

#include "kernels/conv/conv_float.hpp"

namespace anybit::kernels {

struct FloatDepthwiseWork {
  ConvSizes sizes;                 // out_channels counts; each has its own channel of x
  const float* x = nullptr;        // [batch][channel block][space][8]
  const float* plain_x = nullptr;  // instead of x: [batch][channel][space]
  const float* weights = nullptr;  // [channel block][taps][8], by depthwise_panels
  const float* bias = nullptr;     // zero past the last channel; null: none
  float* y = nullptr;
  const float* addend = nullptr;  // added to the result; laid out as y is, and may be y
  float* plain_y = nullptr;       // instead of y and addend: [batch][channel][space]
  Activation activation;
  const ConvFinish* finish = nullptr;  // null: nothing
};
void depthwise_float(const FloatDepthwiseWork& work, ThreadPool& pool);

// From [channels][taps]; zero past the last channel.
void depthwise_panels(std::int64_t channels, std::int64_t taps, const float* weights, float* to);

}  // namespace anybit::kernels
