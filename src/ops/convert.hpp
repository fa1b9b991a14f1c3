// Conversion between element types, with the semantics of ONNX's Cast.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "ops/number.hpp"

namespace anybit::ops {

struct ConvertOptions {
  enum class Round : std::uint8_t { up, down, nearest };
  bool saturate = true;          // 8-bit floats: overflow gives the largest value, else Inf or NaN
  Round e8m0_round = Round::up;  // float8e8m0 only
};

// The integer part of a real number. Where ONNX leaves the result undefined: saturates to 64 bits, then keeps
// the low bits; NaN gives zero.
template <class T>
T to_integral(double x) {
  if (std::isnan(x)) return T(0);
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (x >= 0x1p64) return ~T(0);
    if (x >= 0x1p63) return static_cast<T>(x);
  }
  const std::int64_t integer = x >= 0x1p63   ? INT64_MAX
                               : x < -0x1p63 ? INT64_MIN
                                             : static_cast<std::int64_t>(x);
  return static_cast<T>(integer);
}

// False if one of the types is not a number (string, complex). `out` may be `in` if the element sizes are
// equal.
bool convert(ElementType from, const std::byte* in, ElementType to, std::byte* out, std::int64_t n,
             const ConvertOptions& options = {});
bool is_convertible(ElementType type);

// The values of the 256 codes of an 8- or 4-bit float; null for other types.
const float* small_float_values(ElementType type);
// Codes of the nearest values, one per byte, and the inverse. The type must be an 8- or 4-bit float.
void encode_small_floats(ElementType type, std::span<const float> values, std::uint8_t* codes,
                         const ConvertOptions& options);
void decode_small_floats(ElementType type, std::span<const std::uint8_t> codes, float* values);
// Encodes and decodes in one step. Not for float8e8m0.
void round_small_floats(ElementType type, std::span<const float> values, float* out,
                        const ConvertOptions& options);

}  // namespace anybit::ops
