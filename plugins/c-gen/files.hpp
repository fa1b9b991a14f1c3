// The text of the generated files.
#pragma once

#include <string>

#include "unit.hpp"

namespace anybit::cgen {

// From this many elements on, constants are not C text: an assembler file includes them from a binary file.
inline constexpr std::int64_t kMostAsText = 3'000'000;

bool has_data_file(const Unit& unit);

std::string header_of(const Unit& unit);
// `stem`: the file name without extension.
std::string source_of(const Unit& unit, const std::string& stem);
// The assembler file and the binary file that it includes; only if has_data_file.
std::string assembler_of(const Unit& unit, const std::string& stem);
std::string data_of(const Unit& unit);

std::string comment_text(std::string_view text);      // without comment delimiters
std::string entry(const Unit& unit, bool quantized);  // an entry's declaration, without a semicolon
std::string upper(std::string_view name);             // for macro names

}  // namespace anybit::cgen
