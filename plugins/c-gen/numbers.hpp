// Elements in C expressions: types that C lacks are decoded on load and encoded on store.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node.hpp"

namespace anybit::cgen {

inline bool is_real(const Value& value) {
  return value.info().kind == Kind::real || value.info().kind == Kind::small_real;
}
inline bool is_integer(const Value& value) { return value.info().kind == Kind::integer; }
inline bool is_boolean(const Value& value) { return value.info().kind == Kind::boolean; }
bool is_unsigned(const Value& value);  // of integers and booleans

// The C type for computations: "float" for all smaller floats.
std::string_view computed(const Value& value);
// The suffix of C functions and literals of that type: "f", or none for double.
std::string_view suffix(const Value& value);
// The unsigned type with wrapping arithmetic.
std::string_view wrapping(const Value& value);

// Options of the conversion to floats of 8 bits or less.
struct Encoding {
  bool saturate = true;    // overflow saturates, otherwise it becomes infinity or NaN
  int power_rounding = 1;  // float8_e8m0: 0 down, 1 up, 2 nearest
};

// Loads `pointer[index]` as a number; stores with `pointer[index] = number;`.
std::string load(Node& node, const Value& value, std::string_view pointer, std::string_view index);
std::string store(Node& node, const Value& value, std::string_view pointer, std::string_view index,
                  std::string_view number, const Encoding& how = {});

// An integer clamped to low … high: run-time values must not cause accesses outside of a tensor.
std::string within(Node& node, std::string_view number, std::int64_t low, std::int64_t high);

// A literal of that type.
std::string number(const Value& value, double real);
// Infinity or the largest number; negative: minus infinity or the lowest number.
std::string largest(const Value& value);
std::string lowest(const Value& value);

// `text` with each $name replaced by its value.
using Names = std::vector<std::pair<std::string, std::string>>;
std::string filled(std::string_view text, const Names& names);
// The same for expressions of `value`'s type: $f is the suffix, $T the computed type, $U the wrapping type.
std::string typed(std::string_view text, const Value& value, Names names = {});

}  // namespace anybit::cgen
