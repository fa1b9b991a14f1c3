// What calibration found, as a file: JSON, with a version and the hash of the model it belongs to. docs/
// calibration.md tells the format. Files are hostile until proven otherwise.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "calibrate/statistics.hpp"

namespace anybit::calibrate {

struct Ranges {
  std::string model;         // SHA-256 of the model's bytes, with all data inside
  std::int64_t samples = 0;  // that were run
  std::map<std::string, Statistics> tensors;
};

// An error if a name is no UTF-8: JSON could not give it back.
Result<std::string> to_text(const Ranges& ranges);
// What comes out is sound: counts add up, and fit the bins; bounds are finite and in order.
Result<Ranges> parse_ranges(std::string_view text);

// The file appears whole or not at all.
Result<void> save_ranges(const Ranges& ranges, const std::string& path);
Result<Ranges> load_ranges(const std::string& path);

// The other's samples follow these. An error if they belong to different models, or do not fit together;
// nothing is changed then.
Result<void> merge(Ranges& ranges, const Ranges& other);
// An error if they were gathered on another model, or on what this one was before it changed.
Result<void> check_belongs(const Ranges& ranges, const std::string& model_hash);

}  // namespace anybit::calibrate
