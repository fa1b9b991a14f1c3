// The constants of a minifloat's SIMD codec, computed once from its layout.
#pragma once

#include <cstdint>
#include <optional>

#include "formats/minifloat.hpp"

namespace anybit::kernels {

struct MinifloatConstants {
  formats::Flavour flavour = formats::Flavour::finite;
  float step = 0;                  // of subnormals
  int shift = 0;                   // mantissa bits of float32 that are rounded away
  std::int32_t round_up = 0;       // half a unit, minus one
  std::int32_t lowest_normal = 0;  // float32 bits of the smallest normal number
  float subnormal_magic = 0;       // adding it rounds a subnormal in the last place of the sum
  std::int32_t largest_bits = 0;   // float32 bits of the largest finite value
  std::int32_t overflow_bits = 0;  // float32 bits of the result of overflow
  std::int32_t nan_bits = 0;
  std::int32_t code_offset = 0;  // from float32's exponent to the format's, in units of its code
  std::int32_t largest_code = 0, overflow_code = 0, nan_code = 0, sign_code = 0;
  int sign_shift = 0;  // from float32's sign bit to the format's
  bool signed_zero = true, signed_nan = false;
};

// Empty if the method does not support the layout (no mantissa, or exponents beyond float32's normal ones).
std::optional<MinifloatConstants> constants_of(const formats::MinifloatLayout& layout, bool saturate);

}  // namespace anybit::kernels
