// Matrix multiplication with packed weights, which are decoded row by row.
#pragma once

#include "node.hpp"

namespace anybit::cgen {

// Writes the body of a function that decodes row `r` of the matrix of a decoding node to `to`. False if the
// node does not make a float32 matrix, or its decoding is not supported.
bool emit_row_decoder(Node& decode);

// float dot(const float *a, const float *b, int32_t count)
void need_dot(Node& node);

// MatMul and Gemm with packed weights, or with weights of a type that C lacks; false for others.
bool emit_packed_gemm(Node& node);

}  // namespace anybit::cgen
