// Blocks that share a power-of-two scale: how the exponent E, a block's word, gives the two factors of its
// values, and how it is chosen from the block's largest magnitude.
#pragma once

#include <algorithm>
#include <cstdint>

namespace anybit::kernels {

struct SharedExponent {
  // The range of E in which both factors are float32 and no value overflows; blocks outside it use the plain
  // kernel.
  int low = 0, high = 0;
  int before = 0;  // values are multiplied by 2^(before - E),
  int after = 0;   // and elements by 2^(after + E)
  int sign = 1;    // of the word: E = sign · word (a shared bias counts down)

  int exponent(std::uint32_t word) const { return sign * static_cast<int>(word); }
  bool reaches(int e) const { return e >= low && e <= high; }
};

// E of a block whose largest magnitude is a normal float32 with these bits: its exponent, plus one where
// adding `carry` to the significand overflows into the exponent.
struct ExponentRule {
  std::int32_t carry = 0;
  int top = 255;   // exponent codes of float32 above this count as this
  int offset = 0;  // from float32's exponent code to E
  int low = 0, high = 0;

  // Carries where the largest value would round up to 2^bits steps, which has no code: above 2^bits - ½ steps
  // of 2^(exponent + 1 - bits).
  static ExponentRule fitting(int bits, int low, int high) {
    return {.carry = 1 << (23 - bits), .offset = -126, .low = low, .high = high};
  }
  static constexpr std::int32_t kUnlessPowerOfTwo = 0x007FFFFF;
};

// The same for the loops that choose and encode in one pass, with the range of E that they support.
struct TileRule {
  ExponentRule rule;
  int before = 0, after = 0;  // as of SharedExponent
  int low = 0, high = 0;
  int zero = 0;        // E of a block of zeros
  bool zeros = false;  // the codes of such a block are zeros for any scale

  // Narrows low … high to the E for which both factors are normal float32 numbers.
  void keep_factors_normal() {
    low = std::max({low, before - 127, -126 - after});
    high = std::min({high, before + 126, 127 - after});
  }
};

// Elements that are integers.
struct IntegerConstants {
  float units = 1;  // per value of 1
  float lowest = 0, highest = 0;
  std::uint32_t mask = 0;       // of a two's complement code
  std::uint32_t sign_code = 0;  // sign-magnitude: the sign bit; 0: two's complement
};

}  // namespace anybit::kernels
