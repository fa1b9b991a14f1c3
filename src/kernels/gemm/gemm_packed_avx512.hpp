// Weight-only 4-bit GEMM with 16 lanes (AVX-512): one instruction looks up sixteen codes in a register that
// holds all values. The same operations in the same order as in gemm_packed_simd.cpp, so bit-identical
// results.
#pragma once

#include "kernels/gemm/gemm_packed.hpp"

namespace anybit::kernels {

// In a group with `wide` layout, each column has 32 bits, with the code of its first row lowest.

// A few rows of A, `stride` floats apart, by some panels from `panel` on; sums as [panel][row][16].
struct NibbleStrip {
  const CodeView& view;
  CodeScale scale;
  std::int64_t panel;
  const float* a;
  std::int64_t stride;
  float* sums;
};
void multiply_nibbles_avx512(int rows, int panels, const NibbleStrip& strip);

// Decodes the weights of a group of a block: 8 rows of 16 columns.
void decode_nibbles_avx512(const CodeView& view, std::int64_t panel, std::int64_t group, std::int64_t block,
                           float* to);

}  // namespace anybit::kernels
