// Blocks that share a power of two: how a block's word, an exponent E, becomes the two factors of its values.
#pragma once

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

// Elements that are whole numbers.
struct WholeConstants {
  float units = 1;  // of a value of 1
  float lowest = 0, highest = 0;
  std::uint32_t mask = 0;       // of a code in two's complement
  std::uint32_t sign_code = 0;  // sign and magnitude: the sign's bit; 0: two's complement
};

}  // namespace anybit::kernels
