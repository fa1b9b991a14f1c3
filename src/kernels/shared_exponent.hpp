// Blocks that share a power of two: how a block's word, an exponent E, becomes the two factors of its values.
#pragma once

#include <cstdint>

namespace anybit::kernels {

struct SharedExponent {
  // The E for which both factors are float32, and no value leaves float32; blocks with others go the plain way.
  int low = 0, high = 0;
  int before = 0;  // values are multiplied by 2^(before - E),
  int after = 0;   // and elements by 2^(after + E)
  int sign = 1;    // of the word: E = sign · word (a shared bias counts down)

  int exponent(std::uint32_t word) const { return sign * static_cast<int>(word); }
  bool reaches(int e) const { return e >= low && e <= high; }
};

}  // namespace anybit::kernels
