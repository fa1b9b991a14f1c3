// Gradients of a depthwise float convolution (one channel per group, as many outputs) in blocks of 8
// channels: images are [channels / 8][space][8], weights [channels / 8][taps][8].
#pragma once

#include "kernels/conv/conv_direct.hpp"

namespace anybit::kernels {

// One block of some images; the images are so many floats apart.
struct DepthwiseImages {
  const float *dy, *x;
  std::int64_t dy_stride, x_stride, count;
  float* dw;  // [taps][8]; added to
};
void depthwise_gradient_by_weight(const Window& window, const DepthwiseImages& images);
// One block of one image; overwrites dx.
void depthwise_gradient_by_input(const Window& window, const float* dy, const float* w, float* dx);

}  // namespace anybit::kernels
