// Gradients of a float32 convolution by oneDNN, in pieces of the batch. How a batch is cut depends on the
// sizes alone, and the pieces' gradients of the weights are added in order: the same bits for any number of
// threads.
#pragma once

#include "kernels/conv/conv_direct.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// False if there is no kernel. `w` and `dw` are plain; dx becomes output 0, of these dims.
Result<bool> gradient_by_input_blocked(Frame& frame, const kernels::ConvSizes& sizes, const Array& dy,
                                       const Array& w, const Dims& dims);
// By the kernels of the forward pass, for strides of 1: a convolution of dy with the mirrored weights.
Result<bool> gradient_by_input_mirrored(Frame& frame, const kernels::ConvSizes& sizes, const Array& w);
Result<bool> gradient_by_weight_blocked(Frame& frame, const kernels::ConvSizes& sizes, const Array& dy,
                                        const Array& x, const Dims& dims);

}  // namespace anybit::ops
