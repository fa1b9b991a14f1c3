// The files that are written, as text.
#pragma once

#include <string>

#include "unit.hpp"

namespace anybit::cgen {

// Constants from this many elements on are not written as C text: an assembler includes them from a file of
// bytes.
inline constexpr std::int64_t kMostAsText = 3'000'000;

bool has_data_file(const Unit& unit);

std::string header_of(const Unit& unit);
// `stem`: the files' name without an extension.
std::string source_of(const Unit& unit, const std::string& stem);
// The assembler's file and the bytes it includes; only if has_data_file.
std::string assembler_of(const Unit& unit, const std::string& stem);
std::string data_of(const Unit& unit);

std::string comment_text(std::string_view text);      // without what ends or begins a comment
std::string entry(const Unit& unit, bool quantized);  // an entry's declaration, without a semicolon
std::string upper(std::string_view name);             // of a macro

}  // namespace anybit::cgen
