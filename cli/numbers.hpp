// Validators for numeric options. CLI11's own parser clamps large integers to 2^63 - 1, wraps negative
// numbers to unsigned, reads 010 as octal, and lets NaN pass every range.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace anybit::cli {

// For Option::transform: a decimal integer.
CLI::Validator parse_integer(std::int64_t low = INT64_MIN, std::uint64_t high = INT64_MAX);
// For Option::transform: a size in bytes, with an optional unit: 500MB, 1.5 GiB. KB and KiB are both 1024
// bytes.
CLI::Validator memory_size();
// For Option::transform: the size of an image, height first: 480x640, 480,640, or 224 for both. The result is
// one or two integers with an x between them.
CLI::Validator image_size();
// For Option::check: a number in a closed interval.
CLI::Validator number_within(double low, double high);

}  // namespace anybit::cli
