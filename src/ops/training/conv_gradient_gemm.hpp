// The gradient of a float32 convolution by its weights as GEMM: dy, transposed, by the windows of x (im2col).
// Where oneDNN has no kernel or is absent.
#pragma once

#include "kernels/conv/conv_direct.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// `dy` and `x` are channels-last; `dw` has room for the plain weights.
Result<void> gradient_by_weight_gemm(Frame& frame, const kernels::ConvSizes& sizes, const float* dy,
                                     const float* x, float* dw);

}  // namespace anybit::ops
