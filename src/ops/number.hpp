// ONNX element types as C++ types, and conversions between them. Types that C++ lacks are structs that
// convert to and from float, rounding half to even; src/formats defines the formats themselves.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "graph/element_type.hpp"

namespace anybit::ops {

using graph::ElementType;

float float_of_half(std::uint16_t bits);
std::uint16_t half_of(float value);
std::uint16_t half_of(double value);  // rounded once, not through float32

struct Float16 {
  std::uint16_t bits;
  Float16() = default;
  explicit Float16(float value) : bits(half_of(value)) {}
  explicit Float16(double value) : bits(half_of(value)) {}
  operator float() const { return float_of_half(bits); }
};

struct BFloat16 {
  std::uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const bool nan = (wide & 0x7FFFFFFFu) > 0x7F800000u;
    bits =
        static_cast<std::uint16_t>(nan ? (wide >> 16) | 0x40u : (wide + 0x7FFFu + ((wide >> 16) & 1u)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

// Element storage at run time: 2- and 4-bit integers take one byte each (signed ones are sign-extended); 8-,
// 6- and 4-bit floats are stored as their codes.
template <ElementType Type>
struct NumberOf;
#define ANYBIT_NUMBER(TYPE, CPP)       \
  template <>                          \
  struct NumberOf<ElementType::TYPE> { \
    using type = CPP;                  \
  }
ANYBIT_NUMBER(float32, float);
ANYBIT_NUMBER(float64, double);
ANYBIT_NUMBER(float16, Float16);
ANYBIT_NUMBER(bfloat16, BFloat16);
ANYBIT_NUMBER(int8, std::int8_t);
ANYBIT_NUMBER(int16, std::int16_t);
ANYBIT_NUMBER(int32, std::int32_t);
ANYBIT_NUMBER(int64, std::int64_t);
ANYBIT_NUMBER(uint8, std::uint8_t);
ANYBIT_NUMBER(uint16, std::uint16_t);
ANYBIT_NUMBER(uint32, std::uint32_t);
ANYBIT_NUMBER(uint64, std::uint64_t);
ANYBIT_NUMBER(boolean, bool);
#undef ANYBIT_NUMBER

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool kIsReal = std::is_floating_point_v<T> || kIsHalf<T>;
// The type to compute in: float for the 16-bit floats, the type itself for the others.
template <class T>
using Computed = std::conditional_t<kIsHalf<T>, float, T>;

// Bytes of one element at run time; sizeof(std::string) for strings.
std::size_t element_bytes(ElementType type);

// Calls body(T()) with the C++ type of `type`; false if `type` is not a real (or integer) type.
template <class Body>
bool for_real(ElementType type, const Body& body) {
  switch (type) {
    case ElementType::float32:
      return body(float()), true;
    case ElementType::float64:
      return body(double()), true;
    case ElementType::float16:
      return body(Float16()), true;
    case ElementType::bfloat16:
      return body(BFloat16()), true;
    default:
      return false;
  }
}

template <class Body>
bool for_integer(ElementType type, const Body& body) {
  switch (type) {
    case ElementType::int8:
      return body(std::int8_t()), true;
    case ElementType::int16:
      return body(std::int16_t()), true;
    case ElementType::int32:
      return body(std::int32_t()), true;
    case ElementType::int64:
      return body(std::int64_t()), true;
    case ElementType::uint8:
      return body(std::uint8_t()), true;
    case ElementType::uint16:
      return body(std::uint16_t()), true;
    case ElementType::uint32:
      return body(std::uint32_t()), true;
    case ElementType::uint64:
      return body(std::uint64_t()), true;
    default:
      return false;
  }
}

// Real or integer types; not boolean.
template <class Body>
bool for_number(ElementType type, const Body& body) {
  return for_real(type, body) || for_integer(type, body);
}

// A type of the same size, for operators that only copy elements. Includes strings.
template <class Body>
bool for_copied(ElementType type, const Body& body) {
  switch (element_bytes(type)) {
    case 1:
      return body(std::uint8_t()), true;
    case 2:
      return body(std::uint16_t()), true;
    case 4:
      return body(std::uint32_t()), true;
    case 8:
      return body(std::uint64_t()), true;
    case 16:
      return body(std::complex<double>()), true;
    case sizeof(std::string):
      return body(std::string()), true;
    default:
      return false;
  }
}

}  // namespace anybit::ops
