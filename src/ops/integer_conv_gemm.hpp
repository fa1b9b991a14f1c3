// Integer convolution as matrix products, on tensors whose channels are last: of windows that are copied, of
// windows of an image as they lie, and by Winograd's algorithm.
#pragma once

#include "ops/integer_conv_weights.hpp"

namespace anybit::ops {

// Matrices of the weights, `w` less `zeros`, and what Winograd's algorithm needs where it may be chosen.
void pack_matrices(const Setup& setup, const IntegerConvInputs& inputs, const kernels::ConvSizes& sizes,
                   const Array& w, const std::vector<std::int32_t>& zeros, IntegerConvWeights& weights);

// Whether 32 bits hold every sum with its bias that there may be.
bool fits_32_bits(const kernels::PackedWholes& weights, ElementType x, const IntegerConvNumbers& numbers);

// The fastest for these sizes.
IntegerConvAlgorithm gemm_algorithm(const kernels::ConvSizes& sizes, const IntegerConvWeights& weights,
                                    ElementType x, bool sums_fit);

// Few channels need not be last for algorithms that make an image: they are interleaved then.
bool takes_plain(const IntegerConvPlan& plan);

Result<void> run_gemm(Frame& frame, const IntegerConvInputs& inputs, const IntegerConvPlan& plan,
                      const IntegerConvNumbers& numbers, const IntegerConvWeights& weights, const Array& x,
                      Array& out);

}  // namespace anybit::ops
