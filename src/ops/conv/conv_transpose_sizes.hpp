// Sizes of a transposed convolution, expressed as those of the corresponding forward convolution: its input
// is our output.
#pragma once

#include "kernels/conv/conv_direct.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// From the attributes of ConvTranspose, and the dimensions of its input and weight.
Result<kernels::ConvSizes> backward_sizes(const Frame& frame, const Dims& x, const Dims& w);
// The output's dims for an input of this rank.
Result<Dims> spread_dims(const kernels::ConvSizes& sizes, std::size_t rank);
// Whether each output is reached by exactly one input.
bool reaches_once(const kernels::Window& window);

}  // namespace anybit::ops
