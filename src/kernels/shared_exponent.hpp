// Blocks that share a power of two: how a block's word, an exponent E, becomes the two factors of its values,
// and how it comes from the block's largest magnitude.
#pragma once

#include <algorithm>
#include <cstdint>

namespace anybit::kernels {

struct SharedExponent {
  // The E for which both factors are float32, and no value leaves float32; blocks with others go the plain
  // way.
  int low = 0, high = 0;
  int before = 0;  // values are multiplied by 2^(before - E),
  int after = 0;   // and elements by 2^(after + E)
  int sign = 1;    // of the word: E = sign · word (a shared bias counts down)

  int exponent(std::uint32_t word) const { return sign * static_cast<int>(word); }
  bool reaches(int e) const { return e >= low && e <= high; }
};

// E of a block whose largest magnitude is a normal float32 with these bits: its exponent, one more where its
// significand is so large that `carry` reaches the exponent.
struct ExponentRule {
  std::int32_t carry = 0;
  int top = 255;   // of float32's exponent codes: above it counts as this one
  int offset = 0;  // from float32's exponent code to E
  int low = 0, high = 0;

  // A carry where more than 2^bits - ½ steps of 2^(exponent + 1 - bits) would round up to 2^bits of them.
  static ExponentRule fitting(int bits, int low, int high) {
    return {.carry = 1 << (23 - bits), .offset = -126, .low = low, .high = high};
  }
  static constexpr std::int32_t kUnlessPowerOfTwo = 0x007FFFFF;
};

// The same for the loops that choose and code in one go: which E are within their reach.
struct TileRule {
  ExponentRule rule;
  int before = 0, after = 0;  // as of SharedExponent
  int low = 0, high = 0;
  int zero = 0;        // E of a block of zeros
  bool zeros = false;  // such a block's codes are zeros, whatever its scale

  // Narrows low … high to those E for which both factors are normal float32 numbers.
  void keep_factors_normal() {
    low = std::max({low, before - 127, -126 - after});
    high = std::min({high, before + 126, 127 - after});
  }
};

// Elements that are whole numbers.
struct WholeConstants {
  float units = 1;  // of a value of 1
  float lowest = 0, highest = 0;
  std::uint32_t mask = 0;       // of a code in two's complement
  std::uint32_t sign_code = 0;  // sign and magnitude: the sign's bit; 0: two's complement
};

}  // namespace anybit::kernels
