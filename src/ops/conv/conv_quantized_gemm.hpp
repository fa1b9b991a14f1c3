// Integer convolution as GEMM on channels-last tensors: over copied windows (im2col), over windows read in
// place from a padded image, and by Winograd's algorithm.
#pragma once

#include "ops/conv/conv_quantized_weights.hpp"

namespace anybit::ops {

// Packs the weights, `w` less `zeros`, as matrices, and for Winograd's algorithm where it may be chosen.
void pack_matrices(const Setup& setup, const IntegerConvInputs& inputs, const kernels::ConvSizes& sizes,
                   const Array& w, const std::vector<std::int32_t>& zeros, IntegerConvWeights& weights);

// Whether every possible sum with its bias fits 32 bits.
bool fits_32_bits(const kernels::PackedIntegers& weights, ElementType x, const IntegerConvNumbers& numbers);

// The fastest algorithm for these sizes.
IntegerConvAlgorithm gemm_algorithm(const kernels::ConvSizes& sizes, const IntegerConvWeights& weights,
                                    ElementType x, bool sums_fit);

// Inputs with few channels may be plain if the algorithm builds an image, which interleaves them.
bool takes_plain(const IntegerConvPlan& plan);

Result<void> run_gemm(Frame& frame, const IntegerConvInputs& inputs, const IntegerConvPlan& plan,
                      const IntegerConvNumbers& numbers, const IntegerConvWeights& weights, const Array& x,
                      Array& out);

}  // namespace anybit::ops
