// Weights that are packed codes: made real row by row where they are multiplied.
#pragma once

#include "node.hpp"

namespace anybit::cgen {

// Writes the body of a function of row `r` of the matrix that the node makes from constants, to `to`. False
// if it makes no matrix of float32, or cannot.
bool emit_row_decoder(Node& decode);

// float dot(const float *a, const float *b, int32_t count)
void need_dot(Node& node);

// MatMul and Gemm whose second factor is made from packed constants, or is of a type that C has not; false if
// it is neither.
bool emit_coded_product(Node& node);

}  // namespace anybit::cgen
