// Depthwise convolution of 8- and 16-bit integers, with one output channel per input channel.
#pragma once

#include "ops/conv/conv_quantized_weights.hpp"

namespace anybit::ops {

bool is_depthwise(const kernels::ConvSizes& sizes);
// False if there is no kernel for it.
bool pack_depthwise(const kernels::ConvSizes& sizes, const IntegerConvInputs& inputs, const Array& w,
                    std::span<const std::int32_t> zeros, IntegerConvWeights& weights);
// Whether the kernel supports the number of taps, and the range of sums with these biases.
bool fits_depthwise(const IntegerConvInputs& inputs, const kernels::ConvSizes& sizes,
                    const IntegerConvNumbers& numbers);
Result<void> run_depthwise(Frame& frame, const IntegerConvInputs& inputs, const kernels::ConvSizes& sizes,
                           const IntegerConvNumbers& numbers, const IntegerConvWeights& weights,
                           const Array& x, Array& out);

}  // namespace anybit::ops
