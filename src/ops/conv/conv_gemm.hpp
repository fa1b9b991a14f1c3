// Float convolution as GEMM over windows (im2col), channels last: where results have to be reproducible, and
// for many groups of odd sizes.
#pragma once

#include <vector>

#include "kernels/conv/im2col.hpp"
#include "ops/conv/conv_call.hpp"

namespace anybit::ops {

// Packed weights: one matrix per group.
struct ConvMatrices {
  std::vector<kernels::PackedFloats> groups;
};

// `w` is float32 and plain.
ConvMatrices conv_matrices(const kernels::ConvSizes& sizes, const Array& w);
// Inputs as Conv and FusedConv have them; `matrices` may be null.
Result<void> run_conv_gemm(Frame& frame, const kernels::ConvSizes& sizes, const ConvMatrices* matrices,
                           const kernels::Activation& activation);

}  // namespace anybit::ops
