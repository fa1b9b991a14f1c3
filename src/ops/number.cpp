#include "ops/number.hpp"

#include <cmath>

namespace anybit::ops {
namespace {

// Rounds to float16: the magnitude in units of the float16 ulp, rounded half to even by adding and
// subtracting a large number.
std::uint16_t rounded_half(double magnitude) {
  if (magnitude >= 65520.0) return 0x7C00;  // halfway between the largest float16 and the next power of two
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const double units = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
  const auto integer = static_cast<std::uint32_t>(units);
  if (magnitude < 0x1p-14) return static_cast<std::uint16_t>(integer);
  return static_cast<std::uint16_t>((static_cast<std::uint32_t>(exponent + 15) << 10) + integer - 1024u);
}

}  // namespace

float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t rest = bits & 0x7FFFu;
  if (rest >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | ((rest & 0x3FFu) << 13));
  if (rest >= 0x400u) return std::bit_cast<float>(sign | ((rest << 13) + (112u << 23)));
  const float small = static_cast<float>(rest) * 0x1p-24f;
  return sign ? -small : small;
}

std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  std::uint32_t rest = bits & 0x7FFFFFFFu;
  if (rest > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u | (rest >> 13 & 0x3FFu));
  if (rest >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);
  if (rest < 0x38800000u) {  // subnormal float16: float addition rounds at its ulp
    const float units =
        std::bit_cast<float>(rest) + 0.5f;  // one ulp of 0.5 is 2^-24, the ulp of subnormal float16
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(units) - 0x3F000000u));
  }
  rest += 0xFFFu + (rest >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | (rest - (112u << 23)) >> 13);
}

std::uint16_t half_of(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000u : 0u);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00u);
  return static_cast<std::uint16_t>(sign | rounded_half(std::abs(value)));
}

std::size_t element_bytes(ElementType type) {
  if (type == ElementType::string) return sizeof(std::string);
  const graph::ElementTypeInfo* info = graph::find(type);
  return info ? static_cast<std::size_t>(info->bits + 7) / 8 : 0;
}

}  // namespace anybit::ops
