// Float convolution of a few input channels (images, waveforms): the input is copied to channels last, with
// the padding of its rows, so that a row of a window is one run of adjacent floats (FloatConvWork::run).
#pragma once

#include "kernels/conv/conv_float.hpp"

namespace anybit::kernels {

inline constexpr std::int64_t kFewChannels = 7;  // fewer than a block
// Needs one group and no dilation on the last axis.
bool has_few_channels(const ConvSizes& sizes);

// The axes of the copy.
ConvAxes few_axes(const Window& window);
// Floats of the copy of one image.
std::int64_t few_size(const ConvSizes& sizes);
// Strides of the input: between images, channels and places.
struct FewSource {
  const float* x;
  std::int64_t image, channel, place;
};
// `start`: elementwise, applied to the copy; 0 stays 0. Null: nothing.
void few_copy(const ConvSizes& sizes, const FewSource& from, const ConvFinish* start, float* to,
              ThreadPool& pool);

std::int64_t few_panels_size(const ConvSizes& sizes);
// From [outputs][inputs][taps].
void few_panels(const ConvSizes& sizes, const float* weights, float* to);

}  // namespace anybit::kernels
