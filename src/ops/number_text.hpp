// Numbers as text and back, for Cast.
#pragma once

#include <string>

#include "anybit/result.hpp"
#include "ops/array.hpp"
#include "ops/convert.hpp"

namespace anybit::ops {

// Element i of an array of numbers: the shortest text that reads as the same number; "NaN", "INF", "-INF".
std::string text_of(const Array& array, std::int64_t i);
// A plain or scientific number ("3.14", "1e-5", "-INF"), written to `out` as a number of type `to`.
Result<void> number_from(const std::string& text, ElementType to, std::byte* out,
                         const ConvertOptions& options);

}  // namespace anybit::ops
