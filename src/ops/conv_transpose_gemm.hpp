// Transposed convolution of float32 as matrix products: what each input place spreads, for all taps and
// output channels, is a row of a product; the rows are then added where they belong.
#pragma once

#include <vector>

#include "kernels/conv_direct.hpp"
#include "kernels/gemm.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// Weights [I, O / groups, taps], packed: for each group a matrix of I / groups rows and columns (tap, o).
struct SpreadMatrices : Prepared {
  std::vector<kernels::PackedFloats> groups;
  std::int64_t bytes() const override { return bytes_of_all(groups); }
};

// Null if they are not weights of a transposed convolution in `groups` groups.
std::shared_ptr<const SpreadMatrices> spread_matrices(const Array& w, std::int64_t groups);
// `sizes`: of the convolution that goes the other way. Inputs as ConvTranspose has them.
Result<void> run_spread(Frame& frame, const kernels::ConvSizes& sizes, const Dims& dims,
                        const SpreadMatrices& matrices);

}  // namespace anybit::ops
