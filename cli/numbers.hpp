// Numbers as options take them. CLI11's own reading makes 2^63 - 1 of whatever is larger, wraps numbers below
// zero where there can be none, reads 010 as eight, and lets NaN pass every range.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace anybit::cli {

// For Option::transform: a whole number in decimal digits.
CLI::Validator whole_number(std::int64_t low = INT64_MIN, std::uint64_t high = INT64_MAX);
// For Option::transform: bytes, with a unit or without: 500MB, 1.5 GiB. A kilobyte has 1024 bytes either way.
CLI::Validator memory_size();
// For Option::check.
CLI::Validator number_within(double low, double high);

}  // namespace anybit::cli
