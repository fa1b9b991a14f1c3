// float32 transposed convolution as GEMM and scatter-add (col2im): a GEMM row holds the contributions of one
// input position to all taps and output channels; the rows are then added at their output positions.
#pragma once

#include <vector>

#include "kernels/conv/conv_direct.hpp"
#include "kernels/gemm/gemm.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// Packed weights [I, O / groups, taps]: per group a matrix of I / groups rows and columns (tap, o).
struct SpreadMatrices {
  std::vector<kernels::PackedFloats> groups;
};

// Empty if `w` is not the weight of a transposed convolution in `groups` groups.
SpreadMatrices spread_matrices(const Array& w, std::int64_t groups);
// Spreads input 0. `sizes`: of the forward convolution, whose input is this output. `bias` may be null.
Result<void> run_spread(Frame& frame, const kernels::ConvSizes& sizes, const Dims& dims,
                        const SpreadMatrices& matrices, const Array* bias);

}  // namespace anybit::ops
