// Element types of tensors: names in the view and in C, and widths.
#pragma once

#include <cstdint>
#include <string_view>

namespace anybit::cgen {

enum class Element : std::uint8_t {
  none,
  float32,
  float64,
  float16,
  bfloat16,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  boolean,
  int4,
  uint4,
  int2,
  uint2,
  float8_e4m3fn,
  float8_e4m3fnuz,
  float8_e5m2,
  float8_e5m2fnuz,
  float8_e8m0,
  float4_e2m1,
};

enum class Kind : std::uint8_t {
  real,     // computed in C directly: float, double
  integer,  // computed in C directly: intN_t, uintN_t; types of less than 8 bits take a byte each in memory
  small_real,  // no C type: bits in uint16_t or uint8_t
  boolean,     // uint8_t: 0 or 1
};

struct ElementInfo {
  Element type = Element::none;
  std::string_view name;  // in the view
  std::string_view c;     // of an element in memory
  int bits = 0;           // of an element of a packed constant
  int bytes = 0;          // of an element in memory
  Kind kind = Kind::real;
  std::int64_t low = 0, high = 0;  // of integers of at most 32 bits
};

const ElementInfo& info(Element type);
// Element::none for unknown types and for types without a C equivalent (strings, complex numbers).
Element element_named(std::string_view name);

}  // namespace anybit::cgen
