// Products with codes of 4 bits in vectors of sixteen floats, on CPUs that have them (AVX-512): sixteen codes
// are looked up by one instruction, in a register that has all values. The same operations in the same order
// as in packed_codes_simd.cpp, so the same bits.
#pragma once

#include "kernels/packed_codes.hpp"

namespace anybit::kernels {

// In a group that is `wide`, each column has 32 bits, the code of its first row lowest.

// A few rows of A, `stride` floats apart, by some panels from `panel` on: sums as [panel][row][16].
struct NibbleStrip {
  const CodeView& view;
  CodeScale scale;
  std::int64_t panel;
  const float* a;
  std::int64_t stride;
  float* sums;
};
void multiply_nibbles_avx512(int rows, int panels, const NibbleStrip& strip);

// The weights of a group of a block: 8 rows of 16 columns.
void decode_nibbles_avx512(const CodeView& view, std::int64_t panel, std::int64_t group, std::int64_t block,
                           float* to);

}  // namespace anybit::kernels
