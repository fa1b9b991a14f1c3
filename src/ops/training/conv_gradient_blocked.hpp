// Gradients of a float32 convolution in blocked layout: by oneDNN in pieces of the batch, or by our own
// kernels. How a batch is cut depends on the sizes alone, and the pieces' gradients of the weights are added
// in order: the same bits for any number of threads.
#pragma once

#include "kernels/conv/conv_direct.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// False if there is no kernel. `w` and `dw` are plain; dx becomes output 0, of these dims.
Result<bool> gradient_by_input_blocked(Frame& frame, const kernels::ConvSizes& sizes, const Array& dy,
                                       const Array& w, const Dims& dims);
// By the kernels of the forward pass where they are faster, for strides of 1: a convolution of dy with the
// mirrored weights.
Result<bool> gradient_by_input_mirrored(Frame& frame, const kernels::ConvSizes& sizes, const Array& w);
Result<bool> gradient_by_weight_blocked(Frame& frame, const kernels::ConvSizes& sizes, const Array& dy,
                                        const Array& x, const Dims& dims);

// Depthwise convolutions, by our own kernels: by the weights where oneDNN is absent.
Result<void> gradient_by_input_depthwise(Frame& frame, const kernels::ConvSizes& sizes, const Array& dy,
                                         const Array& w, const Dims& dims);
Result<void> gradient_by_weight_depthwise(Frame& frame, const kernels::ConvSizes& sizes, const Array& dy,
                                          const Array& x, const Dims& dims);

}  // namespace anybit::ops
