// Elements in C expressions: types that C has not are decoded when they are read and encoded when written.
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

// The C type in which elements are computed with: "float" for all smaller reals.
std::string_view computed(const Value& value);
// What C's functions and constants of that type end with: "f", or nothing for double.
std::string_view suffix(const Value& value);
// The unsigned type in which integers wrap around.
std::string_view wrapping(const Value& value);

// How a float becomes one of 8 bits or less.
struct Encoding {
  bool saturate = true;    // too large a number becomes the largest, else infinity or NaN
  int power_rounding = 1;  // float8_e8m0: 0 down, 1 up, 2 to the nearest
};

// The element `pointer[index]` as a number; `pointer[index] = number;`.
std::string load(Node& node, const Value& value, std::string_view pointer, std::string_view index);
std::string store(Node& node, const Value& value, std::string_view pointer, std::string_view index,
                  std::string_view number, const Encoding& how = {});

// A whole number kept inside low … high: what comes from outside must not lead beside a tensor.
std::string within(Node& node, std::string_view number, std::int64_t low, std::int64_t high);

// A number of that type in C.
std::string number(const Value& value, double real);
// Infinity, or the largest number; with a minus, or the lowest.
std::string largest(const Value& value);
std::string lowest(const Value& value);

// `text` with $name replaced by what it stands for.
using Names = std::vector<std::pair<std::string, std::string>>;
std::string filled(std::string_view text, const Names& names);
// The same for expressions of `value`'s type: $f is the suffix, $T the computed type, $U the wrapping one.
std::string typed(std::string_view text, const Value& value, Names names = {});

}  // namespace anybit::cgen
