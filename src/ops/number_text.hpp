// Conversion between numbers and text, for Cast.
#pragma once

#include <string>

#include "anybit/result.hpp"
#include "ops/array.hpp"
#include "ops/convert.hpp"

namespace anybit::ops {

// Element i of a numeric array as the shortest text that parses to the same number; "NaN", "INF", "-INF".
std::string text_of(const Array& array, std::int64_t i);
// Parses a decimal or scientific number ("3.14", "1e-5", "-INF") and writes it to `out` as type `to`.
Result<void> number_from(const std::string& text, ElementType to, std::byte* out,
                         const ConvertOptions& options);

}  // namespace anybit::ops
