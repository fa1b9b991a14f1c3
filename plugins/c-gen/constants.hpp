// Reads constants as numbers, and writes them as C text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "value.hpp"

namespace anybit::cgen {

// The elements of a constant; empty if they have another kind.
std::optional<std::vector<std::int64_t>> integers_of(const Value& value);
std::optional<std::vector<float>> floats_of(const Value& value);  // also of integer constants
// The bytes of a constant; rejects a constant whose size does not match its shape.
std::string_view bytes_of(const Value& value);
// Unpacks elements of less than 8 bits to one byte each; others stay.
std::string unpacked(const Value& value);

// The value of the code of an 8- or 4-bit float, or of the bits of a float16 or bfloat16.
float real_of(Element type, std::uint32_t bits);

// "1, 2, 3" in lines of a C initializer.
std::string initializer(Element type, const char* data, std::int64_t count);

}  // namespace anybit::cgen
