// Blocks that share a power of two: how a block's word, an exponent E, becomes the two factors of its values.
#pragma once

#include <cstdint>

namespace anybit::kernels {

struct SharedExponent {
  int low = 0,
      high =
          0;  // the E that both factors are float32 for, and no value leaves float32; others go the plain way
  int before = 0;  // values are multiplied by 2^(before - E),
  int after = 0;   // and elements by 2^(after + E)
};

}  // namespace anybit::kernels
