// An example for each format: a few numbers, their codes and their quantized values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "anybit/formats.hpp"

namespace anybit::cli {

struct FormatExample {
  std::vector<float> numbers = {}, values = {};  // before and after
  std::vector<std::uint16_t> codes = {};
  std::vector<StoredField> shared = {};  // by all numbers
  // The value of each code with the same shared parameters; only for formats of up to 4 bits.
  std::vector<float> all_values = {};
};

Result<FormatExample> example_of(const FormatInfo& format, const ParameterValues& parameters);

// "0101", or "0x3c00" beyond 8 bits.
std::string code_text(std::uint16_t code, int bits);
// The numbers that a stored field holds.
std::vector<double> numbers_of(const StoredField& field);

}  // namespace anybit::cli
