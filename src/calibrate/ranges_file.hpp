// Ranges files: calibration statistics in JSON, with a version and the hash of their model
// (docs/calibration.md has the format). Files are untrusted input.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "calibrate/statistics.hpp"

namespace anybit::calibrate {

struct Ranges {
  std::string model;         // SHA-256 of the serialized model with all data embedded
  std::int64_t samples = 0;  // number of samples
  std::map<std::string, Statistics> tensors;
};

// An error if a name is not UTF-8, which JSON cannot represent.
Result<std::string> to_text(const Ranges& ranges);
// Validates its input: counts are consistent and match the bins; bounds are finite and ordered.
Result<Ranges> parse_ranges(std::string_view text);

// Writes the file atomically.
Result<void> save_ranges(const Ranges& ranges, const std::string& path);
Result<Ranges> load_ranges(const std::string& path);

// Merges the statistics of later samples. An error, without any change, if they are of different models or
// incompatible.
Result<void> merge(Ranges& ranges, const Ranges& other);
// An error if the ranges are of another model, or of an earlier version of this one.
Result<void> check_belongs(const Ranges& ranges, const std::string& model_hash);

}  // namespace anybit::calibrate
