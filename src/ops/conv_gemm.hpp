// Float convolution as matrix products of windows: where oneDNN has no kernel, or is not there. Channels are
// last inside.
#pragma once

#include <vector>

#include "kernels/conv_rows.hpp"
#include "ops/conv_call.hpp"

namespace anybit::ops {

// Weights, packed: one matrix for each group.
struct ConvMatrices {
  std::vector<kernels::PackedFloats> groups;
};

// `w` is float32 and plain.
ConvMatrices conv_matrices(const kernels::ConvSizes& sizes, const Array& w);
// Inputs as Conv and FusedConv have them; `matrices` may be null.
Result<void> run_conv_gemm(Frame& frame, const kernels::ConvSizes& sizes, const ConvMatrices* matrices,
                           const kernels::Activation& activation);

}  // namespace anybit::ops
