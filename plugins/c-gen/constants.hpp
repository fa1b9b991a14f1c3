// Constant data as numbers, and as C text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "value.hpp"

namespace anybit::cgen {

// The elements of a constant; nothing if they are of another kind.
std::optional<std::vector<std::int64_t>> integers_of(const Value& value);
std::optional<std::vector<float>> floats_of(const Value& value);  // integers too
// The bytes of a constant; refuses one whose bytes are not those of its shape.
std::string_view bytes_of(const Value& value);
// One byte for each element of less than 8 bits; others as they are.
std::string unpacked(const Value& value);

// The value of an 8- or 4-bit float's code, of a float16's or bfloat16's bits.
float real_of(Element type, std::uint32_t bits);

// "1, 2, 3" in lines of a C initializer.
std::string initializer(Element type, const char* data, std::int64_t count);

}  // namespace anybit::cgen
