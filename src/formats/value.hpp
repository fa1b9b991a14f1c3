// Values of a format's parameters, from a recipe, a command line or Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "anybit/formats.hpp"

namespace anybit::formats {

using Value = ParameterValue;
using Values = ParameterValues;

// Access to a parameter that complete() has checked: it exists and has that type.
inline bool flag(const Values& values, std::string_view name) {
  return std::get<bool>(values.find(name)->second);
}
inline int integer(const Values& values, std::string_view name) {
  return static_cast<int>(std::get<std::int64_t>(values.find(name)->second));
}
inline double real(const Values& values, std::string_view name) {
  return std::get<double>(values.find(name)->second);
}
inline const std::string& word(const Values& values, std::string_view name) {
  return std::get<std::string>(values.find(name)->second);
}
// A parameter that is an integer or "auto": the integer, or `automatic`. Otherwise an error.
Result<int> integer_or_auto(const Values& values, std::string_view name, int automatic);

// "true", "8", "0.75", "floor".
std::string to_string(const Value& value);

}  // namespace anybit::formats
